// Gates as formulas. The proof knows those of ggml's ops from ggml's sources, and those of launches
// from kernel/gate.hpp. It reads no table of the matcher's, which says what function of a launch an
// op of ggml is (match/detail/gated.hpp): a wrong function makes another formula.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/match/graph.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// A function of v that rises from 0 to 1.
enum class rise : std::uint8_t {
    none,
    step,        ///< 1 if v > 0, else 0
    logistic,    ///< 1 / (1 + exp(-v))
    normal,      ///< (1 + erf(v / sqrt(2))) / 2
    near_normal  ///< (1 + tanh(sqrt(2 / pi) * v * (1 + 0.044715 * v * v))) / 2
};

/// f(x) = x * rise(slope * x). An op of two operands is f(x) * y.
struct gate_formula {
    rise by = rise::none;  ///< none: there is no such formula
    float slope = 1;
    bool times_x = true;   ///< false: f(x) = rise(slope * x)
    bool limited = false;  ///< x is min(x, limit), the slope an operand, and f(x) * y is
                           ///< f(x) * (1 + y), with y from -limit to limit

    constexpr bool known() const { return by != rise::none; }
};

constexpr gate_formula x_times(rise by, float slope = 1) { return {by, slope}; }
constexpr gate_formula alone(rise by) { return {by, 1, false}; }
constexpr gate_formula with_limits(rise by) { return {by, 1, true, true}; }

/// The formulas of ggml 0.25.3, in the order of ggml.h's enums ggml_unary_op and ggml_glu_op. Each
/// comment quotes the function of ggml-cpu (vec.h; ops.cpp for SWIGLU_OAI), where g is y.
constexpr gate_formula formula_of(sub_op s) {
    switch (s) {
        case sub_op::relu:  // ggml_vec_relu_f32: x > 0 ? x : 0
            return x_times(rise::step);
        case sub_op::sigmoid:  // ggml_vec_sigmoid_f32: 1 / (1 + exp(-x))
            return alone(rise::logistic);
        case sub_op::gelu:  // ggml_gelu_f32: 0.5 x (1 + tanh(SQRT_2_OVER_PI x (1 + ...)))
            return x_times(rise::near_normal);
        case sub_op::gelu_quick:  // ggml_gelu_quick_f32: x (1 / (1 + exp(GELU_QUICK_COEF x)))
            return x_times(rise::logistic, 1.702f);
        case sub_op::silu:  // ggml_silu_f32: x / (1 + exp(-x))
            return x_times(rise::logistic);
        case sub_op::gelu_erf:  // ggml_vec_gelu_erf_f32: 0.5 x (1 + erf(SQRT_2_INV x))
            return x_times(rise::normal);

        case sub_op::reglu:  // ggml_vec_reglu_f32: x > 0 ? x g : 0
            return x_times(rise::step);
        case sub_op::geglu:  // ggml_vec_geglu_f32: ggml_gelu_f32(x) g
            return x_times(rise::near_normal);
        case sub_op::swiglu:  // ggml_vec_swiglu_f32: ggml_silu_f32(x) g
            return x_times(rise::logistic);
        case sub_op::swiglu_oai:  // x / (1 + exp(-alpha x)) (g + 1), with x and g in their limits
            return with_limits(rise::logistic);
        case sub_op::geglu_erf:  // ggml_vec_geglu_erf_f32: 0.5 x (1 + erf(SQRT_2_INV x)) g
            return x_times(rise::normal);
        case sub_op::geglu_quick:  // ggml_vec_geglu_quick_f32: ggml_gelu_quick_f32(x) g
            return x_times(rise::logistic, 1.702f);
        default:
            return {};
    }
}

/// The formulas of launches, from kernel/gate.hpp. relu_squared has that of the value which it
/// squares; a plain product has none.
constexpr gate_formula formula_of(gate_function f) {
    switch (f) {
        case gate_function::silu:
            return x_times(rise::logistic);
        case gate_function::sigmoid:
            return alone(rise::logistic);
        case gate_function::gelu:
            return x_times(rise::near_normal);
        case gate_function::gelu_erf:
            return x_times(rise::normal);
        case gate_function::gelu_quick:
            return x_times(rise::logistic, 1.702f);
        case gate_function::relu:
        case gate_function::relu_squared:
            return x_times(rise::step);
        case gate_function::swiglu_oai:
            return with_limits(rise::logistic);
        default:
            return {};
    }
}

}  // namespace CATENA_NAMESPACE::proof
