// The values of linear attention by the gated delta rule, as ggml's op makes them. A launch that
// recalls heads is held against the same.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/detail/verify/memory.hpp"

#include <cmath>
#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// What states are asked for: the sizes of heads of values and of keys, and the tokens of each
/// sequence.
struct recalled_shape {
    std::int64_t k = 0, heads = 0, key_heads = 0, tokens = 0, sequences = 0;

    std::int64_t all_tokens() const { return tokens * sequences; }
    std::int64_t values() const { return k * heads * all_tokens(); }
    std::int64_t state() const { return k * k * heads; }
    region whole() const { return rows_at(nullptr, values() + state() * sequences, 1, 0); }
};

/// The operands of the rule, in the order of the op's sources.
struct recalled_from {
    value queries, keys, values, decay, beta, state;
};

/// The values of all tokens, times a number, and behind them the next states.
inline value recalled(const recalled_from& by, const recalled_shape& n, float scale) {
    return single(hash_of(term::recalled, by.queries.hash, by.keys.hash, by.values.hash,
                          by.decay.hash, by.beta.hash, by.state.hash, n.k, n.heads, n.key_heads,
                          n.tokens, n.sequences, bits_of(scale)));
}
inline value values_of(const value& all, const recalled_shape& n) {
    return part_of(all, n.whole(), rows_at(nullptr, n.values(), 1, 0), 0);
}
inline value states_of(const value& all, const recalled_shape& n) {
    return part_of(all, n.whole(), rows_at(nullptr, n.state() * n.sequences, 1, 0),
                   4 * static_cast<std::uint64_t>(n.values()));
}

/// The number with which the op multiplies values of k elements.
inline float recalled_scale(std::int64_t k) { return 1 / std::sqrt(static_cast<float>(k)); }

/// The value of a GATED_DELTA_NET that leaves one state of each sequence; `opaque`: of others.
/// source(slot) is what it reads.
template <class Source>
value recalled_value(const graph_view& view, const tensor& t, const value& opaque,
                     const Source& source) {
    constexpr int sources = 6;
    for (int s = 0; s < sources; ++s)
        if (t.src[s] == no_tensor || view.at(t.src[s]).type != format::f32) return opaque;
    const tensor &q = view.at(t.src[0]), &k = view.at(t.src[1]), &v = view.at(t.src[2]);
    const recalled_shape n{v.ne[0], v.ne[1], k.ne[1], v.ne[2], v.ne[3]};
    const bool fits = t.params[0] == 1 && same_shape(q, k) && k.ne[0] == n.k &&
                      k.ne[2] == n.tokens && k.ne[3] == n.sequences && n.key_heads > 0 &&
                      elements(view.at(t.src[4])) == n.heads * n.all_tokens() &&
                      elements(view.at(t.src[5])) == n.state() * n.sequences &&
                      elements(t) == n.values() + n.state() * n.sequences;
    if (!fits) return opaque;
    return recalled({source(0), source(1), source(2), source(3), source(4), source(5)}, n,
                    recalled_scale(n.k));
}

}  // namespace CATENA_NAMESPACE::proof
