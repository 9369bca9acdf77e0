// Refused with: catena: quantize<F...> names a format twice: remove one
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1, q8_1_mmq_d4, q8_1> | mul_mat<q4_K>)
