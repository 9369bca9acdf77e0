// Refused with: catena: group<...> names each mul_mat<W> once: any number of matrices may have that
// format
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | (group<mul_mat<q4_K>, mul_mat<q4_K>>))
