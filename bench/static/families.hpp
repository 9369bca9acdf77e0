// The files of an arch's instance set, compiled: what the commands that look at machine code share.
#pragma once

#include "commands.hpp"
#include "nvcc.hpp"
#include "render_parts.hpp"

#include <string>
#include <vector>

namespace catena::bench {

struct compiled_family {
    generator::family_rows family;
    evidence::compiled_file result;
};

/// How a family becomes machine code: evidence::compile, or evidence::kept_or_compiled, which
/// spares what the build has compiled. Scratch files lie beside `scratch`.
using make_family = evidence::compiled_file (*)(const std::string& nvcc, const arch& target,
                                                const std::string& family,
                                                const std::string& scratch);
evidence::compiled_file compile_family(const std::string& nvcc, const arch& target,
                                       const std::string& family, const std::string& scratch);
evidence::compiled_file kept_family(const std::string& nvcc, const arch& target,
                                    const std::string& family, const std::string& scratch);

/// Makes the families asked for, in the order of the set's rows, with a line of progress for each.
/// Throws with nvcc's words where it refuses one, and on a name that the set does not have.
std::vector<compiled_family> make_families(make_family make, const family_options& asked);

}  // namespace catena::bench
