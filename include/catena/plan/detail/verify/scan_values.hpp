// The values of the scan of a state space (Mamba-2), as ggml's op makes them. A launch that scans
// is held against the same.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/detail/verify/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// The sizes of what is scanned: numbers of the state for a value, values of a head, heads, groups
/// of b and c, and the tokens of each sequence.
struct scanned_shape {
    std::int64_t size = 0, k = 0, heads = 0, groups = 0, tokens = 0, sequences = 0;

    std::int64_t all_tokens() const { return tokens * sequences; }
    std::int64_t values() const { return k * heads * all_tokens(); }
    std::int64_t state() const { return size * k * heads; }
    region whole() const { return rows_at(nullptr, values() + state() * sequences, 1, 0); }
};

/// The operands of a scan, in the order of the op's sources.
struct scanned_from {
    value state, x, dt, a, b, c, ids;
};

/// The values of all tokens, and behind them the next states.
inline value scanned(const scanned_from& by, const scanned_shape& n) {
    return single(hash_of(term::scanned, by.state.hash, by.x.hash, by.dt.hash, by.a.hash, by.b.hash,
                          by.c.hash, by.ids.hash, n.size, n.k, n.heads, n.groups, n.tokens,
                          n.sequences));
}
inline value values_of(const value& all, const scanned_shape& n) {
    return part_of(all, n.whole(), rows_at(nullptr, n.values(), 1, 0), 0);
}
inline value states_of(const value& all, const scanned_shape& n) {
    return part_of(all, n.whole(), rows_at(nullptr, n.state() * n.sequences, 1, 0),
                   4 * static_cast<std::uint64_t>(n.values()));
}

/// A number of each head for all its values, of all tokens.
inline value of_heads(const value& numbers, const scanned_shape& n) {
    spreading s;
    s.add(n.k, true);
    s.add(n.heads, false);
    s.add(n.all_tokens(), true);
    return s.of(numbers);
}

/// The value of an SSM_SCAN whose heads have one decay each, and that leaves one state of each
/// sequence; `opaque`: of others. source(slot) is what it reads.
template <class Source>
value scanned_value(const graph_view& view, const tensor& t, const value& opaque,
                    const Source& source) {
    constexpr int numbers = 6, ids = 6;
    for (int s = 0; s < numbers; ++s)
        if (t.src[s] == no_tensor || view.at(t.src[s]).type != format::f32) return opaque;
    if (t.src[ids] == no_tensor || view.at(t.src[ids]).type != format::i32) return opaque;
    const tensor &state = view.at(t.src[0]), &x = view.at(t.src[1]), &dt = view.at(t.src[2]),
                 &a = view.at(t.src[3]), &b = view.at(t.src[4]);
    const scanned_shape n{state.ne[0], x.ne[0], x.ne[1], b.ne[1], x.ne[2], x.ne[3]};
    const bool of_states = state.ne[1] == n.k && state.ne[2] == n.heads &&
                           elements(view.at(t.src[ids])) == n.sequences;
    const bool of_tokens = dt.ne[0] == n.heads && dt.ne[1] == n.tokens &&
                           elements(dt) == n.heads * n.all_tokens() && b.ne[0] == n.size &&
                           b.ne[2] == n.tokens && b.ne[3] == n.sequences &&
                           same_shape(b, view.at(t.src[5]));
    const bool fits = t.params[0] == 1 && a.ne[0] == 1 && elements(a) == n.heads && of_states &&
                      of_tokens && n.groups > 0 && n.heads % n.groups == 0 &&
                      elements(t) == n.values() + n.state() * n.sequences;
    if (!fits) return opaque;
    return scanned({source(0), source(1), source(2), source(3), source(4), source(5), source(ids)},
                   n);
}

/// The source that has as many elements as a node has values in front of a state that it leaves
/// behind them; -1: it leaves none.
constexpr int source_of_values(op kind) {
    return kind == op::gated_delta_net ? 2 : kind == op::ssm_scan ? 1 : -1;
}

}  // namespace CATENA_NAMESPACE::proof
