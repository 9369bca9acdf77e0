// What the parts of an instance's name mean, for `catena instances --legend`.
#pragma once

#include <span>
#include <string>

namespace catena::tool {

struct legend_part {
    const char* part;  ///< a word, or a letter with N for its number: "bulkN", "shared"
    const char* of;    ///< the skeletons whose names have it
    const char* meaning;
};

/// The parts of the policy, the third field of a name.
std::span<const legend_part> policy_legend();

/// All of a name, field by field.
std::string legend_text();
std::string legend_json();

}  // namespace catena::tool
