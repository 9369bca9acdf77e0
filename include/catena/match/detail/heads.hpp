// What a launch of heads finds in a graph: values such as Q, K and V on their way to attention,
// each with the nodes that norm, turn and store it.
#pragma once

#include "catena/chain/rotation.hpp"
#include "catena/match/detail/value.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The turn that a ROPE makes: its numbers, the positions of the tokens, and the divisors of
/// angles.
struct head_turn {
    rope_numbers numbers;
    std::int32_t positions = no_tensor, factors = no_tensor;
};

inline bool operator==(const head_turn& a, const head_turn& b) {
    return a.positions == b.positions && a.factors == b.factors &&
           rotation_of(a.numbers) == rotation_of(b.numbers);
}

/// The heads of one value, and the nodes of its chain, which are at most RMS_NORM, MUL, ROPE, SCALE
/// and SET_ROWS. A node is given by its position; -1: there is none.
struct head_chain {
    obstacle why;  ///< reason why no launch takes these heads
    std::int32_t x = no_tensor;
    row_strides at;                 ///< strides of x: head to head, token to token
    std::int64_t k = 0, count = 0;  ///< elements of a head, heads of a token
    std::int64_t tokens = 0;
    std::int32_t norm = -1, mul = -1, rope = -1, scaled = -1, store = -1;
    std::int32_t weight = no_tensor;  ///< weight of the norm
    float eps = 0, scale = 1;
    head_turn turn;        ///< the turn, if there is a ROPE
    bool written = false;  ///< others than the SET_ROWS read the value

    /// The node whose result the value is; -1: x itself, which is only stored.
    std::int32_t made_by() const {
        return scaled >= 0 ? scaled : rope >= 0 ? rope : mul >= 0 ? mul : norm;
    }

    /// f(position) for each node, in the order in which the value passes them.
    template <class F>
    void each_node(const F& f) const {
        for (const std::int32_t n : {norm, mul, rope, scaled, store})
            if (n >= 0) f(n);
    }
};

}  // namespace CATENA_NAMESPACE
