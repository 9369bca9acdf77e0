// Candidates as loaded kernels: rendered by the generator, compiled by nvcc, several at once, and
// kept as long as the tuner runs.
#pragma once

#include "cuda.hpp"

#include <cuda_runtime_api.h>

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace catena::tune {

struct kernel {
    cudaKernel_t handle = nullptr;
    int registers = 0;
    std::string fault;  ///< why there is none
};

class cuda_kernels {
  public:
    cuda_kernels(const arch& target, const cuda_options& how);
    cuda_kernels(const cuda_kernels&) = delete;
    cuda_kernels& operator=(const cuda_kernels&) = delete;
    ~cuda_kernels();

    /// Compiles what is not there yet. `seconds_left` is asked before each. False: there was no
    /// time for all, or an interrupt came.
    bool need(const std::vector<row>& rows, const std::function<double()>& seconds_left);

    const kernel& of(const row& r) const;

  private:
    const arch& target_;
    cuda_options how_;
    std::filesystem::path scratch_;
    std::map<std::string, kernel> kernels_;  ///< by row name
    std::vector<cudaLibrary_t> libraries_;
    double longest_s_ = 0;
    std::mutex guard_;

    kernel compiled(const row& r, const std::string& scratch);
};

}  // namespace catena::tune
