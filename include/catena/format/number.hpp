// Weights that are numbers: multiplied as they are, not taken apart into integers.
#pragma once

#include "catena/format/format.hpp"

namespace CATENA_NAMESPACE {

/// Those whose activation is f32 at any number of columns; a matmul rounds it to the weights' type,
/// or reads what its maker rounded so.
constexpr bool reads_f32(format f) {
    return f == format::f32 || f == format::f16 || f == format::bf16;
}
constexpr bool reads_f32(format_set weights) {
    return weights.has(format::f32) || weights.has(format::f16) || weights.has(format::bf16);
}

/// And fp8_e4m3, which a matvec multiplies with f32 too, and a matmul with fp8.
constexpr bool is_number(format f) { return reads_f32(f) || f == format::fp8_e4m3; }

/// Is anything of a group, whose weights are all numbers or all quantized, a number?
constexpr bool has_numbers(format_set weights) {
    return reads_f32(weights) || weights.has(format::fp8_e4m3);
}

}  // namespace CATENA_NAMESPACE
