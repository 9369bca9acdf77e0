// The stages of a chain, one after the other. A new stage joins with its header.
#pragma once

#include "catena/match/detail/row/combine.hpp"
#include "catena/match/detail/row/glu.hpp"
#include "catena/match/detail/row/norm.hpp"
#include "catena/match/detail/row/own.hpp"
#include "catena/match/detail/row/residual.hpp"
#include "catena/match/detail/row/weight.hpp"

#include <utility>

namespace CATENA_NAMESPACE {

namespace detail {

template <stage_kind Kind>
bool may_fit_stage(const site& s) {
    if constexpr (unmatched_stages.has(Kind))
        return !s.chain.has(Kind);
    else
        return !s.chain.has(Kind) || stage_match<Kind>::may_fit(s);
}

template <stage_kind Kind>
bool take_stage(const site& s, match& m) {
    if constexpr (!unmatched_stages.has(Kind))
        if (s.chain.has(Kind)) m.why = stage_match<Kind>::take(s, m);
    return m.found();
}

inline constexpr int first_value_stage = static_cast<int>(stage_kind::rms_norm);
static_assert(!value_stages.any(stage_set::before(stage_kind::rms_norm)),
              "the stages from rms_norm on make a value or change one");

template <int... Kinds>
bool may_fit_stages(const site& s, std::integer_sequence<int, Kinds...>) {
    return (may_fit_stage<static_cast<stage_kind>(Kinds)>(s) && ...);
}
template <int... Offsets>
void take_from_value_on(const site& s, match& m, std::integer_sequence<int, Offsets...>) {
    (void)(take_stage<static_cast<stage_kind>(first_value_stage + Offsets)>(s, m) && ...);
}
template <int... Offsets>
void take_before_value(const site& s, match& m, std::integer_sequence<int, Offsets...>) {
    (void)(take_stage<static_cast<stage_kind>(first_value_stage - 1 - Offsets)>(s, m) && ...);
}

inline constexpr int row_stage_count = static_cast<int>(stage_kind::emit);

}  // namespace detail

/// May the chain fit there? The test is quick and looks at little.
inline bool may_fit(const site& s) {
    return detail::may_fit_stages(s, std::make_integer_sequence<int, detail::row_stage_count>());
}

/// The match there, without its readers.
inline match place_at(const site& s) {
    match m;
    m.stages = s.chain.stages;
    m.node = s.node;
    m.stream = s.view.node(s.node).stream;
    constexpr int before = detail::first_value_stage;
    constexpr int rest = detail::row_stage_count - before;
    detail::take_from_value_on(s, m, std::make_integer_sequence<int, rest>());
    if (m.found()) detail::take_before_value(s, m, std::make_integer_sequence<int, before>());
    return m;
}

}  // namespace CATENA_NAMESPACE
