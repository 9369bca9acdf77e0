// The gate functions of a GLU: f(gate) * value, by the formulas of gate_function. `function` is
// equal in all threads of a launch, so its switch does not diverge.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/exec/elementary.hpp"

namespace catena::kernel {

/// 1 / (1 + e^-v)
CATENA_FN real logistic(real v) { return real{1} / (real{1} + exp(-v)); }

/// `alpha` and `limit` are swiglu_oai's. A NaN on either side stays one.
CATENA_FN real gated(gate_function function, real gate, real value, real alpha, real limit) {
    const real half_gate = real{0.5f} * gate;
    switch (function) {
        case gate_function::none:
            return gate * value;
        case gate_function::silu:
            return gate / (real{1} + exp(-gate)) * value;
        case gate_function::sigmoid:
            return logistic(gate) * value;
        case gate_function::gelu: {
            const real cubic = fma(real{0.044715f} * gate, gate, real{1});
            const real t = tanh(real{0.79788456080286535588f} * gate * cubic);
            return half_gate * (real{1} + t) * value;
        }
        case gate_function::gelu_erf:
            return half_gate * (real{1} + erf(gate * real{0.70710678118654752440f})) * value;
        case gate_function::gelu_quick:
            return gate * logistic(real{1.702f} * gate) * value;
        case gate_function::relu:
            return (less(gate, real{0}) ? real{0} : gate) * value;
        case gate_function::relu_squared:
            return (less(gate, real{0}) ? real{0} : gate * gate) * value;
        case gate_function::swiglu_oai: {
            const real bounded = less(limit, gate) ? limit : gate;
            return bounded * logistic(alpha * bounded) * (real{1} + clamp(value, -limit, limit));
        }
    }
    return from_bits(0x7fffffffu);
}

}  // namespace catena::kernel
