// Catena's kernels on a stream of their own beside ggml-cuda's stream, which ggml's interface does
// not show. An event joins the streams each time that the work changes sides.
#include "kernels.hpp"

#include "catena/instances/for_device.hpp"
#include "ggml-backend-impl.h"

#include <cuda_runtime_api.h>

#include <string>

namespace catena_plugin {
namespace {

void check(cudaError_t error, const char* what) {
    if (error != cudaSuccess) GGML_ABORT("catena: %s: %s", what, cudaGetErrorString(error));
}

class on_stream : public kernels {
  public:
    on_stream(ggml_backend_t wrapped, int gpu, cudaStream_t own)
        : wrapped_(wrapped),
          event_(ggml_backend_event_new(ggml_backend_get_device(wrapped))),
          gpu_(gpu),
          own_(own) {}
    ~on_stream() override {
        make_current();
        check(cudaStreamSynchronize(own_), "waiting for its stream");
        check(cudaStreamDestroy(own_), "destroying its stream");
        ggml_backend_event_free(event_);
    }

    bool reaches(ggml_backend_buffer_type_t type) const override {
        return type == ggml_backend_dev_buffer_type(ggml_backend_get_device(wrapped_));
    }
    void* allocate(std::size_t bytes) override {
        make_current();
        void* memory = nullptr;
        if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
        (void)cudaGetLastError();
        return nullptr;
    }
    void release(void* memory) override { check(cudaFree(memory), "freeing a workspace"); }

    void begin(const ggml_cgraph&) override { make_current(); }

    /// A build of ggml-cuda without copies between GPUs has no events: the host waits then.
    void wait_for_engine() override {
        if (event_ == nullptr) return ggml_backend_synchronize(wrapped_);
        ggml_backend_event_record(event_, wrapped_);
        check(cudaStreamWaitEvent(own_, cuda_event(), 0), "waiting for ggml-cuda");
    }
    void let_engine_wait() override {
        if (event_ == nullptr) return check(cudaStreamSynchronize(own_), "waiting for its stream");
        check(cudaEventRecord(cuda_event(), own_), "recording an event");
        ggml_backend_event_wait(wrapped_, event_);
    }
    void* stream() override { return own_; }

  private:
    ggml_backend_t wrapped_;
    ggml_backend_event_t event_;  // a wait is for the record before it, so one serves both ways
    int gpu_;
    cudaStream_t own_;

    void make_current() const { check(cudaSetDevice(gpu_), "choosing its GPU"); }
    cudaEvent_t cuda_event() const { return static_cast<cudaEvent_t>(event_->context); }
};

/// CUDA's number of a device, by its place on the bus: ggml-cuda may count otherwise. Several
/// devices of ggml-cuda can be one GPU, and have a suffix then.
cudaError_t find_gpu(ggml_backend_dev_t device, int& number) {
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(device, &props);
    if (props.device_id == nullptr) return cudaErrorInvalidDevice;
    const std::string place = props.device_id;
    return cudaDeviceGetByPCIBusId(&number, place.substr(0, place.find('-')).c_str());
}

}  // namespace

catena::table table_for(ggml_backend_dev_t device) {
    int gpu = 0;
    const cudaError_t error = find_gpu(device, gpu);
    if (error == cudaSuccess) return catena::instances::for_device(gpu);
    (void)cudaGetLastError();
    catena::table none;
    none.state = catena::failure(catena::status_code::device_error, "%s is no GPU of CUDA's: %s",
                                 ggml_backend_dev_name(device), cudaGetErrorString(error));
    return none;
}

std::unique_ptr<kernels> kernels_beside(ggml_backend_t wrapped, const catena::table& rows) {
    cudaStream_t own = nullptr;
    if (cudaSetDevice(rows.device_number) != cudaSuccess ||
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess) {
        (void)cudaGetLastError();
        return nullptr;
    }
    return std::make_unique<on_stream>(wrapped, rows.device_number, own);
}

}  // namespace catena_plugin
