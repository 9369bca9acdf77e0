// The first launch of a kernel within a capture in CUDA's global mode: of a kernel that was made
// ready before, as the planner does it, and of one that CUDA would load within the capture.
#include "probe.cuh"

#include "catena/launch/prepare.cuh"

namespace catena::probe::capture {

template <int Number>
__global__ void count(int* to) {
    atomicAdd(to, Number);
}

template <int Number>
void measure(bool prepare) {
    const shared_value<int> result;
    const auto* kernel = reinterpret_cast<const void*>(count<Number>);
    if (prepare)
        if (const status s = prepare_cuda(kernel, {}, 0); !s.ok())
            throw std::runtime_error(s.message);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "beginning a capture");
    count<Number><<<1, 1, 0, stream>>>(result.device());
    const cudaError_t launched = cudaGetLastError();
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    if (ended == cudaSuccess && graph != nullptr) {
        check(cudaGraphInstantiate(&exec, graph, 0), "instantiating the graph");
        check(cudaGraphLaunch(exec, stream), "replaying the graph");
        check(cudaStreamSynchronize(stream), "waiting for the graph");
    }
    std::printf(
        "{\"what\": \"capture\", \"prepared\": %s, \"launch\": \"%s\", \"end\": \"%s\", "
        "\"ran\": %s}\n",
        prepare ? "true" : "false", cudaGetErrorName(launched), cudaGetErrorName(ended),
        result.get() == Number ? "true" : "false");
}

void measure_capture() {
    check(cudaFree(nullptr), "making a context");
    measure<1>(true);
    measure<2>(false);
}

const registered here{"capture", "The first launch of a kernel within a capture, prepared and not",
                      measure_capture};

}  // namespace catena::probe::capture
