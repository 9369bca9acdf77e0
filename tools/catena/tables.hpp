// The instance sets that this build of the command can plan with.
#pragma once

#include "catena/pick/row.hpp"

#include <string>

namespace catena::tool {

/// The table of an arch, or of that of the GPU if `arch` is "native". Throws failure, naming the
/// archs there are, if it has none.
table table_for(const std::string& arch);

}  // namespace catena::tool
