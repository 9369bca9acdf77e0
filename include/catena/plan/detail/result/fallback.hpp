// Counting what a plan achieved, and the sentence for the first fallback.
#pragma once

#include "catena/error/message.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/sentences.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// The row of its computation that takes any shape and alignment: element by element, or weights
/// copied by plain loads where the arch has better.
constexpr bool is_plain(const row& r, const arch& a) {
    if (r.computes.kind() == skeleton::row) return !r.policy.row().vector;
    return copy_of(r.policy) == copy_method::plain && a.async_copy;
}

/// Does the step run on a plain row though its computation has others? If one of those was measured
/// on the problem, too, the plain row is the faster one.
inline bool fell_to_plain(const table& t, const step& s) {
    const row& picked = t.rows[s.row];
    if (!is_plain(picked, *t.target)) return false;
    const measured_rows medians(t, s.what);
    bool others = false;
    for (std::int32_t i = 0; i < t.row_count; ++i) {
        if (t.rows[i].computes != picked.computes || is_plain(t.rows[i], *t.target)) continue;
        if (medians.median_us(i) >= 0) return false;
        others = true;
    }
    return others;
}

namespace detail {

/// What the plan says first about a node that no step covers.
inline left_over why_left(const plan& p, std::int32_t node) {
    const auto before = [](const left_over& l, std::int32_t n) { return l.what.node < n; };
    const left_over* word = std::lower_bound(p.left().begin(), p.left().end(), node, before);
    const bool said = word != p.left().end() && word->what.node == node;
    return said ? *word : left_over{{node, reason::no_chain}, {}};
}

/// A member of a group as one word, so that the members of a group, and of those the members of a
/// step, stand together when sorted: activation, op kind, step.
struct group_member {
    std::uint64_t word;

    group_member(std::int32_t activation, bool expert, std::int32_t step)
        : word(static_cast<std::uint64_t>(activation) << 33 |
               std::uint64_t{expert ? 1u : 0u} << 32 | static_cast<std::uint32_t>(step + 1)) {}
    bool beside(const group_member& o) const { return word >> 32 == o.word >> 32; }
    bool by_engine() const { return static_cast<std::uint32_t>(word) == 0; }
    bool operator==(const group_member& o) const { return word == o.word; }
    bool operator<(const group_member& o) const { return word < o.word; }
};

inline void count_groups(std::vector<group_member> all, plan_counters& out) {
    std::sort(all.begin(), all.end());
    for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
        bool together = false;
        for (end = first + 1; end < all.size() && all[end].beside(all[first]); ++end)
            together = together || (!all[end].by_engine() && all[end] == all[end - 1]);
        if (end - first < 2) continue;
        const bool whole = together && all[first] == all[end - 1];
        ++(whole ? out.groups_whole : together ? out.groups_partial : out.groups_split);
    }
}

/// The better row that came closest, with what it lacked.
inline std::string why_plain(const plan& p, const step& s) {
    rejection nearest;
    for (const rejection& r : choose(s.what, p.rows(), p.asked().pick).rejected)
        if (!is_plain(p.rows().rows[r.row], *p.rows().target) && closer(r, nearest)) nearest = r;
    return row_name(p.rows(), nearest.row) + ": " + sentence(nearest);
}

}  // namespace detail

/// Counts a plan of this view; time is linear in nodes, but for sorting the matmuls.
inline plan_counters count(const graph_index& g, const plan& p) {
    plan_counters out;
    std::vector<detail::group_member> members;
    members.reserve(g.matmuls().size());
    for (const matmul_read& m : g.matmuls()) {
        if (!m.quantized) continue;
        const std::int32_t step = p.at(m.node).step;
        ++out.matmuls;
        if (step >= 0)
            ++out.served;
        else
            ++out.left[static_cast<int>(detail::why_left(p, m.node).what.why)];
        members.push_back({m.value, has_matrices(g.view, g.view.node(m.node)), step});
    }
    detail::count_groups(std::move(members), out);
    for (const step& s : p.steps()) {
        out.plain_rows += fell_to_plain(p.rows(), s) ? 1 : 0;
        out.clusters_refused += s.clusters_refused ? 1 : 0;
    }
    out.steps = static_cast<std::int32_t>(p.steps().size());
    out.stand_in = p.rows().state.ok() && p.rows().state.message[0] != '\0';
    return out;
}

/// The first fallback of a plan of this view, in node order: what, why, and the remedy. Ok when it
/// has none.
inline status first_fallback(const graph_view& view, const plan& p) {
    constexpr const char* allow = "or clear error_on_fallback (CATENA_ERROR_ON_FALLBACK)";
    if (const status& set = p.rows().state; set.ok() && set.message[0] != '\0')
        return failure(status_code::fallback, "%.150s: link its own instances, %s", set.message,
                       allow);
    const auto fell = [&](std::int32_t node) {
        if (p.at(node).step >= 0 || !quantized_matmul(view, view.node(node))) return false;
        const reason why = detail::why_left(p, node).what.why;
        return why != reason::engine_faster && why != reason::engine_faster_in_models;
    };
    std::int32_t left = 0;
    while (left < view.node_count && !fell(left)) ++left;
    for (const step& s : p.steps()) {
        if (s.launch_at >= left) continue;
        if (s.clusters_refused)
            return failure(status_code::fallback,
                           "node %d runs without clusters, for which the device has no room: run "
                           "on a whole GPU, %s",
                           s.launch_at, allow);
        if (fell_to_plain(p.rows(), s))
            return failure(status_code::fallback,
                           "node %d runs on a plain row (%.120s): mend that, %s", s.launch_at,
                           detail::why_plain(p, s).c_str(), allow);
    }
    if (left == view.node_count) return {};
    const left_over word = detail::why_left(p, left);
    return failure(status_code::fallback,
                   "node %d, a matmul of %s, stays with the engine (%.120s): mend that, %s", left,
                   name(view.at(view.node(left).src[0]).type), sentence(word, p.rows()).c_str(),
                   allow);
}

}  // namespace CATENA_NAMESPACE
