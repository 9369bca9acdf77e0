// Refused with: catena: a chain ends with one group: put all its readers in one
// group<mul_mat<W>...>
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<glu> | mul_mat<q6_K>)
