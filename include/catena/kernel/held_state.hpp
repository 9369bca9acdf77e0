// The state of a head that a warp holds part of: the rows that make eight values of the head. Lane
// t owns elements 4 * (32 j + t) .. + 3 of each row for j = 0, 1, ...
#pragma once

#include "catena/kernel/held_head.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// Which rows of a state a warp holds: those of values_of_warp values of a head, from `first` on.
struct held_rows {
    int size;  ///< numbers of a row
    int head, first;
};

template <class X, row_policy P>
class held_state : protected held_head<X, P> {
    using base = held_head<X, P>;

  protected:
    using base::m_, base::x_, base::held;
    using typename base::quads;

    const int size_, head_, first_;

    /// A row for each value.
    using state_rows = quads[values_of_warp];

    CATENA_FN held_state(X& x, const heads_args& a, const head_member& m, const held_rows& rows)
        : base(x, a, m), size_(rows.size), head_(rows.head), first_(rows.first) {}

    static constexpr int lanes_of_value = warp_size / values_of_warp;
    /// Lanes of four have the same value of the head.
    CATENA_FN int own_value() const { return first_ + x_.lane() / lanes_of_value; }
    CATENA_FN bool first_of_value() const { return x_.lane() % lanes_of_value == 0; }

    /// The product of the row of the lane's own value with v.
    CATENA_FN real product(const state_rows& state, const quads& v) {
        real sums[values_of_warp];
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) {
            sums[i] = real{0};
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int e = 0; e < quad; ++e) sums[i] = fma(state[i][j][e], v[j][e], sums[i]);
        }
        return sums_over_lanes<warp_size>(x_, sums);
    }

    /// Where state `which` lies.
    template <class T>
    CATENA_FN T* state_at(T* states, int which) const {
        return states + distance(which, m_.heads * m_.k * size_);
    }

    /// Loads the warp's rows of a state, one of so many; NaN if there is no such state.
    CATENA_FN void load_state(const float* states, int id, int count, state_rows& state) const {
        const bool there = id >= 0 && id < count;
        const float* const from = state_at(states, there ? id : 0);
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) {
            this->load(row_of(from, i), size_, state[i]);
            if (there) continue;
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int e = 0; e < quad; ++e) state[i][j][e] = from_bits(f32_nan_bits);
        }
    }
    CATENA_FN void store_state(float* to, const state_rows& state) const {
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) this->write(row_of(to, i), size_, state[i]);
    }

  private:
    /// The warp's row i of a state.
    template <class T>
    CATENA_FN T* row_of(T* state, int i) const {
        return row_at(state, {4 * size_, 0, 0}, {head_ * m_.k + first_ + i, 0, 0});
    }
};

}  // namespace CATENA_NAMESPACE::kernel
