// Distances between what a kernel computed and what it should have.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace catena_test {

/// Normalized mean squared error: sum (a - b)^2 / sum b^2. Infinite as soon as one number is not
/// finite.
template <class Got>
double nmse(std::span<const Got> got, std::span<const double> wanted) {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double difference = static_cast<double>(got[i]) - wanted[i];
        if (!std::isfinite(difference)) return INFINITY;
        error += difference * difference;
        power += wanted[i] * wanted[i];
    }
    return power > 0 ? error / power : error;
}

}  // namespace catena_test
