// The files of the host set.
#pragma once

#include "render_parts.hpp"

namespace catena::generator {

std::vector<rendered_file> render_host(const instance_set& host, const naming& names);

}  // namespace catena::generator
