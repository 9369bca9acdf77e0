// Activations that are hard to compute with.
#pragma once

#include <string>
#include <vector>

namespace catena_test {

enum class input {
    bell_curve,
    outliers_1e3,  ///< one value in 64 is 1000 times as large
    outliers_1e6,  ///< a million times
    one_huge,      ///< one value of 8e6: the scale of its block is just below the end of f16
    equal,
    alternating,  ///< one size, signs in turns
    zeros,
    denormal  ///< all below 1e-38
};
inline constexpr input all_inputs[] = {input::bell_curve, input::outliers_1e3, input::outliers_1e6,
                                       input::one_huge,   input::equal,        input::alternating,
                                       input::zeros,      input::denormal};

const char* name(input i);

/// Rows of k values; each row has its outliers at other places.
std::vector<float> values_of(input i, int k, int rows);

}  // namespace catena_test
