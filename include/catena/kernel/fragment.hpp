// The inner product by integer mma, m16n8k32: a warp has 16 weight rows and up to 8 columns. Lane
// (g, t) = (lane / 4, lane % 4) brings words t and t + 4 of a group, of rows g and g + 8 and of
// column g, and keeps the sums of those rows and columns 2t and 2t + 1. Groups come in the order of
// K, and no lane adds what another has.
#pragma once

#include "catena/kernel/product.hpp"

namespace catena::kernel {

template <policy P, format F>
struct product<P, F, inner_product::mma> {
    static_assert(P.rows == 16 && P.columns == 8, "an mma has 16 rows and 8 columns");
    using form = unpack<F>;
    using scales = group_scales<form::scales, form::mins>;
    static constexpr int quad = 4;  ///< lanes, and the groups of a step
    static constexpr bool whole_steps = block_groups<F> % quad == 0;
    /// A policy for what no other takes: its code is to be small, and may be slower.
    static constexpr bool small = P.activation == activation_source::global;

    real sum[2][2];  ///< [rows g, g + 8][columns 2t, 2t + 1]

    CATENA_FN void clear() {
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i) sum[i / 2][i % 2] = real{0};
    }

    /// Lane t of a quad has the scales of the step's group t, for all four.
    template <int Room, class X>
    CATENA_FN void add(X& x, const matvec_piece& piece, const matvec_columns& u) {
        const int g = x.lane() / quad, t = x.lane() & 3;
        const std::byte* row[2];
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) row[h] = row_of_piece<F, Room>(x, piece, g + 8 * h);
        const std::byte* q8_1 = u.x + (g < u.count ? g : u.count - 1) * u.x_bytes;
        const int groups = piece.values / group_values;
        CATENA_NO_UNROLL
        for (int first = 0; first < groups; first += quad) {
            const int left = groups - first, own = whole_steps || t < left ? t : left - 1;
            const real d = load_scale<P>(x, q8_1 + own * q8_1_bytes);
            scales of_row[2];
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h)
                of_row[h] = weights_of<F>(x, block_of(row[h], own), group_of(first, own));
            const auto add = [&](int j) {
                add_group(x, row, q8_1 + j * q8_1_bytes, first, j, of_row, d);
            };
            if constexpr (small) {
                const int count = whole_steps || left > quad ? quad : left;
                CATENA_NO_UNROLL
                for (int j = 0; j < count; ++j) add(j);
            } else {
                CATENA_UNROLL
                for (int j = 0; j < quad; ++j)
                    if (whole_steps || j == 0 || j < left) add(j);
            }
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) row[h] = next_step(row[h], first);
            q8_1 += quad * q8_1_bytes;
        }
    }

    template <class X, class Finish>
    CATENA_FN void results(X& x, bool pairs, Finish finish) {
        const int g = x.lane() / quad, column = x.lane() % quad * 2, count = pairs ? 2 : 4;
        CATENA_NO_UNROLL
        for (int i = 0; i < count; ++i) {
            const real up = i % 2 == 0 ? sum[1][0] : sum[1][1];
            const real v = i / 2 != 0 ? up : i % 2 == 0 ? sum[0][0] : sum[0][1];
            finish(g + 8 * (i / 2), column + i % 2, v, up);
        }
    }

  private:
    /// A step of four groups is half a block, one, or several.
    CATENA_FN static const std::byte* block_of(const std::byte* step, int j) {
        return step + (block_groups<F> < quad ? j / block_groups<F> * block_bytes<F> : 0);
    }
    CATENA_FN static int group_of(int first, int j) {
        return (block_groups<F> > quad ? first % block_groups<F> : 0) + j % block_groups<F>;
    }
    CATENA_FN static const std::byte* next_step(const std::byte* step, int first) {
        if constexpr (block_groups<F> > quad)
            return step + (first % block_groups<F> == block_groups<F> - quad ? block_bytes<F> : 0);
        else
            return step + quad / block_groups<F> * block_bytes<F>;
    }

    /// Which two words of a group lane t of a quad brings: each word in one lane, of two scales one
    /// of each half. A sum of integers does not depend on who brings what.
    CATENA_FN static int word_of_lane(int t, int i) {
        if constexpr (!has_eights<F>)
            return t + 4 * i;
        else if constexpr (form::scales == 1)
            return form::word_of_eight(t, i);
        else
            return form::word_of_eight(t % 2 + 2 * i, t / 2);
    }

    /// Eights are taken apart once in a quad; of two scales lanes t and t + 2 then exchange a word.
    template <class X>
    CATENA_FN static void words_of_lane(X& x, const std::byte* block, int group, int (&word)[2]) {
        const int t = x.lane() & 3;
        if constexpr (!has_eights<F>) {
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i) {
                int one[1];
                raw_words<F>(x, block, group, t + 4 * i, one);
                word[i] = one[0];
            }
        } else {
            form::eight(x, block, group, t, word);
            if constexpr (form::scales == 2) {
                const bool upper = t >= 2;
                const int kept = upper ? word[1] : word[0], given = upper ? word[0] : word[1];
                const int other = x.shuffle_xor(given, 2);
                word[0] = upper ? other : kept;
                word[1] = upper ? kept : other;
            }
        }
    }

    /// Group j of the step: one mma, and another with ones where the column's sums are wanted.
    template <class X>
    CATENA_FN void add_group(X& x, const std::byte* const (&row)[2], const std::byte* q8_1,
                             int first, int j, const scales (&of_row)[2], real d) {
        const int t = x.lane() & 3, from = x.lane() - t + j;
        unsigned a[4];
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) {  // rows g and g + 8
            int word[2];
            words_of_lane(x, block_of(row[h], j), group_of(first, j), word);
            a[h] = static_cast<unsigned>(word[0]), a[2 + h] = static_cast<unsigned>(word[1]);
        }
        const unsigned b[2] = {load_as<unsigned>(x, q8_1 + 4 + 4 * word_of_lane(t, 0)),
                               load_as<unsigned>(x, q8_1 + 4 + 4 * word_of_lane(t, 1))};
        int dot[form::scales][4] = {}, total[form::scales][4] = {};
        constexpr unsigned ones = 0x01010101u, less = -excess_of<F> & 0xff, each = less * ones;
        if constexpr (form::scales == 1) {
            if constexpr (each != 0) x.mma(dot[0], {each, each, each, each}, b);
            x.mma(dot[0], a, b);
            if constexpr (form::mins) x.mma(total[0], {ones, ones, ones, ones}, b);
        } else {
            CATENA_UNROLL
            for (int p = 0; p < 2; ++p) {
                if constexpr (each != 0) x.mma(dot[p], {each, each}, b[p]);
                x.mma(dot[p], {a[2 * p], a[2 * p + 1]}, b[p]);
                if constexpr (form::mins) x.mma(total[p], {ones, ones}, b[p]);
            }
        }
        real of_ones[2][form::scales];
        CATENA_UNROLL
        for (int i = 0; i < 2 * form::scales; ++i)
            of_ones[i % 2][i / 2] = from_int(total[i / 2][i % 2]);
        const real of_column[2] = {x.shuffle(d, t * 8 + j), x.shuffle(d, t * 8 + 4 + j)};
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) {
            const scales w = of_lane(x, of_row[h], from);
            CATENA_UNROLL
            for (int c = 0; c < 2; ++c) {
                int mine[form::scales];
                CATENA_UNROLL
                for (int p = 0; p < form::scales; ++p) mine[p] = dot[p][2 * h + c];
                sum[h][c] = fma(of_column[c], weighed(w, mine, of_ones[c]), sum[h][c]);
            }
        }
    }

    template <class X>
    CATENA_FN static scales of_lane(X& x, const scales& s, int from) {
        scales w;
        CATENA_UNROLL
        for (int p = 0; p < form::scales; ++p) {
            w.scale[p] = x.shuffle(s.scale[p], from);
            if constexpr (form::mins) w.min[p] = x.shuffle(s.min[p], from);
        }
        return w;
    }
};

}  // namespace catena::kernel
