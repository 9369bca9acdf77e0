// A report for graphviz: each distinct layer once, a cluster around each step, edges labeled with
// what they carry.
#pragma once

#include "report.hpp"

#include <string>

namespace catena::tool {

/// One digraph. Nodes that launch nothing are left out; edges pass through them. What comes from
/// another layer is drawn as a node without a frame.
std::string as_dot(const report& r);

}  // namespace catena::tool
