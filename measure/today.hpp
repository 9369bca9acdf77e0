// The date of a record.
#pragma once

#include <array>
#include <ctime>
#include <string>

namespace catena::bench {

/// UTC, as 2026-11-21.
inline std::string today() {
    const std::time_t now = std::time(nullptr);
    std::array<char, 11> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
    return text.data();
}

}  // namespace catena::bench
