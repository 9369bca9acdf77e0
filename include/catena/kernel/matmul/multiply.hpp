// What a warp does with a stage, by what its weights are: a product for each in this folder, and
// the skeleton knows nothing else about how values are multiplied. Here those of integers: two
// groups of a warp's weight rows at a time are unpacked, a lane each, into memory of its own, and
// multiplied with every column on tensor cores. Each product of a group is an exact integer; f32
// takes over there, group after group.
#pragma once

#include "catena/kernel/matmul/columns.hpp"
#include "catena/kernel/matmul/fill.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Sums of a warp's tile: its mma_rows times mma_columns products at a time, dealt to lanes as mma
/// deals them.
template <matmul_policy P>
using tile_sums = real[P.rows / mma_rows][P.columns / mma_columns][4];

template <matmul_policy P>
CATENA_FN void clear(tile_sums<P>& sum) {
    CATENA_UNROLL
    for (int m = 0; m < P.rows / mma_rows; ++m) {
        CATENA_UNROLL
        for (int n = 0; n < P.columns / mma_columns; ++n) {
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i) sum[m][n][i] = real{0};
        }
    }
}

/// Minimal complete definition of the product of rows of format F and columns of layout L. A warp
/// has one object for a tile:
///
///     // Takes over the arguments of the launch, the tile and the warp's rows.
///     template <class X>
///     stage_product(X& x, const matmul_args& a, const matmul_tile& t,
///                   const weight_rows_of_warp<P, F>& weights);
///     // Asks for what the stage that is being filled, from `value` on, needs besides its copies.
///     template <class X>
///     void ask(X& x, int value);
///     // Stores in the stage what ask asked for, after another stage was multiplied.
///     template <class X>
///     void put(X& x, std::byte* own_rows, std::byte* columns);
///     // Changes the warp's share of a stage's columns, when its copies of `values` are complete.
///     template <class X, class Stream>
///     static void arrived(X& x, Stream& stream, const matmul_tile& t, std::byte* columns,
///                         int values);
///     // Adds the products of the stage that begins at `value` to `sum`.
///     template <class X>
///     void add(X& x, const matmul_tile& t, const weight_rows_of_warp<P, F>& weights,
///              const std::byte* own_rows, const std::byte* columns, int value,
///              const unpacked_rows& unpacked, tile_sums<P>& sum);
///
/// `own_rows` are the weights of the warp, and `columns` the activation of the block, both of the
/// warp's slice.
template <matmul_policy P, format L, format F, format_set W>
struct stage_product;

/// A warp's rows in one group, as mma takes them: q of rows g and g + 8, and what goes with them.
template <int Scales, bool Mins>
struct row_fragment {
    unsigned q[4];
    group_scales<Scales, Mins> of[2];
};

/// The shared memory of a warp's unpacked groups.
struct unpacked_rows {
    std::byte* ints;
    std::byte* scales;

    CATENA_FN std::byte* ints_at(int row, int group) const {
        return ints + row * unpacked_row_bytes + group * group_values;
    }
    CATENA_FN std::byte* scales_at(int row, int group) const {
        return scales + row * unpacked_scale_bytes + group * 16;
    }
};

/// Unpacks groups `first` and, if it exists, first + 1 of the stage: lane l takes group l / 16 of
/// row l % 16.
template <matmul_policy P, format F, int Room, class X>
CATENA_FN void unpack_groups(X& x, const weight_rows_of_warp<P, F>& weights,
                             const std::byte* own_rows, int value, int first, int groups,
                             const unpacked_rows& to) {
    using format_of = unpack<F>;
    const int group = first + x.lane() / mma_rows;
    if (group >= groups) return;
    CATENA_UNROLL
    for (int r = x.lane() % mma_rows; r < P.rows; r += mma_rows) {
        const std::byte* block = own_rows + r * Room + slice_offset<F>(weights.at(r, value)) +
                                 group / block_groups<F> * block_bytes<F>;
        int q[group_words];
        format_of::template words<group_words>(x, block, group % block_groups<F>, 0, q);
        const auto s = format_of::scales_of(x, block, group % block_groups<F>);
        word4 scales{bits_of(s.scale[0]), 0, 0, 0};
        if constexpr (format_of::scales == 2) scales.y = bits_of(s.scale[1]);
        if constexpr (format_of::mins) {
            scales.z = bits_of(-s.min[0]);
            scales.w = bits_of(-s.min[format_of::scales - 1]);
        }
        std::byte* ints = to.ints_at(r, group - first);
        CATENA_UNROLL
        for (int i = 0; i < group_words; i += 4)
            x.store16(ints + 4 * i,
                      word4{static_cast<unsigned>(q[i]), static_cast<unsigned>(q[i + 1]),
                            static_cast<unsigned>(q[i + 2]), static_cast<unsigned>(q[i + 3])});
        x.store16(to.scales_at(r, group - first), scales);
    }
}

template <int Scales, bool Mins, class X>
CATENA_FN row_fragment<Scales, Mins> load_rows(X& x, const unpacked_rows& from, int first_row,
                                               int group) {
    const int row = first_row + x.lane() / 4, word = x.lane() % 4;
    row_fragment<Scales, Mins> a;
    CATENA_UNROLL
    for (int i = 0; i < 4; ++i)
        a.q[i] = load_as<unsigned>(x, from.ints_at(row + i % 2 * 8, group) + i / 2 * 16 + word * 4);
    CATENA_UNROLL
    for (int i = 0; i < 2; ++i) {
        const word4 s = x.load16(from.scales_at(row + i * 8, group));
        a.of[i].scale[0] = from_bits(s.x);
        if constexpr (Scales == 2) a.of[i].scale[1] = from_bits(s.y);
        if constexpr (Mins) a.of[i].min[0] = from_bits(s.z);
        if constexpr (Mins && Scales == 2) a.of[i].min[1] = from_bits(s.w);
    }
    return a;
}

/// sum += what one group of 16 rows and 8 columns contributes. Mins come negated.
template <int Scales, bool Mins, class X>
CATENA_FN void add_group(X& x, const row_fragment<Scales, Mins>& a, const unsigned (&b)[2],
                         const column_pair<Scales, Mins>& c, real (&sum)[4]) {
    int low[4] = {sum_zero, sum_zero, sum_zero, sum_zero};
    [[maybe_unused]] int high[4] = {sum_zero, sum_zero, sum_zero, sum_zero};
    if constexpr (Scales == 1) {
        x.mma(low, a.q, b);
    } else {
        const unsigned first[2] = {a.q[0], a.q[1]}, second[2] = {a.q[2], a.q[3]};
        x.mma(low, first, b[0]);
        x.mma(high, second, b[1]);
    }
    CATENA_UNROLL
    for (int i = 0; i < 4; ++i) {
        const group_scales<Scales, Mins>& row = a.of[i / 2];
        const real d = c.d[i % 2];
        if constexpr (Scales == 1)
            sum[i] = fma(exact_sum(low[i]), row.scale[0] * d, sum[i]);
        else
            sum[i] = fma(fma(exact_sum(high[i]), row.scale[1], exact_sum(low[i]) * row.scale[0]), d,
                         sum[i]);
        if constexpr (Mins) {
            CATENA_UNROLL
            for (int half = 0; half < Scales; ++half)
                sum[i] = fma(row.min[half], c.sum[half][i % 2], sum[i]);
        }
    }
}

/// A product whose scales, where it has some, come with the copies: nothing is fetched apart.
struct nothing_apart {
    template <class X, class Weights>
    CATENA_FN nothing_apart(X&, const matmul_args&, const matmul_tile&, const Weights&) {}
    template <class X>
    CATENA_FN void ask(X&, int) {}
    template <class X>
    CATENA_FN void put(X&, std::byte*, std::byte*) {}
};

template <matmul_policy P, format L, format F, format_set W>
struct stage_product : nothing_apart {
    using nothing_apart::nothing_apart;
    static constexpr int scales = unpack<F>::scales;
    static constexpr bool mins = unpack<F>::mins;

    template <class X, class Stream>
    CATENA_FN static void arrived(X&, Stream&, const matmul_tile&, std::byte*, int) {}

    template <class X>
    CATENA_FN static void add(X& x, const matmul_tile& t, const weight_rows_of_warp<P, F>& weights,
                              const std::byte* own_rows, const std::byte* columns, int value,
                              const unpacked_rows& unpacked, tile_sums<P>& sum) {
        constexpr int parts = mmq_values / group_values;
        const int values = weights.k - value < P.piece ? weights.k - value : P.piece;
        const int groups = values / group_values;
        const int g = x.lane() / 4, q = x.lane() % 4;
        CATENA_NO_UNROLL
        for (int group = 0; group < groups; ++group) {
            const int side = group % unpacked_groups;
            if (side == 0) {
                x.sync_warp();
                unpack_groups<P, F, weight_room<P, W>>(x, weights, own_rows, value, group, groups,
                                                       unpacked);
                x.sync_warp();
            }
            row_fragment<scales, mins> a[P.rows / mma_rows];
            CATENA_UNROLL
            for (int m = 0; m < P.rows / mma_rows; ++m)
                a[m] = load_rows<scales, mins>(x, unpacked, m * mma_rows, side);
            const int part = group % parts;
            const std::byte* blocks = columns + group / parts * P.columns * mmq_bytes;
            const std::byte* ints = blocks + g * mmq_bytes + 16 + part * group_values + 4 * q;
            const std::byte* heads = blocks + 2 * q * mmq_bytes;
            CATENA_UNROLL
            for (int n = 0; n < P.columns / mma_columns; ++n) {
                if (n > 0 && n * mma_columns >= t.columns) continue;
                const int at = n * mma_columns * mmq_bytes;
                const unsigned b[2] = {load_as<unsigned>(x, ints + at),
                                       load_as<unsigned>(x, ints + at + 16)};
                const auto c = load_columns<L, scales, mins>(x, heads + at, part, b);
                CATENA_UNROLL
                for (int m = 0; m < P.rows / mma_rows; ++m) add_group(x, a[m], b, c, sum[m][n]);
            }
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
