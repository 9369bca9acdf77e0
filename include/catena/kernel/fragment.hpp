// The inner product by integer mma, m16n8k32: a warp has 16 weight rows and up to 8 columns. An mma
// multiplies two parts of K that have scales of their own, two groups or the halves of one, with
// four columns. Each of them is two columns of the mma, which have zeros where the other part is,
// so its sums stay apart, and every lane has sums that are wanted. More than four columns take the
// mmas of a step twice.
//
// Lane (g, t) = (lane / 4, lane % 4) brings words of rows g and g + 8, and of part g % 2 of column
// g / 2 and g / 2 + 4. It keeps the sums of those rows and of columns t and t + 4. Groups come in
// the order of K, and no lane adds what another has.
#pragma once

#include "catena/kernel/product.hpp"
#include "catena/kernel/slice.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

template <matvec_policy P, format F>
struct product<P, F, inner_product::mma> {
    using form = unpack<F>;
    /// Words are multiplied with their scale, an integer, before a tensor core adds their products.
    static constexpr bool scaled_words = has_integer_scales<F>;
    static constexpr int scales = scaled_words ? 1 : form::scales;
    using weights = group_scales<scales, form::mins>;
    static constexpr int quad = 4;  ///< lanes, and the groups of a step
    static constexpr int steps = block_groups<F> > quad ? block_groups<F> / quad : 1;  ///< a block
    static_assert(steps <= 2, "a block has 8 groups at most");
    static constexpr bool whole_steps = block_groups<F> % quad == 0;
    /// A policy for what no other takes: its code is to be small, and may be slower.
    static constexpr bool small = P.activation == activation_source::global;

    static constexpr int four = halved_columns;  ///< of an mma
    static constexpr int parts = 2;
    /// Groups that an mma multiplies, and mmas that multiply all of these. In small code the parts
    /// of a group are always its halves.
    static constexpr int abreast = small ? 1 : parts / scales, turns = abreast;
    static constexpr bool in_pairs = has_pairs<F> && abreast == 2;

    /// Floats of exact sums without conversions, which the integer pipe would make: 1.5 * 2^23 is
    /// added to begin with, and taken off. In small code the registers for it cost more.
    static constexpr bool converts = small ? scales == 1 : scaled_words && form::mins;
    static constexpr int zero = converts ? 0 : sum_zero;
    static_assert(zero == 0 || abreast == parts / scales, "sums of two parts begin at zero");
    CATENA_FN static real number(int sum) { return converts ? from_int(sum) : exact_sum(sum); }

    real sum[2][2];  ///< [rows g, g + 8][columns t, t + 4]

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
        lane_columns of_lane = columns_of_lane(x, u);
        const int groups = piece.values / group_values;
        // A step whose groups are all there has no branches but one, so that ptxas can mix their
        // instructions.
        const auto step = [&]<bool All>(int at, std::bool_constant<All>) {
            const int left = groups - at, first = steps == 2 ? at & quad : 0;
            const int own = All || t < left ? t : left - 1;
            row_scales of_row[2];
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) of_row[h] = scales_of_row(x, row[h], first, own);
            step_sums of_step{};
            add_step<Room, All>(x, row, of_lane, first, left, of_row, of_step);
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
            of_lane.words += quad * q8_1_bytes;
            of_lane.scales += quad * q8_1_bytes;
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
        const int g = x.lane() / quad, t = x.lane() % quad, count = pairs ? 2 : 4;
        CATENA_NO_UNROLL
        for (int i = 0; i < count; ++i) {
            const real up = i % 2 == 0 ? sum[1][0] : sum[1][1];
            const real v = i / 2 != 0 ? up : i % 2 == 0 ? sum[0][0] : sum[0][1];
            finish(g + 8 * (i / 2), t + i % 2 * four, v, up);
        }
    }

    /// The sums of a team's warps are added up in their order, each result by one of the team's
    /// lanes; rows of a column lie next to each other. `handed` is the team's stage that all its
    /// warps have multiplied, or are about to have.
    template <class X, class Finish>
    CATENA_FN void results_of_team(X& x, bool pairs, float* handed, Finish finish) {
        const int g = x.lane() / quad, t = x.lane() % quad;
        const int slice = x.warp() % P.slices;
        float* const own = handed + slice * handed_floats;
        x.sync();  // the stage is read
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i)
            x.store(own + (t + i % 2 * four) * handed_stride + g + 8 * (i / 2), sum[i / 2][i % 2]);
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
    /// What a lane reads of the columns: words of its part of a column, and d8 of another one.
    /// Those of the next four columns lie `next_words` and `next_scales` bytes behind.
    struct lane_columns {
        const std::byte *words, *scales;
        int next_words, next_scales;
        bool more;  ///< are there more than four columns?
    };

    /// Columns beyond those of the launch repeat its last one. What a shuffle brings is kept, since
    /// ptxas cannot compute it again in each step.
    template <class X>
    CATENA_FN static lane_columns columns_of_lane(X& x, const matvec_columns& u) {
        const auto at = [&](int column) {
            return u.x_bytes * (column < u.count ? column : u.count - 1);
        };
        const auto next = [&](int column) {
            return x.shuffle(static_cast<int>(at(column + four) - at(column)), x.lane());
        };
        const int of_words = x.lane() / quad / parts, of_scales = x.lane() % quad;
        return {u.x + at(of_words), u.x + at(of_scales), next(of_words), next(of_scales),
                u.count > four};
    }

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

    /// The words of a pair of groups, of which each matrix of eight rows has one for each lane.
    template <int Room, class X>
    CATENA_FN static void pairs_of_rows(X& x, const std::byte* own, int group,
                                        unsigned (&to)[turns][4]) {
        const std::byte* const first = own - x.lane() / quad * Room + form::place_of_pair(group);
        unsigned both[4];
        x.load_matrices(both, [first](int lane) {
            return first + lane % mma_rows * Room + lane / mma_rows * chunk_bytes;
        });
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i) {
            to[i / 2][i % 2] = form::first_of_pair(both[i]);
            to[i / 2][2 + i % 2] = form::second_of_pair(both[i]);
        }
    }

    /// What is multiplied with all columns: the words of `abreast` groups, and their weights.
    struct fragment {
        unsigned words[turns][4];
        unsigned mins[4];              ///< scaled words
        weights of_group[abreast][2];  ///< of rows g and g + 8
    };

    /// The fragment of `abreast` groups of the step, from j on; `last` is the step's last group.
    template <int Room, class X>
    CATENA_FN static fragment fragment_of(X& x, const std::byte* const (&row)[2], int first, int j,
                                          int last, const row_scales (&of_row)[2]) {
        const int t = x.lane() & 3;
        fragment out{};
        if constexpr (in_pairs) pairs_of_rows<Room>(x, row[0], group_of(first, j), out.words);
        CATENA_UNROLL
        for (int p = 0; p < abreast; ++p) {
            const int own = j + p < last ? j + p : last, group = group_of(first, own);
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) {  // rows g and g + 8
                const std::byte* block = block_of(row[h], own);
                int word[2];
                if constexpr (scaled_words) {
                    const int lane = x.lane() - t % 2 + own % 2;
                    // Not indexed by own / 2: where the groups are a loop, that would be local
                    // memory.
                    const integer_scale(&halves)[2] = of_row[h].of_half;
                    const integer_scale mine{own < 2 ? halves[0].scale : halves[1].scale,
                                             own < 2 ? halves[0].rest : halves[1].rest};
                    const integer_scale s{x.shuffle(mine.scale, lane), x.shuffle(mine.rest, lane)};
                    form::scaled_pair(x, block, group, t, s, word);
                    out.mins[2 * p + h] = static_cast<unsigned>(s.rest);
                    if constexpr (abreast == 1) out.mins[2 + h] = static_cast<unsigned>(s.rest);
                } else {
                    if constexpr (!in_pairs) words_of_lane(x, block, group, word);
                    out.of_group[p][h] = weights_of_lane(x, of_row[h], x.lane() - t + own);
                }
                if constexpr (!in_pairs) {
                    CATENA_UNROLL
                    for (int i = 0; i < 2; ++i) {
                        const int turn = abreast == 2 ? i : 0, part = abreast == 2 ? p : i;
                        out.words[turn][2 * part + h] = static_cast<unsigned>(word[i]);
                    }
                }
            }
        }
        return out;
    }

    /// The words of the lane's part that an mma multiplies; those of the other part are zeros.
    template <class X>
    CATENA_FN static void words_of_columns(X& x, const std::byte* q8_1, int j, int last,
                                           unsigned (&b)[turns][2]) {
        const int t = x.lane() & 3, part = x.lane() / quad % 2;
        const std::byte* const words =
            q8_1 + 4 + (abreast == 2 && j + part <= last ? j + part : j) * q8_1_bytes;
        const unsigned second = static_cast<unsigned>(part), first = 1 - second;
        if constexpr (abreast == 2 || has_eights<F>) {
            unsigned word[2] = {load_as<unsigned>(x, words + 4 * word_of_lane(t, 0)),
                                load_as<unsigned>(x, words + 4 * word_of_lane(t, 1))};
            if constexpr (has_order<F>) to_order<F>(x, word[0], word[1]);
            if constexpr (abreast == 2) {
                CATENA_UNROLL
                for (int i = 0; i < 2; ++i) b[i][0] = word[i] * first, b[i][1] = word[i] * second;
            } else if constexpr (scales == 1) {
                b[0][0] = word[0] * first, b[0][1] = word[1] * second;
            } else {  // an eight lies in one half
                const unsigned own = part == t / 2 ? 1 : 0;
                b[0][0] = word[0] * own, b[0][1] = word[1] * own;
            }
        } else {
            const unsigned word = load_as<unsigned>(x, words + 4 * word_of_lane(t, part));
            b[0][0] = word * first, b[0][1] = word * second;
        }
    }

    /// A row's sum of a part, or that of both, if they have one scale.
    CATENA_FN static int of_part(const int (&sums)[4], int row, int part) {
        return abreast < parts / scales ? sums[row] + sums[row + 1] : sums[row + part];
    }

    /// Multiplies a fragment with four columns, whose sums are sum[h][c].
    template <bool All, class X>
    CATENA_FN void multiply(X& x, const fragment& f, const std::byte* words,
                            const std::byte* scales_of_columns, int j, int last, int c,
                            [[maybe_unused]] step_sums& of_step) {
        unsigned b[turns][2];
        words_of_columns(x, words, j, last, b);
        constexpr unsigned ones = 0x01010101u, less = -excess_of<F> & 0xff, each = less * ones;
        int dot[4], total[4];
        CATENA_UNROLL
        for (int i = 0; i < 4; ++i) dot[i] = total[i] = zero;
        CATENA_UNROLL
        for (int i = 0; i < turns; ++i) {
            if constexpr (each != 0) x.mma(dot, {each, each, each, each}, b[i]);
            x.mma(dot, f.words[i], b[i]);
            if constexpr (form::mins && scaled_words)
                x.mma(total, f.mins, b[i]);
            else if constexpr (form::mins)
                x.mma(total, {ones, ones, ones, ones}, b[i]);
        }
        CATENA_UNROLL
        for (int p = 0; p < abreast; ++p) {
            if (!All && j + p > last) break;
            const real d = load_scale(x, scales_of_columns + (j + p) * q8_1_bytes);
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) {
                const int row = scaled_words ? 2 * h : 0;  // else a sum is that of any row
                real products[scales], sums[scales];
                CATENA_UNROLL
                for (int s = 0; s < scales; ++s) {
                    products[s] = number(of_part(dot, 2 * h, p + s));
                    sums[s] = number(of_part(total, row, p + s));
                }
                if constexpr (scaled_words) {
                    of_step.product[h][c] = fma(d, products[0], of_step.product[h][c]);
                    of_step.sum[h][c] = fma(d, sums[0], of_step.sum[h][c]);
                } else {
                    sum[h][c] = fma(d, weighed(f.of_group[p][h], products, sums), sum[h][c]);
                }
            }
        }
    }

    CATENA_FN static void swap(real (&of_row)[2]) {
        const real other = of_row[0];
        of_row[0] = of_row[1], of_row[1] = other;
    }
    /// Puts the sums of the other four columns first, since a loop adds to the first ones.
    CATENA_FN void swap_columns([[maybe_unused]] step_sums& of_step) {
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) {
            if constexpr (scaled_words)
                swap(of_step.product[h]), swap(of_step.sum[h]);
            else
                swap(sum[h]);
        }
    }

    /// A step of four groups, or of what is `left` of a row.
    template <int Room, bool All, class X>
    CATENA_FN void add_step(X& x, const std::byte* const (&row)[2], const lane_columns& u,
                            int first, int left, const row_scales (&of_row)[2],
                            step_sums& of_step) {
        const int last = (All || left > quad ? quad : left) - 1;
        if constexpr (All && !small) {
            fragment all[quad / abreast];
            CATENA_UNROLL
            for (int i = 0; i < quad / abreast; ++i) {
                all[i] = fragment_of<Room>(x, row, first, abreast * i, last, of_row);
                multiply<All>(x, all[i], u.words, u.scales, abreast * i, last, 0, of_step);
            }
            if (u.more) {
                CATENA_UNROLL
                for (int i = 0; i < quad / abreast; ++i)
                    multiply<All>(x, all[i], u.words + u.next_words, u.scales + u.next_scales,
                                  abreast * i, last, 1, of_step);
            }
        } else {  // in one loop, which unpacks words again for other columns
            const int fours = u.more ? 2 : 1, loops = (last + abreast) / abreast * fours;
            CATENA_NO_UNROLL
            for (int n = 0; n < loops; ++n) {
                const int j = (u.more ? n / 2 : n) * abreast;
                const bool other = u.more && n % 2 != 0;
                const fragment one = fragment_of<Room>(x, row, first, j, last, of_row);
                multiply<All>(x, one, u.words + (other ? u.next_words : 0),
                              u.scales + (other ? u.next_scales : 0), j, last, 0, of_step);
                if (u.more) swap_columns(of_step);
            }
        }
    }

    template <class X>
    CATENA_FN static weights weights_of_lane(X& x, const row_scales& s, int from) {
        weights w{};
        CATENA_UNROLL
        for (int p = 0; p < scales; ++p) {
            w.scale[p] = x.shuffle(s.of_group.scale[p], from);
            if constexpr (form::mins) w.min[p] = x.shuffle(s.of_group.min[p], from);
        }
        return w;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
