// The files of an arch's instance set, compiled: what the programs that look at machine code share.
#pragma once

#include "expand.hpp"
#include "nvcc.hpp"
#include "render_parts.hpp"

#include <set>
#include <string>
#include <vector>

namespace catena::bench {

struct compiled_family {
    generator::family_rows family;
    evidence::compiled_file result;
};

/// How a family becomes machine code: evidence::compile, or evidence::assemble, which spares what
/// the build has compiled.
using make_family = evidence::compiled_file (*)(const std::string& nvcc, const arch& target,
                                                const std::string& family,
                                                const std::string& scratch);
evidence::compiled_file compile_family(const std::string& nvcc, const arch& target,
                                       const std::string& family, const std::string& scratch);
evidence::compiled_file assemble_family(const std::string& nvcc, const arch& target,
                                        const std::string& family, const std::string& scratch);

/// Makes the families of an arch's set, in the order of its rows, `jobs` at a time, with a line of
/// progress for each. `only`: no others; empty: all. Throws with nvcc's words where it refuses one,
/// and on a name that the set does not have.
std::vector<compiled_family> make_families(make_family make, const arch& target,
                                           const std::string& nvcc, int jobs,
                                           const std::set<std::string>& only = {});

}  // namespace catena::bench
