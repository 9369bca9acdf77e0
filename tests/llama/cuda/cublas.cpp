// cuBLAS of the GPU that runs nothing: a product is a launch called "cublas".
#include "gpu.hpp"

#include <cublas_v2.h>

struct cublasContext {
    cudaStream_t stream;
};

namespace {

cublasStatus_t multiply(cublasHandle_t h) {
    catena_test::gpu_is_given(h->stream, catena_test::gpu_work::launch, -1, "cublas");
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* h) {
    *h = new cublasContext{nullptr};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
    delete h;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t stream) {
    h->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t) {
    return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t) { return "refused by a GPU that runs nothing"; }

using operation = cublasOperation_t;
using type = cudaDataType;

cublasStatus_t cublasSgemm_v2(cublasHandle_t h, operation, operation, int, int, int, const float*,
                              const float*, int, const float*, int, const float*, float*, int) {
    return multiply(h);
}
cublasStatus_t cublasGemmEx(cublasHandle_t h, operation, operation, int, int, int, const void*,
                            const void*, type, int, const void*, type, int, const void*, void*,
                            type, int, cublasComputeType_t, cublasGemmAlgo_t) {
    return multiply(h);
}
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t h, operation, operation, int, int, int,
                                   const void*, const void* const*, type, int, const void* const*,
                                   type, int, const void*, void* const*, type, int, int,
                                   cublasComputeType_t, cublasGemmAlgo_t) {
    return multiply(h);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, operation, operation, int, int, int,
                                          const void*, const void*, type, int, long long,
                                          const void*, type, int, long long, const void*, void*,
                                          type, int, long long, int, cublasComputeType_t,
                                          cublasGemmAlgo_t) {
    return multiply(h);
}
cublasStatus_t cublasSgemmBatched(cublasHandle_t h, operation, operation, int, int, int,
                                  const float*, const float* const*, int, const float* const*, int,
                                  const float*, float* const*, int, int) {
    return multiply(h);
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, operation, operation, int, int, int,
                                         const float*, const float*, int, long long, const float*,
                                         int, long long, const float*, float*, int, long long,
                                         int) {
    return multiply(h);
}
cublasStatus_t cublasStrsmBatched(cublasHandle_t h, cublasSideMode_t, cublasFillMode_t, operation,
                                  cublasDiagType_t, int, int, const float*, const float* const*,
                                  int, float* const*, int, int) {
    return multiply(h);
}

}  // extern "C"
