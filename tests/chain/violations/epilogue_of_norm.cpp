// Refused with: catena: epilogue<...> takes mul(scale), mul(factor), add(bias), glu, act, own,
// combine, add(residual) and quantize<q8_1> only
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<rms_norm>)
