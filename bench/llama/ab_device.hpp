// The device that is measured. Programs differ in the source that defines it.
#pragma once

#include <ggml-backend.h>

#include <string>
#include <vector>

namespace catena::ab {

/// What the program was built with; empty: not known.
struct built {
    const char* cuda;
    const char* catena;  ///< the commit
};
built build_facts();

/// The device; throws a sentence if there is none.
ggml_backend_dev_t measured_device();

/// What catena::instances::phases_so_far says; throws a sentence if kernels keep no times.
std::vector<std::string> phases_of_device();

}  // namespace catena::ab
