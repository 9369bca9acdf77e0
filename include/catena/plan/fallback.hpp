// Counting what a plan achieved, and the sentence for the first fallback.
#pragma once

#include "catena/launch/message.hpp"
#include "catena/match/reader.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/report.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace catena {

/// A node that multiplies by a quantized weight, and is computed.
inline bool quantized_matmul(const graph_view& view, const tensor& t) {
    if (t.kind != op::mul_mat && t.kind != op::mul_mat_id) return false;
    if (t.src[0] == no_tensor || t.src[1] == no_tensor || elements(t) == 0) return false;
    const tensor& w = view.at(t.src[0]);
    return (t.flags & flag_compute) != 0 && w.weight && info(w.type).role == format_role::weight;
}

/// The row of its computation that takes any shape and alignment: element by element, or weights
/// copied by plain loads where the arch has better.
constexpr bool is_plain(const row& r, const arch& a) {
    if (r.computes.kind == skeleton::row) return !r.numbers.vector;
    return r.numbers.copy == copy_method::plain && a.async_copy;
}

/// Does the step run on a plain row though its computation has others?
inline bool fell_to_plain(const table& t, const step& s) {
    const row& picked = t.rows[s.row];
    return is_plain(picked, *t.target) &&
           std::any_of(t.rows, t.rows + t.row_count, [&](const row& r) {
               return r.computes == picked.computes && !is_plain(r, *t.target);
           });
}

namespace detail {

/// Per node: what the plan says first about it, or null.
inline std::vector<const left_over*> first_words(const plan& p) {
    std::vector<const left_over*> out(static_cast<std::size_t>(p.size()), nullptr);
    for (const left_over& l : p.left())
        if (const left_over*& word = out[static_cast<std::size_t>(l.what.node)]; word == nullptr)
            word = &l;
    return out;
}

/// A member of a group, and the step that runs it; -1: the engine does.
struct group_member {
    std::int32_t activation, step;
    bool expert;

    bool beside(const group_member& o) const {
        return activation == o.activation && expert == o.expert;
    }
    bool operator<(const group_member& o) const {
        return std::tie(activation, expert, step) < std::tie(o.activation, o.expert, o.step);
    }
};

inline void count_groups(std::vector<group_member> all, plan_counters& out) {
    std::sort(all.begin(), all.end());
    for (std::size_t first = 0, end = 0; first < all.size(); first = end) {
        bool together = false;
        for (end = first + 1; end < all.size() && all[end].beside(all[first]); ++end)
            together = together || (all[end].step >= 0 && all[end].step == all[end - 1].step);
        if (end - first < 2) continue;
        const bool whole = together && all[first].step == all[end - 1].step;
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
    const graph_view& view = g.view;
    plan_counters out;
    const std::vector<const left_over*> words = detail::first_words(p);
    std::vector<detail::group_member> members;
    members.reserve(static_cast<std::size_t>(view.node_count) / 8);
    for (std::int32_t i = 0; i < view.node_count; ++i) {
        if (g.kind(i) != op::mul_mat && g.kind(i) != op::mul_mat_id) continue;
        const tensor& t = view.node(i);
        if (!quantized_matmul(view, t)) continue;
        const std::int32_t step = p.at(i).step;
        const left_over* word = words[static_cast<std::size_t>(i)];
        ++out.matmuls;
        if (step >= 0)
            ++out.served;
        else
            ++out.left[static_cast<int>(word != nullptr ? word->what.why : reason::no_chain)];
        members.push_back({value_behind(view, t.src[1]), step, t.kind == op::mul_mat_id});
    }
    detail::count_groups(std::move(members), out);
    for (const step& s : p.steps()) out.plain_rows += fell_to_plain(p.rows(), s) ? 1 : 0;
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
    std::int32_t left = 0;
    while (left < view.node_count &&
           (p.at(left).step >= 0 || !quantized_matmul(view, view.node(left))))
        ++left;
    for (const step& s : p.steps())
        if (s.launch_at < left && fell_to_plain(p.rows(), s))
            return failure(status_code::fallback,
                           "node %d runs on a plain row (%.120s): mend that, %s", s.launch_at,
                           detail::why_plain(p, s).c_str(), allow);
    if (left == view.node_count) return {};
    left_over word{{left, reason::no_chain}, {}};
    if (const left_over* said = detail::first_words(p)[static_cast<std::size_t>(left)])
        word = *said;
    return failure(status_code::fallback,
                   "node %d, a matmul of %s, stays with the engine (%.120s): mend that, %s", left,
                   name(view.at(view.node(left).src[0]).type), sentence(word).c_str(), allow);
}

}  // namespace catena
