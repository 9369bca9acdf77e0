// Which Catena made a result: `catena --version` prints it, and all JSON and pages name it.
#pragma once

#include "catena/pick/stamp.hpp"

#include <string_view>

namespace catena::tool {

inline constexpr char version[] = CATENA_VERSION;  // the project's, from CMakeLists.txt
static_assert(std::string_view(headers_version) == version,
              "pick/stamp.hpp names another version than CMakeLists.txt: give it the same");

}  // namespace catena::tool
