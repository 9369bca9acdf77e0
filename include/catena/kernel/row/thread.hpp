// One thread of a row: which elements are its own, how it reads them, and what all threads of the
// row sum up together.
#pragma once

#include "catena/kernel/reduce.hpp"
#include "catena/kernel/row/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// Thread t owns elements 4 * (j * team + t) .. + 3 for j = 0, 1, ...: `held` quads of them at a
/// time.
template <class X, row_policy P>
struct row_thread {
    static constexpr int rows = rows_of_block(P);
    static constexpr int team = P.threads / rows;  ///< threads of a row
    static constexpr bool kept = P.values > 0;     ///< does a thread keep its elements?
    static constexpr int held = kept ? P.values / quad : 1;
    static constexpr bool roomy = kept && P.values <= 8;  ///< room for a stage's operands too
    static constexpr int stride = team * quad;
    static constexpr int slots_abreast = catena::slots_abreast(P);
    using quads = real[held][quad];

    X& x;
    const row_args& a;
    const row_place place;
    const int row;
    const int first;       ///< the first element that the thread owns
    float* const meeting;  ///< where warps meet
    int meetings = 0;

    CATENA_FN row_thread(X& machine, const row_args& args, int which, int thread, float* where)
        : x(machine),
          a(args),
          place(place_of(args, which)),
          row(which),
          first(thread * quad),
          meeting(where) {}

    /// Past the row values are zeros, from loading to writing: quantized blocks reach there.
    CATENA_FN bool inside(int at, int j, int i) const { return at + j * stride + i < a.k; }

    CATENA_FN void load_quad_of(const float* row_start, int at, int j, real (&to)[quad]) const {
        load_quad<P.vector>(x, row_start, at + j * stride, a.k, to);
    }
    CATENA_FN void load_row(const float* row_start, int at, quads& to) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) load_quad_of(row_start, at, j, to[j]);
    }
    CATENA_FN void store_row(float* row_start, int at, const quads& v) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            store_quad<P.vector>(x, row_start, at + j * stride, a.k, v[j]);
    }
    template <class Narrow>
    CATENA_FN void store_row_16(std::uint16_t* row_start, int at, const quads& v,
                                Narrow narrow) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            store_quad<P.vector>(x, row_start, at + j * stride, a.k, v[j], narrow);
    }

    template <class T, class Combine>
    CATENA_FN T over_row(T value, Combine combine) {
        float* where = meeting;
        if constexpr (team > warp_size) where += meetings++ * (team / warp_size);
        return over_threads<team>(x, value, where, combine);
    }

    /// The sum of `term` of every element of the row, each thread's in sequence. What is not kept,
    /// `make` makes.
    template <class Make, class Term>
    CATENA_FN real sum_of_row(quads& v, Make make, Term term) {
        real sum{0};
        const auto add = [&](int at) {
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int i = 0; i < quad; ++i) sum = term(sum, v[j][i], inside(at, j, i));
        };
        if constexpr (kept) {
            add(first);
        } else {
            for (int at = first; at < a.k; at += stride) {
                make(at);
                add(at);
            }
        }
        return over_row(sum, [](real p, real q) { return p + q; });
    }

    CATENA_FN static void add(const quads& other, quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] + other[j][i];
    }
    CATENA_FN static void scale(real by, quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] * by;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
