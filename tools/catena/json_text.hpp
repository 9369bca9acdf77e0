// JSON as the command prints it: names from a file may hold what a terminal obeys, so everything
// that is not ASCII is escaped, and what is no UTF-8 is replaced.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace catena::tool {

inline std::string json_text(const nlohmann::ordered_json& j, int indent = 1) {
    return j.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace catena::tool
