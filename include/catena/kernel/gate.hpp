// The gate functions of a GLU: f(gate) * value, by ggml's formulas. `function` is equal in all
// threads of a launch.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/exec/real.hpp"

namespace catena::kernel {

/// `alpha` and `limit` are swiglu_oai's. A NaN on either side stays one.
CATENA_FN real gated(gate_function function, real gate, real value, real alpha, real limit) {
    switch (function) {
        case gate_function::relu:
            return (bits_of(gate) >> 31) != 0 && !is_nan(gate) ? real{0} * value : gate * value;
        default:
            return gate * value;
    }
}

}  // namespace catena::kernel
