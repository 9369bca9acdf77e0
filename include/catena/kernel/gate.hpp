// The gate functions: f(gate) * value, by the formulas of gate_function. `function` is equal in all
// threads of a launch, so its switch does not diverge.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/exec/elementary.hpp"

namespace CATENA_NAMESPACE::kernel {

/// N gates, or the values that they gate.
template <int N>
struct gate_values {
    real of[N];
};

/// `alpha` and `limit` are swiglu_oai's. A NaN on either side stays one. Most functions are the
/// gate times a logistic function of something: 1 + tanh(u) is twice that of 2u. Values abreast do
/// not wait for each other.
template <int N>
CATENA_FN gate_values<N> gated(gate_function function, const gate_values<N>& gates,
                               gate_values<N> values, real alpha, real limit) {
    gate_values<N> u = gates, factors = gates;
    const auto each = [&](auto change) {
        CATENA_UNROLL
        for (int i = 0; i < N; ++i) change(gates.of[i], values.of[i], u.of[i], factors.of[i]);
        return values;
    };
    switch (function) {
        case gate_function::none:
            return each([](real gate, real& value, auto...) { value = gate * value; });
        case gate_function::relu:
            return each([](real gate, real& value, auto...) {
                value = (less(gate, real{0}) ? real{0} : gate) * value;
            });
        case gate_function::relu_squared:
            return each([](real gate, real& value, auto...) {
                value = (less(gate, real{0}) ? real{0} : gate * gate) * value;
            });
        case gate_function::silu:
            break;
        case gate_function::sigmoid:
            each([](real, real&, real&, real& factor) { factor = real{1}; });
            break;
        case gate_function::gelu:
            each([](real gate, real&, real& of, real&) {
                of = real{2 * 0.79788456080286535588f} * gate *
                     fma(real{0.044715f} * gate, gate, real{1});
            });
            break;
        case gate_function::gelu_erf:
            each([](real gate, real&, real& of, real&) { of = normal_logit(gate); });
            break;
        case gate_function::gelu_quick:
            each([](real gate, real&, real& of, real&) { of = real{1.702f} * gate; });
            break;
        case gate_function::swiglu_oai:
            each([&](real gate, real& value, real& of, real& factor) {
                factor = less(limit, gate) ? limit : gate;
                of = alpha * factor;
                value = real{1} + clamp(value, -limit, limit);
            });
            break;
    }
    return each(
        [](real, real& value, real of, real factor) { value = factor * logistic(of) * value; });
}

CATENA_FN real gated(gate_function function, real gate, real value, real alpha, real limit) {
    return gated<1>(function, {{gate}}, {{value}}, alpha, limit).of[0];
}

/// `gated` as a function of its own, for where its many cases want registers that others need, or
/// would stand in a kernel twice.
CATENA_NO_INLINE real gated_apart(gate_function function, real gate, real value, real alpha,
                                  real limit) {
    return gated(function, gate, value, alpha, limit);
}

/// Does the executor bring ops of an engine's own (kernel/own_ops.hpp)? Catena's own kernels are
/// the same whether an engine has some or not, for its executor is another type.
template <class X>
inline constexpr bool has_ops = requires {
    typename X::ops;
};

/// f(value), f the engine's own op of a call; without one the value itself.
template <class X>
CATENA_FN real apply_own(X&, const own_call& call, real value) {
    static_assert(has_ops<X>,
                  "catena: a kernel with ops of one's own needs their list: give "
                  "catena_add_instances(... OPS <header>)");
    return is_own(call.function) ? X::ops::compute(call.function, value, call.with) : value;
}

/// gated() on an executor, or gated_apart(): also by a function of the engine's own.
template <bool Apart, class X>
CATENA_FN real gated_on(X& x, gate_function function, real gate, real value, float alpha,
                        float limit) {
    if constexpr (has_ops<X>)
        if (is_own(function)) return apply_own(x, {function, {alpha, limit}}, gate) * value;
    if constexpr (Apart)
        return gated_apart(function, gate, value, real{alpha}, real{limit});
    else
        return gated(function, gate, value, real{alpha}, real{limit});
}

}  // namespace CATENA_NAMESPACE::kernel
