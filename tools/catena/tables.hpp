// The instance sets that this build of the command can plan with.
#pragma once

#include "catena/pick/row.hpp"

#include <string>

namespace catena::tool {

/// The table of an arch, or of that of the GPU if `arch` is "native". Throws failure, naming the
/// archs there are, if it has none.
table table_for(const std::string& arch);

/// What a command plans for: an arch, as above, or a GPU of arch/gpu.hpp by its name.
struct target_options {
    std::string arch, gpu;
    bool named() const { return !arch.empty() || !gpu.empty(); }
};

/// The table of the arch; of a named GPU that of its arch, with the GPU's figures. Throws failure,
/// naming the GPUs there are, if none has this name. Case does not count, nor do spaces, hyphens
/// and what NVIDIA puts before a name.
table table_for(const target_options& to);

/// The GPUs that can be named, with their figures and where these come from.
std::string gpus_text();
std::string gpus_json();

}  // namespace catena::tool
