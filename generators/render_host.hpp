// The files of the host set: its table, and host kernels for the distinct rows of every set.
#pragma once

#include "render_parts.hpp"

namespace catena::generator {

std::vector<rendered_file> render_host(const instance_set& host,
                                       const std::vector<instance_set>& all);

}  // namespace catena::generator
