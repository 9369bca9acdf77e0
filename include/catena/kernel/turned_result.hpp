// The epilogue of a matvec whose results are heads of one token, such as Q, K and V: a result gets
// its bias, is turned with its partner, and is written as f32 and into a row of a cache.
//
// A warp has both rows of each pair: of the rows of a group, the second half has the partners of
// the first. Bands count pairs, so neighboring bands may have rows of one head. What turns a row
// is looked up before the products, for all groups of a warp at once: a lane has a row.
#pragma once

#include "catena/kernel/epilogue.hpp"
#include "catena/kernel/turn.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// A row of a matrix as one of the two of a pair.
struct paired_row {
    int row;      ///< of the matrix
    int partner;  ///< the other one
    int pair;     ///< number of the pair in its head; 0 if the head is not turned
};

/// The first or the second row of pair `pair`. Elements that are not turned by halves make pairs
/// with their neighbors.
CATENA_FN paired_row row_of_pair(const head_group& a, const head_member& m, int pair, bool second) {
    int first = 2 * pair, away = 1, own = 0;
    if (m.turned) {
        const unsigned in_head = static_cast<unsigned>(m.k) / 2u;
        own = static_cast<int>(static_cast<unsigned>(pair) % in_head);
        const int half = a.turn.pairs == pairing::neighbors ? 0 : a.turn.dims / 2;
        if (own < half) first -= own, away = half;
    }
    return {second ? first + away : first, second ? first : first + away, own};
}

/// What a result needs as an element of a head. Its partner, times `sine`, is added to the result
/// times `cosine`.
struct turned_element {
    int row = 0;
    bool turned = false;
    real sine{0}, cosine{1};
    real bias{-0.0f}, other_bias{-0.0f};  ///< that of the partner
};

/// What a lane looks up: of all rows that its warp has, that of the lane's number, group by group.
template <matvec_policy P>
class row_lookup {
  public:
    /// Before the wait: what does not depend on the token. `pair`: that of the lane's row, of a
    /// band that ends at `end`.
    CATENA_FN void begin(const head_group& a, const head_member& m, int pair, int end,
                         bool second) {
        there_ = pair < end;
        at_ = row_of_pair(a, m, there_ ? pair : 0, second);
        own_.row = at_.row;
        own_.turned = m.turned && at_.pair < a.turn.dims / 2;
        second_ = second;
        if (own_.turned) by_ = frequency::of(a.turn, at_.pair);
    }

    /// Behind the wait: all that is in memory, in flight at once.
    template <class X>
    CATENA_FN void load(X& x, const matvec_args& a, const matvec_band& b) {
        const head_member& m = *b.head;
        if (m.cache != nullptr) cache_row_ = cache_row(x, m, 0);
        if (b.member->bias != nullptr && there_) {
            own_.bias = x.load(b.member->bias + at_.row);
            own_.other_bias = x.load(b.member->bias + at_.partner);
        }
        if (!own_.turned) return;
        position_ = from_int(x.load(a.heads.positions));
        factor_ = factor_of(x, a.heads, at_.pair);
    }

    /// When that is there.
    CATENA_FN void turn(const head_group& a) {
        if (!own_.turned) return;
        const direction d = direction_of(a, by_, position_, factor_);
        own_.sine = second_ ? d.sine : -d.sine;
        own_.cosine = d.cosine;
    }

    /// What lane `of` has looked up. All lanes.
    template <class X>
    CATENA_FN turned_element of_lane(X& x, int of) const {
        const int row = x.shuffle(own_.row * 2 + (own_.turned ? 1 : 0), of);
        return {row / 2,
                row % 2 != 0,
                x.shuffle(own_.sine, of),
                x.shuffle(own_.cosine, of),
                x.shuffle(own_.bias, of),
                x.shuffle(own_.other_bias, of)};
    }

    /// The row of the cache of the one token.
    CATENA_FN std::int64_t row_of_cache() const { return cache_row_; }

  private:
    bool there_ = false, second_ = false;
    paired_row at_{};
    frequency by_;
    turned_element own_;
    real position_{0}, factor_{1};
    std::int64_t cache_row_ = -1;
};

template <class X>
CATENA_FN void store_element(X& x, const head_member& m, std::int64_t cache_row, int row, real v) {
    if (cache_row < 0 || cache_row >= m.cache_rows) return;
    std::byte* const to =
        static_cast<std::byte*>(m.cache) + distance(static_cast<int>(cache_row), m.cache_nb);
    if (m.cache_type == format::f32)
        x.store(reinterpret_cast<float*>(to) + row, v);
    else
        x.store(reinterpret_cast<std::uint16_t*>(to) + row,
                m.cache_type == format::f16 ? to_half(v) : to_bfloat16(v));
}

/// One result: the products of a row and of its partner with the one column.
template <class X>
CATENA_FN void finish_element(X& x, const matvec_band& b, std::int64_t cache_row,
                              const turned_element& e, real v, real other) {
    const head_member& h = *b.head;
    v = v + e.bias;
    if (e.turned) v = fma(v, e.cosine, (other + e.other_bias) * e.sine);
    v = v * real{h.scale};
    if (b.member->dst != nullptr) x.store(b.member->dst + e.row, v);
    if (h.cache != nullptr) store_element(x, h, cache_row, e.row, v);
}

}  // namespace CATENA_NAMESPACE::kernel
