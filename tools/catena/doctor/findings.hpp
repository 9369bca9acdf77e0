// What catena doctor concludes from what this build and this machine have.
#pragma once

#include "gpus.hpp"

#include <string>
#include <vector>

namespace catena::tool {

/// An instance set of this build.
struct built_set {
    std::string of;  ///< the namespace of an engine's own set; empty: of Catena
    std::string arch;
    int rows = 0;
    int kernels = 0;  ///< rows whose CUDA kernel is compiled in
};

/// "sm_90", or "my_kernels::sm_90".
std::string name_of(const built_set& s);

struct diagnosis {
    seen_cuda cuda;
    std::vector<built_set> sets;  ///< an engine's own before Catena's
    std::string environment;      ///< what is wrong with CATENA_... variables; empty: nothing
    std::vector<std::string> set_by_environment;  ///< "CATENA_VERIFY=1"
    std::string nvcc;  ///< the compiler that catena tune calls; empty: there is none

    /// What does not run, or runs by something else than it should, each with its remedy.
    std::vector<std::string> findings() const;
};

diagnosis diagnose();

}  // namespace catena::tool
