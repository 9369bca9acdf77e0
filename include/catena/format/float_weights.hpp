// Float weights: f32, f16, bf16 and fp8, which are multiplied as they are, not taken apart into
// integers.
#pragma once

#include "catena/format/format.hpp"

namespace CATENA_NAMESPACE {

/// Float weights that read an f32 activation at any number of columns. A matmul rounds it to the
/// weights' type, or reads a copy that is rounded already.
constexpr bool reads_f32(format f) {
    return f == format::f32 || f == format::f16 || f == format::bf16;
}
constexpr bool reads_f32(format_set weights) {
    return weights.has(format::f32) || weights.has(format::f16) || weights.has(format::bf16);
}

/// A float weight: one that reads f32, or fp8_e4m3, which a matvec multiplies with f32 and a matmul
/// with fp8.
constexpr bool is_float(format f) { return reads_f32(f) || f == format::fp8_e4m3; }

/// Has a group float weights? The weights of a group are all float or all quantized.
constexpr bool has_float_weights(format_set weights) {
    return reads_f32(weights) || weights.has(format::fp8_e4m3);
}

}  // namespace CATENA_NAMESPACE
