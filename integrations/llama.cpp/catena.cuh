#pragma once

// Catena in ggml-cuda: it plans a graph and runs the nodes that it covers with its own kernels. All
// other nodes stay with ggml-cuda. Only ggml-cuda.cu and catena.cu see this file.

#include "common.cuh"

#ifdef GGML_CUDA_CATENA
#include "ggml-impl.h"

// Null if Catena is switched off or has no kernels for the device; all functions accept null.
ggml_cuda_catena* ggml_cuda_catena_init(int device);
void ggml_cuda_catena_free(ggml_cuda_catena* catena);

// Keeps `tensor` allocated until the node `until` was computed.
typedef void (*ggml_cuda_catena_keep)(void* user, ggml_tensor* tensor, ggml_tensor* until);

// Before allocation: reorders the nodes and says which tensors have to live longer. A ggml that
// cannot prolong a tensor's life passes a null `keep`; then more launches are split.
void ggml_cuda_catena_optimize(ggml_cuda_catena* catena, ggml_cgraph* cgraph,
                               ggml_cuda_catena_keep keep, void* user);

// Before the nodes are walked, and before a capture begins: it may allocate.
void ggml_cuda_catena_plan(ggml_cuda_catena* catena, ggml_cgraph* cgraph);

// Whether node i is done: Catena launched what starts there, or an earlier launch covered it.
bool ggml_cuda_catena_did(ggml_cuda_catena* catena, int i, cudaStream_t stream);

// The graph up to the next node after i that Catena covers: ggml-cuda's fusions see no further.
ggml_cgraph ggml_cuda_catena_visible(ggml_cuda_catena* catena, const ggml_cgraph* cgraph, int i);
#endif  // GGML_CUDA_CATENA
