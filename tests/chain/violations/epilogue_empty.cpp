// Refused with: catena: epilogue<> is empty: name its parts, as in epilogue<add(bias)>
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<>)
