// The files of one arch's set: rows, table, one .cu per family.
#pragma once

#include "render_parts.hpp"

namespace catena::generator {

std::vector<rendered_file> render_cuda(const instance_set& set);

}  // namespace catena::generator
