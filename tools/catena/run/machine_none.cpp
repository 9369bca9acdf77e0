// A build without CUDA has no GPU to offer.
#include "machine.hpp"

namespace catena::tool {

std::unique_ptr<machine> cuda_machine() { return nullptr; }

}  // namespace catena::tool
