// Refused with: catena: what stands after | is no op: write add(residual), rms_norm, mul(weight), add(bias), emit<F>, quantize<F>, mul_mat<W>, mul_mat_id<W> or group<mul_mat<W>...>
#include "violation.hpp"

CATENA_USE(rms_norm | 3)
