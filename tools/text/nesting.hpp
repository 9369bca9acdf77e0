// How deep JSON from others may nest.
#pragma once

#include <stdexcept>
#include <string>

namespace catena::tool {

/// Values of Catena's own files stand 8 deep at most. What copies or prints a value calls itself
/// for each value inside it: some MB of brackets would take the whole stack.
inline constexpr int most_nesting = 64;

/// For Json::parse. It throws std::runtime_error.
template <class Json>
typename Json::parser_callback_t bounded_nesting() {
    return [](int depth, typename Json::parse_event_t, Json&) {
        if (depth > most_nesting)
            throw std::runtime_error("values nest deeper than " + std::to_string(most_nesting) +
                                     ", the most that is read");
        return true;
    };
}

}  // namespace catena::tool
