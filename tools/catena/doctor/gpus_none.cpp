// A build without CUDA sees no GPU.
#include "gpus.hpp"

namespace catena::tool {

seen_cuda look_for_gpus() {
    seen_cuda seen;
    seen.problem =
        "this command was built without CUDA: install the CUDA Toolkit and build again with "
        "CATENA_CUDA=ON";
    return seen;
}

}  // namespace catena::tool
