// Refused with: catena: group<> is empty: name its readers, as in group<mul_mat<q4_K>>
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | group<>)
