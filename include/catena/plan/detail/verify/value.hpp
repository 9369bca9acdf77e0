// Symbolic values of a proof. Two values are equal here exactly if real arithmetic makes them equal
// by the rules of sums and products: their terms and factors may stand in any order. Rounding is
// not looked at. A value is 64 bits of hash, so that a proof takes time linear in the graph.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/rotation.hpp"
#include "catena/plan/detail/verify/gates.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE::proof {

/// The kind of value that a hash stands for.
enum class term : std::uint64_t {
    initial = 1,  ///< memory before the graph runs
    made,         ///< the result of a node of the engine
    scratch,      ///< what such a node leaves behind its result
    part,         ///< a part of another value, by offset and shape
    pieces,       ///< memory that several nodes wrote
    number,
    spread,  ///< repeated over some dimensions
    sum,
    product,
    rms_norm,
    layer_norm,
    function,
    own,           ///< an engine's own op, by its number
    clamped_gate,  ///< swiglu_oai, whose sides do not commute
    matmul,
    picked,  ///< a row for each expert id
    turned,  ///< heads, by the positions of their tokens
    stored,  ///< memory of a cache, into which rows were written
    soft_max,
    sorted,  ///< numbers of elements, the largest first
    row_sum,
    bounded,
    quotient,
    softplus,  ///< log(1 + e^v)
    root,
    masked,     ///< a number, with some rows in its place
    joined,     ///< rows of two values, one behind the other
    convolved,  ///< channels, by their taps
    recalled,   ///< values of heads that a state recalls, and behind them its next state
    scanned,    ///< values of heads that state spaces give, and behind them the next states
    attended,   ///< what queries attend to
    shape
};

inline std::uint64_t mixed(std::uint64_t h, std::uint64_t word) {
    h = (h ^ word) * 0x9fb21c651e98df25u;
    return h ^ h >> 32;
}

template <class... Words>
std::uint64_t hash_of(term t, Words... words) {
    std::uint64_t h = mixed(0x9e3779b97f4a7c15u, static_cast<std::uint64_t>(t));
    ((h = mixed(h, static_cast<std::uint64_t>(words))), ...);
    return h;
}

inline std::uint64_t bits_of(float f) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &f, sizeof bits);
    return bits;
}

struct value {
    enum class form : std::uint8_t { single, sum, product };
    std::uint64_t hash = 0;
    std::uint64_t parts = 0;  ///< hashes of terms or factors, added up: their order is lost
    form kind = form::single;
};

inline bool operator==(const value& a, const value& b) { return a.hash == b.hash; }
inline bool operator!=(const value& a, const value& b) { return a.hash != b.hash; }

inline value single(std::uint64_t hash) { return {hash, hash, value::form::single}; }

inline value plus(const value& a, const value& b) {
    const auto terms = [](const value& v) { return v.kind == value::form::sum ? v.parts : v.hash; };
    const std::uint64_t parts = terms(a) + terms(b);
    return {hash_of(term::sum, parts), parts, value::form::sum};
}

inline value times(const value& a, const value& b) {
    const auto factors = [](const value& v) {
        return v.kind == value::form::product ? v.parts : v.hash;
    };
    const std::uint64_t parts = factors(a) + factors(b);
    return {hash_of(term::product, parts), parts, value::form::product};
}

inline value times(const value& v, float number) {
    return number == 1 ? v : times(v, single(hash_of(term::number, bits_of(number))));
}

/// 1 / rms of rows of k, whose values have a hash.
inline value over_rms(std::uint64_t of, float eps, std::int64_t k) {
    return single(hash_of(term::rms_norm, of, bits_of(eps), k));
}

/// The norm of rows of k: a row times its 1 / rms. A layer_norm subtracts the row's mean first.
inline value normed(term kind, const value& v, float eps, std::int64_t k) {
    if (kind == term::rms_norm) return times(v, over_rms(v.hash, eps, k));
    return single(hash_of(kind, v.hash, bits_of(eps), k));
}

/// Heads of k elements, `count` for each token, turned. `positions` and `factors` are values; of no
/// factors 0.
inline value turned(const value& v, const rotation& by, std::int64_t k, std::int64_t count,
                    std::uint64_t positions, std::uint64_t factors) {
    std::uint64_t h =
        hash_of(term::turned, v.hash, by.pairs, by.dims, by.first, k, count, positions, factors);
    for (const std::int32_t s : by.section) h = mixed(h, static_cast<std::uint64_t>(s));
    for (const float f :
         {by.log2_ratio, by.rest, by.scale, by.mix, by.ramp_from, by.ramp_by, by.magnitude})
        h = mixed(h, bits_of(f));
    return single(h);
}

/// The value of a cache in which the rows of a value have replaced those that `ids` name.
inline value stored(const value& before, const value& rows, format type, std::uint64_t ids,
                    bool of_64_bits) {
    return single(hash_of(term::stored, before.hash, rows.hash, type, ids, of_64_bits));
}

/// f(x), and f(x) * y.
inline value function_of(const gate_formula& f, const value& x) {
    return single(hash_of(term::function, f.by, bits_of(f.slope), f.times_x, f.limited, x.hash));
}
inline value gated(const gate_formula& f, const value& x, const value& y, float alpha,
                   float limit) {
    if (f.limited)
        return single(
            hash_of(term::clamped_gate, f.by, x.hash, y.hash, bits_of(alpha), bits_of(limit)));
    return times(function_of(f, x), y);
}

/// f(gate) of a launch, or nothing at all for a plain product. The numbers are those of an engine's
/// own op, whatever that computes.
inline value function_of(gate_function f, const value& gate, const op_numbers& numbers = {}) {
    if (f == gate_function::none) return gate;
    if (is_own(f))
        return single(hash_of(term::own, f, bits_of(numbers.a), bits_of(numbers.b), gate.hash));
    const value once = function_of(formula_of(f), gate);
    return f == gate_function::relu_squared ? times(once, once) : once;
}

/// f(gate) * v of a launch.
inline value gated(gate_function f, const value& gate, const value& v, float alpha, float limit) {
    if (formula_of(f).limited) return gated(formula_of(f), gate, v, alpha, limit);
    return times(function_of(f, gate, {alpha, limit}), v);
}

}  // namespace CATENA_NAMESPACE::proof
