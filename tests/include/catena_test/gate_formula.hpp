// The formulas of the proof's gates, in double.
#pragma once

#include "catena/plan/detail/verify/gates.hpp"

#include <algorithm>
#include <cmath>

namespace catena_test {

inline double value_of(catena::proof::rise by, double v) {
    const double root_2_over_pi = std::sqrt(2 / std::acos(-1.0));
    switch (by) {
        case catena::proof::rise::none:
            break;
        case catena::proof::rise::step:
            return v > 0 ? 1 : 0;
        case catena::proof::rise::logistic:
            return 1 / (1 + std::exp(-v));
        case catena::proof::rise::normal:
            return (1 + std::erf(v / std::sqrt(2.0))) / 2;
        case catena::proof::rise::near_normal:
            return (1 + std::tanh(root_2_over_pi * v * (1 + 0.044715 * v * v))) / 2;
    }
    return std::nan("");
}

/// f(x) * y
inline double value_of(const catena::proof::gate_formula& f, double x, double y, double alpha,
                       double limit) {
    if (f.limited) {
        const double most = std::min(x, limit);
        return most * value_of(f.by, alpha * most) * (1 + std::clamp(y, -limit, limit));
    }
    return (f.times_x ? x : 1) * value_of(f.by, static_cast<double>(f.slope) * x) * y;
}

}  // namespace catena_test
