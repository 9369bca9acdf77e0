// Which Catena made a result: `catena --version` prints it, and all JSON and pages name it.
#pragma once

namespace catena::tool {

inline constexpr char version[] = CATENA_VERSION;  // the project's, from CMakeLists.txt

}  // namespace catena::tool
