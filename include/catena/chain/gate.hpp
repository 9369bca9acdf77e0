// What a gate does, in double: ggml's formulas (ggml-cpu, vec.h and ops.cpp). Kernels compute the
// same on real, in kernel/gate.hpp.
#pragma once

#include "catena/chain/lowered.hpp"

#include <algorithm>
#include <cmath>

namespace CATENA_NAMESPACE::chain {

struct gating {
    gate_function function = gate_function::none;
    double alpha = 0, limit = 0;                         ///< parameters of swiglu_oai
    double (*own)(double, const op_numbers&) = nullptr;  ///< an engine's own function, or null
    op_numbers with = {};                                ///< parameters of own
};

/// f(g) * x
inline double gated(const gating& by, double g, double x) {
    if (by.own != nullptr) return by.own(g, by.with) * x;
    const auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
    switch (by.function) {
        case gate_function::none:
            return g * x;
        case gate_function::silu:
            return g * logistic(g) * x;
        case gate_function::sigmoid:
            return logistic(g) * x;
        case gate_function::gelu: {
            const double root_2_over_pi = 0.79788456080286535587989211986876;
            return 0.5 * g * (1 + std::tanh(root_2_over_pi * g * (1 + 0.044715 * g * g))) * x;
        }
        case gate_function::gelu_erf:
            return 0.5 * g * (1 + std::erf(g * 0.70710678118654752440084436210484)) * x;
        case gate_function::gelu_quick:
            return g * logistic(1.702 * g) * x;
        case gate_function::relu:
            return (g < 0 ? 0 : g) * x;
        case gate_function::relu_squared:
            return (g < 0 ? 0 : g * g) * x;
        case gate_function::swiglu_oai: {
            const double bounded = g > by.limit ? by.limit : g;
            return bounded * logistic(by.alpha * bounded) *
                   (1 + std::clamp(x, -by.limit, by.limit));
        }
    }
    return 0;
}

}  // namespace CATENA_NAMESPACE::chain
