// JSON as the command prints it: an object that begins with the version. Names from a file may hold
// what a terminal obeys, so everything that is not ASCII is escaped, and what is no UTF-8 is
// replaced.
#pragma once

#include "version.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace catena::tool {

inline std::string json_text(const nlohmann::ordered_json& j, int indent = 1) {
    nlohmann::ordered_json all = {{"catena", version}};
    all.update(j);
    return all.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace catena::tool
