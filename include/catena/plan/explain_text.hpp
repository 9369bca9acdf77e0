// An explanation as text, for those who look at a plan in a debugger or a log: `catena explain`
// has more. Not part of runtime.hpp, whose readers need no text.
#pragma once

#include "catena/plan/explain.hpp"

#include <cstdio>
#include <ostream>
#include <string>

namespace catena {

/// A line that sums up, one for each step, and one for each node that was left. Lines end with a
/// newline.
inline std::string to_string(const explanation& e) {
    if (!e.state.ok()) return std::string("no plan: ") + e.state.message + "\n";
    const auto us = [](double n) {
        char text[32];
        std::snprintf(text, sizeof(text), "%.2f us", n);
        return std::string(text);
    };
    double predicted = 0;
    for (const explained_step& s : e.steps) predicted += s.predicted_us;
    std::string out = e.arch + ": " + std::to_string(e.launches) + " steps and " +
                      std::to_string(e.engine_launches) + " launches of the engine for " +
                      std::to_string(e.nodes) + " nodes; the steps are predicted to take " +
                      us(predicted) + "\n";
    for (const explained_step& s : e.steps) {
        out += "  node " + std::to_string(s.launch_at) + ": " + s.instance + " covers";
        for (const std::int32_t n : s.nodes) out += " " + std::to_string(n);
        if (s.chain >= 0) out += " (" + e.chains[static_cast<std::size_t>(s.chain)].name + ")";
        out += ", " + std::to_string(s.bytes) + " bytes, " + us(s.predicted_us) + " predicted\n";
    }
    for (const left_node& l : e.not_fused)
        out += "  node " + std::to_string(l.node) + ": " + l.sentence + "\n";
    return out;
}

inline std::ostream& operator<<(std::ostream& to, const explanation& e) {
    return to << to_string(e);
}

}  // namespace catena
