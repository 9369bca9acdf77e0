// The files of one arch's set: rows, table, header.
#pragma once

#include "render_parts.hpp"

namespace catena::generator {

std::vector<rendered_file> render_cuda(const instance_set& set, const naming& names);

}  // namespace catena::generator
