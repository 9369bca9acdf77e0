// A GPU that runs nothing: what its CUDA runtime, driver and cuBLAS are asked, in order.
#pragma once

#include <string>
#include <vector>

namespace catena_test {

/// What a stream was given. Streams and events are numbered in the order of their creation.
struct gpu_work {
    enum kind { launch, record, wait } what;
    int stream;
    int event;           ///< of record and wait
    std::string kernel;  ///< of launch: the symbol, or "cublas"
};

struct gpu_log {
    std::vector<gpu_work>
        work;  ///< what a captured graph holds comes each time that it is launched
    std::vector<std::vector<gpu_work>> captures;
    int graph_launches = 0;
    std::string fault;  ///< the first call that a GPU would refuse
};
gpu_log& the_gpu();

/// A call that a GPU would refuse.
void gpu_refuses(const std::string& why);
/// Gives work to a stream, or to the graph that captures it.
void gpu_is_given(void* stream, gpu_work::kind what, int event, const std::string& kernel);

}  // namespace catena_test
