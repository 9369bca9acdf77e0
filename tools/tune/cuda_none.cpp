// A build without CUDA has no GPU to tune on.
#include "cuda.hpp"

#include <stdexcept>

namespace catena::tune {

std::string native_arch() { return ""; }

arch native_device(const arch& a) { return a; }

std::unique_ptr<timing_device> cuda_device(const arch&, const cuda_options&) {
    throw std::runtime_error(
        "this build has no CUDA: configure it with CATENA_CUDA=ON, or try the tuner with "
        "--simulate SEED");
}

}  // namespace catena::tune
