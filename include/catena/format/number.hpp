// Weights that are numbers: multiplied as they are, with an activation of f32.
#pragma once

#include "catena/format/format.hpp"

namespace catena {

/// fp8_e4m3, which a matvec could multiply too, is none: no graph has an operand for its scales.
constexpr bool is_number(format f) {
    return f == format::f32 || f == format::f16 || f == format::bf16;
}

/// Is anything of a group, whose weights are all numbers or all quantized, a number?
constexpr bool has_numbers(format_set weights) {
    return weights.has(format::f32) || weights.has(format::f16) || weights.has(format::bf16);
}

}  // namespace catena
