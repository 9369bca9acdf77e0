// A head that a warp holds. Lane t owns elements 4 * (32 j + t) .. + 3 of it for j = 0, 1, ...
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/kernel/reduce.hpp"
#include "catena/kernel/row/memory.hpp"
#include "catena/kernel/row/norm.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// The member that has a row of the launch.
CATENA_FN const head_member& member_with(const heads_args& a, int row) {
    int which = 0;
    CATENA_UNROLL
    for (int i = 1; i < max_head_members; ++i)
        if (i < a.members && row >= a.member[i].first_row) which = i;
    return a.member[which];
}

template <class X, row_policy P>
class held_head {
  protected:
    static constexpr int held = P.values / quad;
    using quads = real[held][quad];

    X& x_;
    const heads_args& a_;
    const head_member& m_;

    CATENA_FN held_head(X& x, const heads_args& a, const head_member& m) : x_(x), a_(a), m_(m) {}

    CATENA_FN int at(int j) const { return quad * (j * warp_size + x_.lane()); }

    /// Numbers of a row of k; those past them are zero.
    CATENA_FN void load(const float* row, int k, quads& to) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) load_quad<P.vector>(x_, row, at(j), k, to[j]);
    }
    CATENA_FN void load(const float* row, quads& to) const { load(row, m_.k, to); }
    CATENA_FN void write(float* row, int k, const quads& v) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) store_quad<P.vector>(x_, row, at(j), k, v[j]);
    }
    CATENA_FN void write(float* row, const quads& v) const { write(row, m_.k, v); }
    CATENA_FN void write_f32(int head, int token, const quads& v) const {
        write(row_at(m_.f32, {m_.f32_nb1, m_.f32_nb2, 0}, {head, token, 0}), v);
    }
    CATENA_FN static void scale(real by, quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] * by;
    }

    CATENA_FN real norm_of(const quads& v) {
        real squares{0};
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) squares = fma(v[j][i], v[j][i], squares);
        return over_rms(warp_sum(x_, squares), m_.k, m_.eps);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
