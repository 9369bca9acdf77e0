// The files of a catalogue that is not Catena's own, kernels' sources included.
#pragma once

#include "render.hpp"

#include <string>
#include <vector>

namespace catena::generator {

/// A set's kernels are compiled in a file of each.
inline constexpr skeleton skeletons[] = {skeleton::row, skeleton::matvec, skeleton::matmul};

/// The namespace, the folder of headers and the end of symbols of the sets called `name`.
naming naming_of(const std::string& name, const std::string& ops_header = {});

/// A .cu with the kernels of one skeleton, as it is written of a set.
rendered_file kernels_cu(const instance_set& set, skeleton kind, const naming& names);

/// `name` is the namespace of the sets and the folder of their headers. For each set `table.cpp`
/// and a .cu of each skeleton; for all together a .cpp of each skeleton for the host executor.
std::vector<rendered_file> render_set(const std::string& name, const catalogue& all,
                                      const std::vector<instance_set>& sets);

}  // namespace catena::generator
