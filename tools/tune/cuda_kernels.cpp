#include "cuda_kernels.hpp"

#include "code_cost.hpp"
#include "registers.hpp"

#include "catena/pick/name.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace catena::tune {

cuda_kernels::cuda_kernels(const arch& target, const cuda_options& how)
    : target_(target),
      how_(how),
      scratch_(std::filesystem::temp_directory_path() /
               ("catena_tune_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(scratch_);
}

cuda_kernels::~cuda_kernels() {
    for (cudaLibrary_t library : libraries_) cudaLibraryUnload(library);
    std::error_code ignored;
    std::filesystem::remove_all(scratch_, ignored);
}

const kernel& cuda_kernels::of(const row& r) const {
    return kernels_.at(row_name(r, target_.name));
}

bool cuda_kernels::need(const std::vector<row>& rows, const std::function<double()>& seconds_left) {
    std::vector<row> missing;
    for (const row& r : rows)
        if (kernels_.count(row_name(r, target_.name)) == 0) missing.push_back(r);
    std::atomic<std::size_t> next{0};
    std::atomic<bool> late{false}, interrupted{false};
    const auto work = [&] {
        for (std::size_t at = next++; at < missing.size() && !late && !interrupted; at = next++) {
            const double before = seconds_left();
            if (before < longest_s_) late = true;
            if (late) return;
            try {
                kernel made = compiled(missing[at], (scratch_ / std::to_string(at)).string());
                const std::lock_guard<std::mutex> lock(guard_);
                kernels_[row_name(missing[at], target_.name)] = std::move(made);
                longest_s_ = std::max(longest_s_, before - seconds_left());
            } catch (const evidence::interrupted&) {
                interrupted = true;
            }
        }
    };
    std::vector<std::thread> workers;
    for (int i = 0; i < how_.jobs; ++i) workers.emplace_back(work);
    for (std::thread& w : workers) w.join();
    // While it waited for nvcc this program ignored the interrupt, which was meant for it too.
    if (interrupted) std::raise(SIGINT);
    return !late && !interrupted && seconds_left() > 0;
}

kernel cuda_kernels::compiled(const row& r, const std::string& scratch) try {
    kernel out;
    const evidence::compiled_file file =
        generator::compile_alone(target_, r, how_.compiler, scratch);
    for (const evidence::compiled_kernel& k : evidence::parse_ptxas(file.said)) {
        out.registers = k.registers;
        if (k.spilled_bytes > 0)
            out.fault = "it spills " + std::to_string(k.spilled_bytes) + " bytes";
    }
    if (!out.fault.empty()) return out;
    cudaLibrary_t library = nullptr;
    if (const cudaError_t e = cudaLibraryLoadData(&library, file.cubin.data(), nullptr, nullptr, 0,
                                                  nullptr, nullptr, 0);
        e != cudaSuccess)
        return {nullptr, out.registers,
                std::string("its cubin is not loaded: ") + cudaGetErrorString(e)};
    const std::lock_guard<std::mutex> lock(guard_);
    libraries_.push_back(library);
    if (const cudaError_t e = cudaLibraryGetKernel(
            &out.handle, library, generator::symbol_alone(target_, r, how_.compiler.names).c_str());
        e != cudaSuccess)
        out.fault = std::string("its kernel is not found: ") + cudaGetErrorString(e);
    return out;
} catch (const evidence::interrupted&) {
    throw;
} catch (const std::runtime_error& e) {
    return {nullptr, 0, std::string(e.what()).substr(0, 400)};
}

}  // namespace catena::tune
