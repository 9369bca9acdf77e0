// What flows from one op of a chain into the next, as far as the type rules care. Every op's
// `after<Before>()` holds its rules: it refuses with one sentence, or says what flows on.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/text.hpp"
#include "catena/format/format.hpp"

#include <cstdint>

namespace catena::chain {

/// How far a chain has come. Ops move it forward only.
enum class place : std::uint8_t {
    start,       ///< the input x, f32
    combined,    ///< what experts made
    summed,      ///< x + residual
    summed_out,  ///< the sum was emitted
    normed,
    scaled,
    biased,
    gated,       ///< f(gate) * x, or times a norm
    joined,      ///< a weighted norm + residual
    emitted,     ///< at least one emit<F> of the finished value
    quantized,   ///< an activation, no longer f32 values
    multiplied,  ///< the outputs of the group
    finished     ///< the same, past their epilogue: the end
};

struct flow {
    bool refused = false;  ///< a rule was broken: nothing that follows is looked at
    place at = place::start;
    format_set emitted = {};    ///< formats that the finished value was emitted in
    bool engine_reads = false;  ///< quantized in formats that an engine's own matmuls read
    bool residual = false;      ///< one was added, before the norm or behind it
    bool joined = false;        ///< behind a norm and its weight
    bool again = false;         ///< the second norm stands behind, of what was joined

    /// Was the last op the emit<f32> of a norm's sum with a residual?
    constexpr bool joined_f32() const {
        return joined && !again && emitted == format_set::of(format::f32);
    }

    constexpr flow to(place next) const {
        flow moved = *this;
        moved.at = next;
        return moved;
    }
};

/// What flows out of an op that may not stand there, beside the sentence of the rule that the op
/// breaks: no later rule of the chain is looked at.
inline constexpr flow refused{.refused = true};

/// An op is an empty type. Its minimal complete definition: `lowered` (its stage), `spell(out)`,
/// `after<Before>()` (its type rule), and for the stage's kind `kind`, `apply` (the meaning in
/// double) and `count` (bytes and operations).
template <class T>
concept chain_op = requires(text& out) {
    requires T::is_op;
    T::lowered;
    T::spell(out);
};

/// What a factory of ops returns beside its sentence, so that the chain around it adds no other.
struct refused_op {
    static constexpr bool is_op = true;
    static constexpr stage lowered = {};
    static constexpr void spell(text&) {}
    template <flow Before>
    static constexpr flow after() {
        return refused;
    }
};

}  // namespace catena::chain
