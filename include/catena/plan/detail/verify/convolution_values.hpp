// The values of a convolution, as ops of ggml make them. A launch that convolves is held against
// the same.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/detail/verify/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// The sizes of what is convolved: the taps of a channel, and the tokens of each sequence.
struct convolved_shape {
    std::int64_t length = 0, tokens = 0, channels = 0, sequences = 0;

    std::int64_t kept() const { return length - 1; }
};

/// For each channel of each sequence: the values of its state and then those of the tokens.
inline value joined(const value& state, const value& x, const convolved_shape& n) {
    return single(
        hash_of(term::joined, state.hash, x.hash, n.kept(), n.tokens, n.channels, n.sequences));
}

/// The last values of each channel of each sequence, as many as a state has.
inline value last_of(const value& joined, const convolved_shape& n) {
    const std::int64_t own = n.kept() + n.tokens, rows = n.channels * n.sequences;
    return part_of(joined, rows_at(nullptr, own, rows, 4 * own),
                   rows_at(nullptr, n.kept(), rows, 4 * own),
                   static_cast<std::uint64_t>(4 * n.tokens));
}

inline value convolved(const value& joined, const value& taps, const convolved_shape& n) {
    return single(hash_of(term::convolved, joined.hash, taps.hash, n.length, n.tokens, n.channels,
                          n.sequences));
}

/// The value of such a node; `opaque`: of one that is none. source(slot) is what it reads.
template <class Source>
value convolution_value(const graph_view& view, const tensor& t, const value& opaque,
                        const Source& source) {
    if (t.src[0] == no_tensor || t.src[1] == no_tensor) return opaque;
    const tensor &a = view.at(t.src[0]), &b = view.at(t.src[1]);
    if (a.type != format::f32 || b.type != format::f32 || t.ne[3] != 1) return opaque;
    if (t.kind == op::concat) {
        const bool rows =
            t.params[0] == 0 && same_rows(a, t) && same_rows(b, t) && a.ne[0] + b.ne[0] == t.ne[0];
        return rows ? joined(source(0), source(1), {a.ne[0] + 1, b.ne[0], t.ne[1], t.ne[2]})
                    : opaque;
    }
    const bool fits = t.kind == op::ssm_conv && a.ne[0] == b.ne[0] - 1 + t.ne[1] &&
                      a.ne[1] == t.ne[0] && a.ne[2] == t.ne[2] && a.ne[3] == 1 &&
                      b.ne[1] == t.ne[0] && elements(b) == b.ne[0] * b.ne[1];
    return fits ? convolved(source(0), source(1), {b.ne[0], t.ne[1], t.ne[0], t.ne[2]}) : opaque;
}

}  // namespace CATENA_NAMESPACE::proof
