// The gate functions: f(gate) * value, by the formulas of gate_function. `function` is equal in all
// threads of a launch, so its switch does not diverge.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/exec/elementary.hpp"
#include "catena/kernel/divider.hpp"

namespace catena::kernel {

/// `alpha` and `limit` are swiglu_oai's. A NaN on either side stays one. Most functions are the
/// gate times a logistic function of something: 1 + tanh(u) is twice that of 2u. So there is one
/// exp, and erf shares it.
CATENA_FN real gated(gate_function function, real gate, real value, real alpha, real limit) {
    real u = gate, factor = gate;
    switch (function) {
        case gate_function::none:
            return gate * value;
        case gate_function::relu:
            return (less(gate, real{0}) ? real{0} : gate) * value;
        case gate_function::relu_squared:
            return (less(gate, real{0}) ? real{0} : gate * gate) * value;
        case gate_function::gelu_erf:
            u = erf_exponent(gate * real{0.70710678118654752440f});
            break;
        case gate_function::silu:
            break;
        case gate_function::sigmoid:
            factor = real{1};
            break;
        case gate_function::gelu:
            u = real{2 * 0.79788456080286535588f} * gate *
                fma(real{0.044715f} * gate, gate, real{1});
            break;
        case gate_function::gelu_quick:
            u = real{1.702f} * gate;
            break;
        case gate_function::swiglu_oai:
            factor = less(limit, gate) ? limit : gate;
            u = alpha * factor;
            value = real{1} + clamp(value, -limit, limit);
            break;
    }
    const real e = exp(-u);
    if (function == gate_function::gelu_erf)
        return real{0.5f} * gate * (real{1} + erf_of(gate * real{0.70710678118654752440f}, e)) *
               value;
    return divider::from_one_on(real{1} + e).any(factor) * value;
}

/// The same as a function of its own: where its many cases want registers that others need, or
/// would stand in a kernel twice.
CATENA_NO_INLINE real gated_apart(gate_function function, real gate, real value, real alpha,
                                  real limit) {
    return gated(function, gate, value, alpha, limit);
}

}  // namespace catena::kernel
