// The command as a function: `catena` itself, and the command that an engine gets for its own sets
// (catena_add_instances).
#pragma once

#include "catena/instances/on_host.hpp"
#include "catena/pick/row.hpp"

#include <string>
#include <vector>

namespace catena::tool {

/// The sets of an engine. Their rows stand before Catena's in what the subcommands plan with.
struct own_sets {
    std::vector<table> tables;  ///< one for each arch
    std::vector<const instances::host_family*> host_kernels;
    std::string root;  ///< where include/ has Catena's headers
    std::string name;  ///< of their namespace, which has the `ops`
    std::string ops;   ///< the header of the engine's own ops; empty: there are none
};

/// Runs the command line. Returns main's exit code.
int run_command(int argc, char** argv, own_sets own = {});

}  // namespace catena::tool
