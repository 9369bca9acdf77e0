// Refused with: catena: quantize<> names no format: write quantize<q8_1>
#include "violation.hpp"

CATENA_WRITE(quantize<> | mul_mat<q4_K>)
