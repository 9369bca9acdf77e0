// The inner product by integer mma, m16n8k32: a warp has 16 weight rows and up to 8 columns. Lane
// (g, t) = (lane / 4, lane % 4) brings words t and t + 4 of a group, of rows g and g + 8 and of
// column g, and keeps the sums of those rows and columns 2t and 2t + 1. Groups come in the order of
// K, and no lane adds what another has.
#pragma once

#include "catena/kernel/product.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

template <matvec_policy P, format F>
struct product<P, F, inner_product::mma> {
    using form = unpack<F>;
    /// Words are multiplied with their scale, an integer, before a tensor core adds their products.
    static constexpr bool scaled_words = has_integer_scales<F>;
    static constexpr int parts = scaled_words ? 1 : form::scales;
    using weights = group_scales<parts, form::mins>;
    static constexpr int quad = 4;  ///< lanes, and the groups of a step
    static constexpr int steps = block_groups<F> > quad ? block_groups<F> / quad : 1;  ///< a block
    static_assert(steps <= 2, "a block has 8 groups at most");
    static constexpr bool whole_steps = block_groups<F> % quad == 0;
    /// A policy for what no other takes: its code is to be small, and may be slower.
    static constexpr bool small = P.activation == activation_source::global;

    /// Floats of exact sums without conversions, which the integer pipe would make: 1.5 * 2^23 is
    /// added to begin with, and taken off. In small code the registers for it cost more.
    static constexpr bool converts = small ? parts == 1 : scaled_words && form::mins;
    static constexpr int zero = converts ? 0 : sum_zero;
    CATENA_FN static real number(int sum) { return converts ? from_int(sum) : exact_sum(sum); }

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
        for (int h = 0; h < 2; ++h) row[h] = row_of_piece<F, P.rows, Room>(x, piece, g + 8 * h);
        const std::byte* q8_1 = u.x + (g < u.count ? g : u.count - 1) * u.x_bytes;
        const int groups = piece.values / group_values;
        // A step whose groups are all there has no branches, so that ptxas can mix their
        // instructions.
        const auto step = [&]<bool All>(int at, std::bool_constant<All>) {
            const int left = groups - at, first = steps == 2 ? at & quad : 0;
            const int own = All || t < left ? t : left - 1;
            const real d = load_scale(x, q8_1 + own * q8_1_bytes);
            row_scales of_row[2];
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) of_row[h] = scales_of_row(x, row[h], first, own);
            step_sums of_step{};
            const auto add = [&](int j) {
                add_group(x, row, q8_1 + j * q8_1_bytes, first, j, of_row, d, of_step);
            };
            if constexpr (All && !small) {
                CATENA_UNROLL
                for (int j = 0; j < quad; ++j) add(j);
            } else {
                const int count = whole_steps || left > quad ? quad : left;
                CATENA_NO_UNROLL
                for (int j = 0; j < count; ++j) add(j);
            }
            if constexpr (scaled_words) {
                CATENA_UNROLL
                for (int i = 0; i < 4; ++i) {
                    const weights& w = of_row[i / 2].of_block;
                    real& v = sum[i / 2][i % 2];
                    v = fma(w.scale[0], of_step.product[i / 2][i % 2], v);
                    if constexpr (form::mins) v = fma(-w.min[0], of_step.sum[i / 2][i % 2], v);
                }
            }
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) row[h] += step_bytes(first);
            q8_1 += quad * q8_1_bytes;
        };
        constexpr bool all = !small || whole_steps;     // groups of a step in the loop are there
        constexpr bool apart = !small && !whole_steps;  // what is left of a step
        int at = 0;
        CATENA_NO_UNROLL
        for (; apart ? at + quad <= groups : at < groups; at += quad)
            step(at, std::bool_constant<all>{});
        if constexpr (apart)
            if (at < groups) step(at, std::false_type{});
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

    /// The sums of a team's warps are added up in their order, each result by one of the team's
    /// lanes; rows of a column lie next to each other. `handed` is the team's stage that all its
    /// warps have multiplied, or are about to have.
    template <class X, class Finish>
    CATENA_FN void results_of_team(X& x, bool pairs, float* handed, Finish finish) {
        const int g = x.lane() / quad, column = x.lane() % quad * 2;
        const int slice = x.warp() % P.slices;
        float* const own = handed + slice * handed_floats;
        x.sync();  // the stage is read
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i)
            x.store(own + (column + i % 2) * handed_stride + g + 8 * (i / 2), sum[i / 2][i % 2]);
        x.sync();
        const int rows = pairs ? mma_rows / 2 : mma_rows,
                  lane = x.thread() % (P.slices * warp_size);
        const int row = lane % rows, of_column = lane / rows, to_up = pairs ? rows : 0;
        if (of_column >= mma_columns) return;
        const float* from = handed + of_column * handed_stride + row;
        real v = x.load(from), up = x.load(from + to_up);
        CATENA_NO_UNROLL
        for (int s = 1; s < P.slices; ++s) {
            from += handed_floats;
            v = v + x.load(from);
            up = up + x.load(from + to_up);
        }
        finish(row, of_column, v, up);
    }

  private:
    /// Integer scales: sums of a step that are still to be multiplied with the block's factors.
    struct step_sums {
        real product[2][2], sum[2][2];
    };

    /// The scales that a lane keeps for a row in a step: those of its own group. With integer
    /// scales it keeps the factors of the block, and for two groups the scale of the lane's half. A
    /// min stands four times in a word.
    struct row_scales {
        weights of_group;
        weights of_block;
        integer_scale of_half[2];
    };

    template <class X>
    CATENA_FN static row_scales scales_of_row(X& x, const std::byte* row, int first, int own) {
        row_scales s{};
        if constexpr (scaled_words) {
            static_assert(block_groups<F> % quad == 0, "a step lies in one block");
            const int t = x.lane() & 3;
            s.of_block = form::factors_of(x, row);
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i)
                s.of_half[i] = form::integers_of(x, row, group_of(first, t % 2 + 2 * i), t / 2);
        } else {
            s.of_group = weights_of<F>(x, block_of(row, own), group_of(first, own));
        }
        return s;
    }

    /// A step of four groups is half a block, one, or several.
    CATENA_FN static const std::byte* block_of(const std::byte* step, int j) {
        return step + (block_groups<F> < quad ? j / block_groups<F> * block_bytes<F> : 0);
    }
    CATENA_FN static int group_of(int first, int j) { return first + j % block_groups<F>; }
    CATENA_FN static int step_bytes(int first) {
        if constexpr (steps == 2)
            return first != 0 ? block_bytes<F> : 0;
        else
            return quad / block_groups<F> * block_bytes<F>;
    }

    /// The two words of a group that lane t of a quad supplies. Each word is in one lane. A sum of
    /// integers does not depend on which lane supplies which word.
    CATENA_FN static int word_of_lane(int t, int i) {
        if constexpr (has_eights<F>)
            return form::word_of_eight(t, i);
        else
            return scaled_words ? 2 * t + i : t + 4 * i;
    }

    template <class X>
    CATENA_FN static void words_of_lane(X& x, const std::byte* block, int group, int (&word)[2]) {
        const int t = x.lane() & 3;
        if constexpr (has_eights<F>) {
            form::eight(x, block, group, t, word);
        } else {
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i) {
                int one[1];
                raw_words<F>(x, block, group, t + 4 * i, one);
                word[i] = one[0];
            }
        }
    }

    /// Adds the products of a group's words to `to`, those of each half apart where it has two
    /// scales. An eight lies in one half: the other is multiplied with zeros.
    template <class X>
    CATENA_FN static void multiply(X& x, const unsigned (&a)[4], const unsigned (&b)[2],
                                   int (&to)[parts][4]) {
        if constexpr (parts == 1) {
            x.mma(to[0], a, b);
        } else if constexpr (has_eights<F>) {
            const unsigned first = (x.lane() & 2) == 0 ? ~0u : 0u;
            x.mma(to[0], a, {b[0] & first, b[1] & first});
            x.mma(to[1], a, {b[0] & ~first, b[1] & ~first});
        } else {
            x.mma(to[0], {a[0], a[1]}, b[0]);
            x.mma(to[1], {a[2], a[3]}, b[1]);
        }
    }

    /// Group j of the step: one mma, and another with ones or mins where the column's sums are
    /// wanted.
    template <class X>
    CATENA_FN void add_group(X& x, const std::byte* const (&row)[2], const std::byte* q8_1,
                             int first, int j, const row_scales (&of_row)[2], real d,
                             [[maybe_unused]] step_sums& of_step) {
        const int t = x.lane() & 3, from = x.lane() - t + j, group = group_of(first, j);
        unsigned b[2] = {load_as<unsigned>(x, q8_1 + 4 + 4 * word_of_lane(t, 0)),
                         load_as<unsigned>(x, q8_1 + 4 + 4 * word_of_lane(t, 1))};
        if constexpr (has_order<F>) to_order<F>(x, b[0], b[1]);
        constexpr unsigned ones = 0x01010101u, less = -excess_of<F> & 0xff, each = less * ones;
        unsigned a[4], mins[2];
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) {  // rows g and g + 8
            const std::byte* block = block_of(row[h], j);
            int word[2];
            if constexpr (scaled_words) {
                const int lane = x.lane() - t % 2 + j % 2;
                // Not indexed by j / 2: where the groups are a loop, that would be local memory.
                const integer_scale(&halves)[2] = of_row[h].of_half;
                const integer_scale own{j < 2 ? halves[0].scale : halves[1].scale,
                                        j < 2 ? halves[0].rest : halves[1].rest};
                const integer_scale s{x.shuffle(own.scale, lane), x.shuffle(own.rest, lane)};
                form::scaled_pair(x, block, group, t, s, word);
                mins[h] = static_cast<unsigned>(s.rest);
            } else {
                words_of_lane(x, block, group, word);
            }
            a[h] = static_cast<unsigned>(word[0]), a[2 + h] = static_cast<unsigned>(word[1]);
        }
        int dot[parts][4], total[parts][4];
        CATENA_UNROLL
        for (int i = 0; i < 4 * parts; ++i) dot[i / 4][i % 4] = total[i / 4][i % 4] = zero;
        if constexpr (each != 0) multiply(x, {each, each, each, each}, b, dot);
        multiply(x, a, b, dot);
        if constexpr (form::mins && scaled_words)
            x.mma(total[0], mins, b[0]), x.mma(total[0], mins, b[1]);
        else if constexpr (form::mins)
            multiply(x, {ones, ones, ones, ones}, b, total);
        const real of_column[2] = {x.shuffle(d, t * 8 + j), x.shuffle(d, t * 8 + 4 + j)};
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) {
            [[maybe_unused]] const weights w = weights_of_lane(x, of_row[h], from);
            CATENA_UNROLL
            for (int c = 0; c < 2; ++c) {
                real products[parts], sums[parts];
                CATENA_UNROLL
                for (int p = 0; p < parts; ++p) {
                    products[p] = number(dot[p][2 * h + c]);
                    sums[p] = number(total[p][scaled_words ? 2 * h + c : c]);
                }
                if constexpr (scaled_words) {
                    of_step.product[h][c] = fma(of_column[c], products[0], of_step.product[h][c]);
                    of_step.sum[h][c] = fma(of_column[c], sums[0], of_step.sum[h][c]);
                } else {
                    sum[h][c] = fma(of_column[c], weighed(w, products, sums), sum[h][c]);
                }
            }
        }
    }

    template <class X>
    CATENA_FN static weights weights_of_lane(X& x, const row_scales& s, int from) {
        weights w{};
        if constexpr (!scaled_words) {
            CATENA_UNROLL
            for (int p = 0; p < parts; ++p) {
                w.scale[p] = x.shuffle(s.of_group.scale[p], from);
                if constexpr (form::mins) w.min[p] = x.shuffle(s.of_group.min[p], from);
            }
        }
        return w;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
