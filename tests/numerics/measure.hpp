// Kernels of all tables, one of each accumulation order, and how far their results lie from exact
// ones. Kernels of one order give the same bits, as instance_order tests.
#pragma once

#include "inputs.hpp"
#include "machine.hpp"
#include "matvec_case.hpp"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace catena_test {

enum class kernel_task {
    matmul,
    matmul_glu,  ///< two products, of which one gates the other
    matvec,
    matvec_glu,
    matvec_norm,  ///< a product of the norm that the launch makes
    norm,
    layer_norm,
    l2_norm,
    quantize,
    heads,           ///< a norm of each head, and its ROPE
    route_soft_max,  ///< the weights of the experts of a token
    route_sigmoid,
    route_sqrt_softplus
};
const char* name(kernel_task t);

/// Kernels that compute the same from the same types.
struct kernel_kind {
    kernel_task task{};
    catena::format_set weights{};  ///< of a product; a launch may hold matrices of two formats
    catena::format reads{};        ///< a product's layout of the activation

    bool is_product() const { return !weights.empty(); }
    bool is_matmul() const {
        return task == kernel_task::matmul || task == kernel_task::matmul_glu;
    }
    bool has_glu() const {
        return task == kernel_task::matmul_glu || task == kernel_task::matvec_glu;
    }
    bool operator<(const kernel_kind& other) const {
        return std::tuple(task, weights.size(), weights.bits, reads) <
               std::tuple(other.task, other.weights.size(), other.weights.bits, other.reads);
    }
};

/// One instance of each order.
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
inline constexpr int product_k = 768;
/// Rows of each matrix. A launch that makes its norm has one column, so its matrices have more
/// rows.
int product_rows(const kernel_kind& kind);

measured measure(const kernel_kind& kind, const instance& on, input of);

/// The columns of a product for tests: a matvec's as many as it takes.
matvec_case product_case(const kernel_kind& kind, const instance& on, std::vector<float> x);
int product_columns(const instance& on);

/// What a launch of the case writes: the results of one matrix after those of the other.
std::vector<float> products_of(const instance& on, const matvec_case& c);

}  // namespace catena_test
