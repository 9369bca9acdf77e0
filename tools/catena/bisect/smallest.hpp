// Which few of many things make a trial fail: delta debugging (Zeller and Hildebrandt, 2002).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace catena::tool {

/// `names` make `fails` true together. Returns a part of them that still does, of which no single
/// name can be spared. The order of names is kept.
inline std::vector<std::string> smallest_failing(
    std::vector<std::string> names,
    const std::function<bool(const std::vector<std::string>&)>& fails) {
    std::size_t parts = 2;
    while (names.size() > 1) {
        const std::size_t length = (names.size() + parts - 1) / parts;
        bool smaller = false;
        const auto keep = [&](std::vector<std::string> candidate, std::size_t next_parts) {
            if (candidate.empty() || candidate.size() == names.size() || !fails(candidate))
                return false;
            names = std::move(candidate);
            parts = std::max<std::size_t>(2, next_parts);
            return true;
        };
        for (std::size_t at = 0; at < names.size() && !smaller; at += length) {
            const auto begin = names.begin() + static_cast<std::ptrdiff_t>(at);
            const auto end =
                names.begin() + static_cast<std::ptrdiff_t>(std::min(at + length, names.size()));
            smaller = keep({begin, end}, 2);
        }
        for (std::size_t at = 0; at < names.size() && !smaller && parts > 2; at += length) {
            std::vector<std::string> without = names;
            without.erase(
                without.begin() + static_cast<std::ptrdiff_t>(at),
                without.begin() + static_cast<std::ptrdiff_t>(std::min(at + length, names.size())));
            smaller = keep(std::move(without), parts - 1);
        }
        if (smaller) continue;
        if (parts >= names.size()) break;
        parts = std::min(names.size(), 2 * parts);
    }
    return names;
}

}  // namespace catena::tool
