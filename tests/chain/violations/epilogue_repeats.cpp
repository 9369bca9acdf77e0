// Refused with: catena: epilogue<...> names each part once, in the order in which they happen:
// mul(scale), mul(factor), add(bias), glu, act, own, combine, add(residual), quantize<q8_1>
#include "violation.hpp"

CATENA_WRITE(quantize<q8_1> | mul_mat<q4_K> | epilogue<glu, glu>)
