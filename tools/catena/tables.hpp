// The instance sets that this build of the command can plan with.
#pragma once

#include "command_line.hpp"

#include "code_cost.hpp"

#include "catena/pick/row.hpp"

#include <string>

namespace catena::tool {

/// Sets that join Catena's in every table that is asked for from now on.
void join_own(own_sets sets);

/// The sets that joined.
const own_sets& joined_sets();

/// The own table of an arch; null: there is none.
const table* own_table(const arch& target);

/// Catena's headers lie in include/ below: where the own sets say, or in the sources of this build.
std::string root_of_headers();

/// The compiler of single rows, Catena's and the own ones.
generator::device_compiler compiler_of_rows(const std::string& nvcc, const std::string& root);

/// A table of Catena's with the rows of the own one of its arch before it.
table with_own(const table& t);

/// The table with host kernels, Catena's and the own ones.
table on_host(const table& t);

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
