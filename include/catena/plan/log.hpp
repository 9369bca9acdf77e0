// A plan as lines of text: one that sums it up, or one for each step and for each node that was
// left.
#pragma once

#include "catena/pick/name.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/sentences.hpp"
#include "catena/plan/step.hpp"

#include <cstdio>
#include <string>

namespace CATENA_NAMESPACE {

/// "catena sm_90: 431 of 431 quantized matmuls in 320 steps; 120 groups, 90 whole, 30 in part"
inline std::string summary(const plan& p) {
    const table& t = p.rows();
    std::string out = "catena";
    if (t.target != nullptr) out.append(" ").append(t.target->name);
    if (!p.state().ok()) return out + ": all is left to the engine: " + p.state().message;
    if (!p.asked().enabled) return out + ": switched off (CATENA_ENABLED, options::enabled)";
    const plan_counters& c = p.counters();
    const auto number = [](std::int32_t n) { return std::to_string(n); };
    out += ": " + number(c.served) + " of " + number(c.matmuls) + " quantized matmuls in " +
           number(c.steps) + " steps";
    if (c.groups() > 0)
        out += "; " + number(c.groups()) + " groups, " + number(c.groups_whole) + " whole, " +
               number(c.groups_partial) + " in part";
    if (c.plain_rows > 0) out += "; " + number(c.plain_rows) + " steps on plain rows";
    if (c.clusters_refused > 0)
        out += "; " + number(c.clusters_refused) + " steps without clusters, for want of room";
    const char* before = "; left to the engine: ";
    for (int r = 0; r < reason_count; ++r) {
        if (c.left[r] == 0) continue;
        out.append(before).append(number(c.left[r])).append(" ").append(reason_words[r].name);
        before = ", ";
    }
    if (c.stand_in) out.append("; ").append(t.state.message);
    return out;
}

/// The summary, and a line for each step and for each obstacle. `to` is called with each line, a
/// const char* without a newline: a sink, or a lambda.
template <class Line>
void log(const plan& p, Line&& to) {
    to(summary(p).c_str());
    for (int i = 0; i < static_cast<int>(p.steps().size()); ++i) {
        const step& s = p.steps()[static_cast<std::size_t>(i)];
        std::string line = "  " + p.step_name(i) + ": " + row_name(p.rows(), s.row);
        const char* before = " covers ";
        for (const std::int32_t n : p.covered(s)) {
            line.append(before).append(std::to_string(n));
            before = " ";
        }
        char cost[64];
        std::snprintf(cost, sizeof(cost), ", %lld bytes, %.2f us predicted",
                      static_cast<long long>(s.bytes), s.predicted_us);
        to((line + cost).c_str());
    }
    for (const left_over& l : p.left())
        to(("  node " + std::to_string(l.what.node) +
            (p.at(l.what.node).step < 0 ? " stays with the engine: " : " could be part of more: ") +
            sentence(l, p.rows()))
               .c_str());
}

/// What the plan's options ask for.
inline void log_as_asked(const plan& p) {
    const options& asked = p.asked();
    if (asked.log == log_level::summary || asked.log == log_level::times)
        asked.log_to(summary(p).c_str());
    if (asked.log == log_level::steps) log(p, asked.log_to);
}

}  // namespace CATENA_NAMESPACE
