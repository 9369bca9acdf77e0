// Kernels of all tables, one of each accumulation order, and how far their results lie from exact
// ones. Kernels of one order give the same bits, as instance_order tests.
#pragma once

#include "inputs.hpp"
#include "machine.hpp"
#include "matvec_case.hpp"

#include <map>
#include <string>
#include <vector>

namespace catena_test {

/// Kernels that compute the same from the same types.
struct kernel_kind {
    std::string what;          ///< norm, quantize, matvec or matmul
    catena::format weights{};  ///< of a product
    catena::format reads{};    ///< a product's layout of the activation

    bool is_product() const { return what == "matvec" || what == "matmul"; }
    auto operator<=>(const kernel_kind&) const = default;
};

/// One instance of each order. Launches that hold weights of several formats are left out: they run
/// the bodies of those with one.
std::map<kernel_kind, std::vector<instance>> kernels_by_kind();

/// Results against those in double of unrounded values.
struct distance {
    bool finite = true;  ///< all results
    double nmse = 0;
    double largest_error = 0;  ///< relative to the largest exact result
    double of_limit = 0;       ///< the largest error of a result, relative to what it may be
};
struct measured {
    distance catena, ggml;
    bool known_to_ggml = true;
    double usual_nmse = 1e-13;  ///< what the layout costs where ggml computes with a finer one
    bool may_overflow = false;  ///< the activation's layout has no such values
};
inline constexpr int product_k = 768, product_rows = 24;
measured measure(const kernel_kind& kind, const instance& on, input of);

/// The columns of a product for tests: a matvec's as many as it takes.
matvec_case product_case(const instance& on, std::vector<float> x);
int product_columns(const instance& on);

}  // namespace catena_test
