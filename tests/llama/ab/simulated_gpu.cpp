#include "ab_device.hpp"
#include "device.hpp"

namespace catena::ab {

built build_facts() { return {"", ""}; }

ggml_backend_dev_t measured_device() { return catena_test::sm_90_device(); }

}  // namespace catena::ab
