// Refused with: catena: outputs that are heads get a bias, and nothing else: write
// epilogue<add(bias), turned_heads>
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<add(residual), turned_heads>)
