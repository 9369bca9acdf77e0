// cuBLASLt as a peer: the plain products of a cut, in the number formats that it multiplies. No
// norm, no quantizing, no gate: less work than the case, on larger weights.
#pragma once

#include "cut.hpp"
#include "measure.hpp"

#include <cublasLt.h>

#include <memory>
#include <string>
#include <vector>

namespace catena::bench {

struct cublaslt_format {
    const char* name;  ///< "f16"
    cudaDataType_t operand, result;
    cublasComputeType_t compute;
    cudaDataType_t scale;
    int operand_bytes, result_bytes;
};

/// f16, bf16, fp8 e4m3 with bf16 results, int8 with int32 results.
inline constexpr cublaslt_format cublaslt_formats[] = {
    {.name = "f16",
     .operand = CUDA_R_16F,
     .result = CUDA_R_16F,
     .compute = CUBLAS_COMPUTE_32F,
     .scale = CUDA_R_32F,
     .operand_bytes = 2,
     .result_bytes = 2},
    {.name = "bf16",
     .operand = CUDA_R_16BF,
     .result = CUDA_R_16BF,
     .compute = CUBLAS_COMPUTE_32F,
     .scale = CUDA_R_32F,
     .operand_bytes = 2,
     .result_bytes = 2},
    {.name = "fp8",
     .operand = CUDA_R_8F_E4M3,
     .result = CUDA_R_16BF,
     .compute = CUBLAS_COMPUTE_32F,
     .scale = CUDA_R_32F,
     .operand_bytes = 1,
     .result_bytes = 2},
    {.name = "int8",
     .operand = CUDA_R_8I,
     .result = CUDA_R_32I,
     .compute = CUBLAS_COMPUTE_32I,
     .scale = CUDA_R_32I,
     .operand_bytes = 1,
     .result_bytes = 4},
};

class cublaslt_products {
  public:
    /// Operands rotate through `ring`, which holds numbers that are finite in every format, and
    /// results go behind it. Throws std::runtime_error where cuBLASLt has no algorithm.
    cublaslt_products(const products& of, const cublaslt_format& format, const buffer& ring);

    /// Every product once, on the next weights of the ring.
    void launch(cudaStream_t stream);

  private:
    template <auto destroy>
    struct destroyer {
        void operator()(auto* handle) const { destroy(handle); }
    };
    using matrix =
        std::unique_ptr<cublasLtMatrixLayoutOpaque_t, destroyer<cublasLtMatrixLayoutDestroy>>;
    struct one {
        product shape;
        std::unique_ptr<cublasLtMatmulDescOpaque_t, destroyer<cublasLtMatmulDescDestroy>> what;
        matrix weight, activation, result;
        cublasLtMatmulAlgo_t algorithm{};
    };
    cublaslt_format format_;
    const buffer& ring_;
    buffer results_, workspace_;
    std::unique_ptr<cublasLtContext, destroyer<cublasLtDestroy>> handle_;
    std::vector<one> all_;
    std::size_t next_ = 0;

    matrix layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) const;
    void prepare(const product& shape);
    std::byte* piece(std::int64_t bytes);
};

}  // namespace catena::bench
