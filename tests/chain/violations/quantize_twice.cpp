// Refused with: catena: a chain has one quantize<F...>: name all its formats in it
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | quantize<q8_1> | mul_mat<q4_K>)
