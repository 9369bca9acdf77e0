// The values between the logits of experts and their weights, as ops of ggml make them. A launch of
// routing is held against the same.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/detail/verify/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

inline value soft_maxed(const value& v, std::int64_t k) {
    return single(hash_of(term::soft_max, v.hash, k));
}

/// The numbers of the elements of each row of k, the largest first.
inline value sorted(const value& v, std::int64_t k) {
    return single(hash_of(term::sorted, v.hash, k));
}

/// The first `count` of each of `rows` rows of k.
inline value first_of(const value& all, std::int64_t k, std::int64_t count, std::int64_t rows) {
    const region whole = rows_at(nullptr, k, rows, 4 * k);
    const region first = rows_at(nullptr, count, rows, 4 * k);
    return first.same_elements(whole) ? all : part_of(all, whole, first, 0);
}

/// The rows of k elements that ids pick of each token's.
inline value picked_rows(const value& rows, const value& ids, std::int64_t k) {
    return k == 1 ? single(hash_of(term::picked, rows.hash, ids.hash))
                  : single(hash_of(term::picked, rows.hash, ids.hash, k));
}

/// A number everywhere, but for the rows of k elements that ids name.
inline value masked(std::int32_t number, const value& rows, const value& ids, std::int64_t k,
                    std::int64_t count) {
    return single(
        hash_of(term::masked, static_cast<std::uint32_t>(number), rows.hash, ids.hash, k, count));
}

/// The sum of each row of k.
inline value summed(const value& v, std::int64_t k) {
    return single(hash_of(term::row_sum, v.hash, k));
}

inline value bounded(const value& v, float least, float most) {
    return single(hash_of(term::bounded, v.hash, bits_of(least), bits_of(most)));
}

inline value softplus(const value& v) { return single(hash_of(term::softplus, v.hash)); }
inline value root(const value& v) { return single(hash_of(term::root, v.hash)); }

inline value divided(const value& v, const value& by) {
    return single(hash_of(term::quotient, v.hash, by.hash));
}

/// The value of such a node; `opaque`: of one that is none. source(slot) is what it reads.
template <class Source>
value routing_value(const graph_view& view, const tensor& t, const value& opaque,
                    const Source& source) {
    constexpr std::int32_t one = 0x3f800000;
    const auto has = [&](int slot) { return t.src[slot] != no_tensor; };
    if (!has(0)) return opaque;
    const tensor& s = view.at(t.src[0]);
    if (s.type != format::f32) return opaque;
    switch (t.kind) {
        case op::soft_max:
            return !has(1) && same_shape(s, t) && t.params[0] == one && t.params[1] == 0
                       ? soft_maxed(source(0), t.ne[0])
                       : opaque;
        case op::argsort:
            return t.params[0] == 1 && same_shape(s, t) ? sorted(source(0), t.ne[0]) : opaque;
        case op::unary:
            return t.sub == sub_op::softplus && same_shape(s, t) ? softplus(source(0)) : opaque;
        case op::sqrt:
            return same_shape(s, t) ? root(source(0)) : opaque;
        case op::sum_rows:
            return t.ne[0] == 1 && same_rows(s, t) ? summed(source(0), s.ne[0]) : opaque;
        case op::clamp: {
            float bounds[2];
            std::memcpy(bounds, t.params, sizeof bounds);
            return same_shape(s, t) ? bounded(source(0), bounds[0], bounds[1]) : opaque;
        }
        case op::get_rows: {
            if (!has(1)) return opaque;
            const tensor& ids = view.at(t.src[1]);
            const bool fits = s.ne[2] == ids.ne[1] && s.ne[3] == ids.ne[2] && ids.ne[3] == 1 &&
                              t.ne[0] == s.ne[0] && t.ne[1] == ids.ne[0] && t.ne[2] == ids.ne[1] &&
                              t.ne[3] == ids.ne[2];
            // A valid id picks the only row that a node makes. What a leaf holds, such as states,
            // is picked by its number all the same.
            if (fits && one_row(s) && one_row(t) && !launches_nothing(s.kind)) return source(0);
            return fits ? picked_rows(source(0), source(1), s.ne[0]) : opaque;
        }
        case op::set_rows: {  // into what a FILL made
            if (!has(1) || !has(2) || t.type != format::f32) return opaque;
            const tensor& ids = view.at(t.src[1]);
            const bool fits = s.ne[0] == t.ne[0] && s.ne[1] == ids.ne[0] && s.ne[2] == ids.ne[1] &&
                              t.ne[2] == s.ne[2] && s.ne[3] == 1 && t.ne[3] == 1 &&
                              ids.ne[2] == 1 && ids.ne[3] == 1 && ids.type == format::i32;
            return fits
                       ? masked(view.at(t.src[2]).params[0], source(0), source(1), t.ne[0], t.ne[1])
                       : opaque;
        }
        default:
            return opaque;
    }
}

}  // namespace CATENA_NAMESPACE::proof
