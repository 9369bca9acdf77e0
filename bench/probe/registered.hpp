// The probes: each measures one thing on device 0, and prints a line of JSON for each of its
// settings.
#pragma once

#include <vector>

namespace catena::probe {

struct probe {
    const char* name;
    const char* what;   ///< is measured, in one line
    void (*measure)();  ///< throws what goes wrong
};

/// Those that are linked into the program.
inline std::vector<probe>& probes() {
    static std::vector<probe> all;
    return all;
}

/// A constant of this type, outside all functions, makes a probe a subcommand.
struct registered {
    registered(const char* name, const char* what, void (*measure)()) {
        probes().push_back({name, what, measure});
    }
};

}  // namespace catena::probe
