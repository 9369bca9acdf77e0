// The order of a run: a record that was cut short should hold what says most.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace catena::bench {

struct agenda_item {
    std::string what;  ///< "layers", "chains" or "instances"
    int columns = 0;   ///< of instances 0: each has its own
    bool operator==(const agenda_item&) const = default;
};

/// Layers and chains of all models for so many columns, then for the next; instances at the end.
inline std::vector<agenda_item> agenda(const std::vector<std::string>& wanted,
                                       const std::vector<int>& columns) {
    const auto asked = [&](const char* what) {
        return std::find(wanted.begin(), wanted.end(), what) != wanted.end();
    };
    std::vector<agenda_item> all;
    for (const int n : columns)
        for (const char* what : {"layers", "chains"})
            if (asked(what)) all.push_back({what, n});
    if (asked("instances")) all.push_back({"instances", 0});
    return all;
}

}  // namespace catena::bench
