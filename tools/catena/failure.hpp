// How a subcommand ends: its exit code, or what the user can mend.
#pragma once

#include <stdexcept>

namespace catena::tool {

/// Exit codes of every subcommand.
enum exit_code : int {
    exit_ok = 0,
    exit_check_failed = 1,  ///< it ran, and a result is outside its tolerance
    exit_bad_input = 2,     ///< wrong usage, or a file or an arch that cannot be used
    exit_incomplete = 3,    ///< nothing failed, but what was asked for could not be done
    exit_wrong_graph = 4  ///< no plan is wrong, but a graph overwrites a value that it still reads
};

/// What the user can mend: printed as one sentence, exit code 2.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace catena::tool
