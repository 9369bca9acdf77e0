// The CUDA runtime of the GPU that runs nothing. Its memory is the host's, so copies are done at
// once; kernels are not run.
#include "gpu.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

// What nvcc's host code calls.
struct launch_shape {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
};

struct CUstream_st {
    int number;
};
struct CUevent_st {
    int number;
    bool in_capture;
};
struct CUgraph_st {
    std::vector<catena_test::gpu_work> work;
};
struct CUgraphExec_st {
    std::vector<catena_test::gpu_work> work;
};

using namespace catena_test;

namespace {

constexpr std::size_t alignment = 4096, memory_bytes = std::size_t{64} << 30;
constexpr int most_shared = 232448, unasked_shared = 48 * 1024, sms = 132, most_threads = 1024;

std::map<const void*, std::string>& kernels() {
    static std::map<const void*, std::string> all;
    return all;
}
std::map<const void*, int>& allowed_shared() {
    static std::map<const void*, int> all;
    return all;
}
launch_shape next_launch;
CUstream_st own_stream{0};
cudaStream_t capturing = nullptr;
std::vector<gpu_work> captured;

CUstream_st& of(cudaStream_t s) { return s == nullptr ? own_stream : *s; }

cudaError_t allocate(void** memory, std::size_t bytes) {
    *memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    std::memset(*memory, 0, bytes);
    return cudaSuccess;
}

cudaError_t launch(const void* kernel, std::size_t shared, dim3 block, cudaStream_t stream) {
    const auto known = kernels().find(kernel);
    if (known == kernels().end()) {
        gpu_refuses("a kernel that was not registered");
        return cudaErrorInvalidDeviceFunction;
    }
    const auto asked = allowed_shared().find(kernel);
    const int most = asked == allowed_shared().end() ? unasked_shared : asked->second;
    if (shared > static_cast<std::size_t>(most) || block.x * block.y * block.z > most_threads)
        gpu_refuses(known->second + " takes too much of an SM");
    gpu_is_given(stream, gpu_work::launch, -1, known->second);
    return cudaSuccess;
}

cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
    if (stream == nullptr || stream != capturing) std::memmove(to, from, bytes);
    return cudaSuccess;
}

cudaError_t wait_on_host(cudaStream_t stream) {
    if (stream != nullptr && stream == capturing) gpu_refuses("the host waits within a capture");
    return cudaSuccess;
}

}  // namespace

gpu_log& catena_test::the_gpu() {
    static gpu_log one;
    return one;
}

// A program that cannot ask says at its end what it has launched, in a file that a variable names.
static const struct last_words {
    last_words() { the_gpu(); }
    ~last_words() {
        const char* file = std::getenv("STAND_IN_LOG");
        if (file == nullptr) return;
        std::ofstream out(file);
        for (const gpu_work& w : the_gpu().work)
            if (w.what == gpu_work::launch) out << w.kernel << '\n';
        out << "refused: " << the_gpu().fault << '\n';
    }
} at_exit;

void catena_test::gpu_refuses(const std::string& why) {
    if (the_gpu().fault.empty()) the_gpu().fault = why;
}

void catena_test::gpu_is_given(void* stream, gpu_work::kind what, int event,
                               const std::string& kernel) {
    const auto s = static_cast<cudaStream_t>(stream);
    const bool held = s != nullptr && s == capturing;
    (held ? captured : the_gpu().work).push_back({what, of(s).number, event, kernel});
}

extern "C" {

void** __cudaRegisterFatBinary(void*) {
    static void* handle = nullptr;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
    kernels()[stub] = name;
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* s) {
    next_launch = {grid, block, shared, s};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* s) {
    *grid = next_launch.grid, *block = next_launch.block, *shared = next_launch.shared;
    *static_cast<cudaStream_t*>(s) = next_launch.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3 block, void**, std::size_t shared,
                               cudaStream_t stream) {
    return launch(kernel, shared, block, stream);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3, dim3 block, void**, std::size_t shared,
                             cudaStream_t stream) {
    return launch(kernel, shared, block, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3, dim3 block, void**,
                                        std::size_t shared, cudaStream_t stream) {
    return launch(kernel, shared, block, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* kernel, void**) {
    return launch(kernel, c->dynamicSmemBytes, c->blockDim, c->stream);
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int) {
    std::strncpy(id, "0000:01:00.0", static_cast<std::size_t>(size));
    return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char*) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = *total = memory_bytes;
    return cudaSuccess;
}
// Figures of an H100; what is not asked for is 0.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    static const std::map<cudaDeviceAttr, int> known = {
        {cudaDevAttrComputeCapabilityMajor, 9},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrMultiProcessorCount, sms},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 233472},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, most_shared},
        {cudaDevAttrClockRate, 1'980'000},
        {cudaDevAttrMemoryClockRate, 2'619'000},
        {cudaDevAttrGlobalMemoryBusWidth, 5120}};
    const auto found = known.find(attribute);
    *value = found == known.end() ? 0 : found->second;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
    *p = {};
    std::strcpy(p->name, "NVIDIA H100 80GB HBM3");
    p->totalGlobalMem = memory_bytes;
    p->major = 9;
    p->multiProcessorCount = sms;
    p->warpSize = 32;
    p->sharedMemPerBlock = unasked_shared;
    p->sharedMemPerBlockOptin = most_shared;
    p->maxThreadsPerBlock = most_threads;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* kernel) {
    *a = {};
    a->maxThreadsPerBlock = most_threads;
    a->binaryVersion = a->ptxVersion = 90;
    return kernels().count(kernel) != 0 ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value > most_shared) return cudaErrorInvalidValue;
    allowed_shared()[kernel] = value;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                   std::size_t, unsigned) {
    *blocks = 1;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t*) {
    *clusters = 1;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return allocate(memory, bytes); }
cudaError_t cudaMallocManaged(void** m, std::size_t bytes, unsigned) { return allocate(m, bytes); }
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return allocate(memory, bytes); }
cudaError_t cudaHostAlloc(void** m, std::size_t bytes, unsigned) { return allocate(m, bytes); }
cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
    std::memset(memory, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t s) {
    if (s == nullptr || s != capturing) std::memset(memory, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
    return copy(to, from, bytes, stream);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t stream) {
    return copy(to, from, bytes, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind, cudaStream_t stream) {
    for (std::size_t row = 0; row < height; ++row)
        copy(static_cast<char*>(to) + row * to_pitch,
             static_cast<const char*>(from) + row * from_pitch, width, stream);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    static int streams = 0;
    *stream = new CUstream_st{++streams};
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return wait_on_host(stream); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    gpu_is_given(stream, gpu_work::wait, event->number, "");
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    static int events = 0;
    *event = new CUevent_st{++events, false};
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    event->in_capture = stream != nullptr && stream == capturing;
    gpu_is_given(stream, gpu_work::record, event->number, "");
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    if (event->in_capture) gpu_refuses("the host waits for an event of a capture");
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
    *ms = 1;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
    *status = s != nullptr && s == capturing ? cudaStreamCaptureStatusActive
                                             : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (capturing != nullptr) gpu_refuses("a capture within a capture");
    capturing = stream;
    captured.clear();
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    if (capturing != stream) gpu_refuses("the end of a capture that did not begin");
    capturing = nullptr;
    the_gpu().captures.push_back(captured);
    *graph = new CUgraph_st{captured};
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
    *exec = new CUgraphExec_st{graph->work};
    return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo*) {
    exec->work = graph->work;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
    ++the_gpu().graph_launches;
    the_gpu().work.insert(the_gpu().work.end(), exec->work.begin(), exec->work.end());
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "refused by a GPU that runs nothing"; }
const char* cudaGetErrorName(cudaError_t) { return "refused"; }

}  // extern "C"
