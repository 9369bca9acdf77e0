// What the kinds of kernels share: distances, and the parts of `measure`.
#pragma once

#include "measure.hpp"

#include <vector>

namespace catena_test {

/// `limits`: how wrong each result may be.
distance distance_of(const std::vector<float>& got, const std::vector<double>& exact,
                     const std::vector<double>& limits);

/// How wrong one value of an activation may be in its layout. `largest`: of the values that share
/// its scale.
double rounding_of(const kernel_kind& kind, double v, double largest);

measured measure_product(const kernel_kind& kind, const instance& on, input of);
measured measure_norm(const kernel_kind& kind, const instance& on, input of);
measured measure_quantize(const instance& on, input of);
measured measure_heads(const instance& on, input of);
measured measure_routing(const kernel_kind& kind, const instance& on, input of);

}  // namespace catena_test
