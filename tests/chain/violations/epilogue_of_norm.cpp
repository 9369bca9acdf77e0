// Refused with: catena: epilogue<...> takes mul(scale), mul(factor), add(bias), glu, act, own,
// combine, add(residual), quantize<q8_1> and turned_heads only
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<rms_norm>)
