// What flows from one op of a chain into the next, as far as the type rules care. Every op's
// `after<Before>()` holds its rules: it refuses with one sentence, or says what flows on.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/text.hpp"
#include "catena/format/format.hpp"

namespace CATENA_NAMESPACE::chain {

struct flow {
    bool refused = false;       ///< a rule was broken: nothing that follows is looked at
    stage_set passed = {};      ///< stages passed so far, without an emit of a norm's input
    stage_kind last = {};       ///< the stage that the last op became, if there was one
    format_set emitted = {};    ///< formats that the finished value was emitted in
    bool engine_reads = false;  ///< quantized in formats that an engine's own matmuls read

    constexpr bool at_start() const { return passed.empty(); }
    constexpr bool behind(stage_kind kind) const { return !at_start() && last == kind; }
    /// Is it the sum that a norm reads next?
    constexpr bool behind_sum() const {
        return !at_start() && sum_stages.has(last) && !has_norm(passed);
    }
    /// Does it end with the sum of x and a residual, emitted?
    constexpr bool sum_emitted() const {
        return behind(stage_kind::emit) && !passed.has(stage_kind::emit);
    }

    /// Was the last op the emit<f32> of a norm's sum with a residual?
    constexpr bool joined_f32() const {
        return behind(stage_kind::emit) && passed.has(stage_kind::join_residual) &&
               !passed.has(stage_kind::next_norm) && emitted == format_set::of(format::f32);
    }

    constexpr bool fits(stage_kind kind) const { return may_follow(passed, kind); }

    constexpr flow then(stage_kind kind) const {
        flow moved = *this;
        moved.passed = passed | kind;
        moved.last = kind;
        return moved;
    }
};

template <stage_kind Kind>
struct stage_meaning;

/// The flow behind an op that may not stand in its place. The op's broken rule has said its
/// sentence, and no later rule of the chain is looked at.
inline constexpr flow refused{.refused = true};

/// An op is an empty type. Its minimal complete definition: `lowered` (its stage, whose kind is
/// that of the flow behind it), `spell(out)` and `after<Before>()` (its type rule). For each kind
/// of stage, `stage_meaning` has `apply`: what it does in double.
template <class T>
concept chain_op = requires(text& out) {
    T::lowered;
    T::spell(out);
};

/// The result of a factory of ops that has said a sentence, so that the chain adds no other.
struct refused_op {
    static constexpr stage lowered = {};
    static constexpr void spell(text&) {}
    template <flow Before>
    static constexpr flow after() {
        return refused;
    }
};

}  // namespace CATENA_NAMESPACE::chain
