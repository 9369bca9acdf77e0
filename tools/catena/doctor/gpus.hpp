// What CUDA says of this machine, for catena doctor.
#pragma once

#include <string>
#include <vector>

namespace catena::tool {

struct seen_gpu {
    std::string name;
    int compute_capability = 0;  ///< 90 for 9.0
    std::string set;             ///< the instance set that serves it; empty: none
    std::string why;             ///< why it is no set of its own, or none
};

struct seen_cuda {
    bool built_in = false;       ///< the command was built with CUDA
    int runtime = 0;             ///< CUDA's number of the runtime it was built with: 13000 for 13.0
    int driver = 0;              ///< the newest CUDA that the driver knows; 0: there is no driver
    std::string problem;         ///< why no GPU can be used; empty: one can
    std::vector<seen_gpu> gpus;  ///< by device number
};

seen_cuda look_for_gpus();

}  // namespace catena::tool
