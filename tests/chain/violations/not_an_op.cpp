// Refused with: catena: what stands after | is no op: write add(residual), rms_norm, layer_norm,
// l2_norm, mul(weight), add(bias), glu, act, own, emit<F>, quantize<F>, mul_mat<W>, mul_mat_id<W>,
// group<mul_mat<W>...> or epilogue<...>
#include "violation.hpp"

CATENA_WRITE(rms_norm | 3)
