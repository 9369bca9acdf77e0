#include "cublaslt.hpp"

#include <algorithm>
#include <stdexcept>

namespace catena::bench {
namespace {

constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

void require(cublasStatus_t s, const std::string& what) {
    if (s != CUBLAS_STATUS_SUCCESS)
        throw std::runtime_error(what + ": " + cublasLtGetStatusName(s));
}

std::size_t largest_result(const products& of, const cublaslt_format& f) {
    std::int64_t most = 1;
    for (const product& p : of.all) most = std::max(most, p.rows * p.columns);
    return static_cast<std::size_t>(most * f.result_bytes);
}

}  // namespace

cublaslt_products::cublaslt_products(const products& of, const cublaslt_format& format,
                                     const buffer& ring)
    : format_(format),
      ring_(ring),
      results_(largest_result(of, format)),
      workspace_(workspace_bytes) {
    cublasLtHandle_t handle = nullptr;
    require(cublasLtCreate(&handle), "cublasLtCreate");
    handle_.reset(handle);
    for (const product& p : of.all) prepare(p);
}

cublaslt_products::matrix cublaslt_products::layout(cudaDataType_t type, std::int64_t rows,
                                                    std::int64_t columns) const {
    cublasLtMatrixLayout_t made = nullptr;
    require(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), rows),
            "cublasLtMatrixLayoutCreate");
    return matrix(made);
}

void cublaslt_products::prepare(const product& shape) {
    const std::string name = std::to_string(shape.rows) + "x" + std::to_string(shape.k) +
                             " times " + std::to_string(shape.columns) + " columns";
    if (shape.rows * shape.k * format_.operand_bytes * 2 > static_cast<std::int64_t>(ring_.bytes()))
        throw std::runtime_error(name + " is larger than half of the memory for operands");
    one o;
    o.shape = shape;
    cublasLtMatmulDesc_t what = nullptr;
    require(cublasLtMatmulDescCreate(&what, format_.compute, format_.scale), name);
    o.what.reset(what);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    require(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                           sizeof transposed),
            name);
    o.weight = layout(format_.operand, shape.k, shape.rows);
    o.activation = layout(format_.operand, shape.k, shape.columns);
    o.result = layout(format_.result, shape.rows, shape.columns);

    cublasLtMatmulPreference_t preference = nullptr;
    require(cublasLtMatmulPreferenceCreate(&preference), name);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &workspace_bytes, sizeof workspace_bytes);
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t asked = cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), what, o.weight.get(), o.activation.get(), o.result.get(), o.result.get(),
        preference, 1, &best, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    if (asked != CUBLAS_STATUS_SUCCESS || found == 0)
        throw std::runtime_error(std::string("has no algorithm in ") + format_.name + " for " +
                                 name);
    o.algorithm = best.algo;
    all_.push_back(std::move(o));
}

std::byte* cublaslt_products::piece(std::int64_t bytes) {
    const auto taken = static_cast<std::size_t>((bytes + 255) / 256 * 256);
    if (next_ + taken > ring_.bytes()) next_ = 0;
    std::byte* const at = ring_.data() + next_;
    next_ += taken;
    return at;
}

void cublaslt_products::launch(cudaStream_t stream) {
    const float one_f = 1, zero_f = 0;
    const std::int32_t one_i = 1, zero_i = 0;
    const bool integers = format_.scale == CUDA_R_32I;
    const void* alpha = integers ? static_cast<const void*>(&one_i) : &one_f;
    const void* beta = integers ? static_cast<const void*>(&zero_i) : &zero_f;
    for (const one& o : all_) {
        const void* weight = piece(o.shape.rows * o.shape.k * format_.operand_bytes);
        const void* activation = piece(o.shape.columns * o.shape.k * format_.operand_bytes);
        require(cublasLtMatmul(handle_.get(), o.what.get(), alpha, weight, o.weight.get(),
                               activation, o.activation.get(), beta, results_.data(),
                               o.result.get(), results_.data(), o.result.get(), &o.algorithm,
                               workspace_.data(), workspace_.bytes(), stream),
                "cublasLtMatmul");
    }
}

}  // namespace catena::bench
