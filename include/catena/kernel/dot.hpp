// The inner product by dp4a: of a step of 1024 values of each weight row a lane owns one group, and
// the q8_1 block that goes with it. It adds its steps in the order of K; then the warp adds its
// lanes in one fixed tree. Where two groups share their bytes, two lanes have both groups of half
// of the rows each instead, with a sum for each group, and the last addition of the tree is a
// lane's.
#pragma once

#include "catena/kernel/product.hpp"

namespace CATENA_NAMESPACE::kernel {

/// The lanes' sums of N values each, N a power of two: value i ends up in the lanes whose number
/// begins with i, that is in lane i * (32 / N) and those behind it. Every value is added in the
/// same tree, whatever N is: lanes that differ in bit 4 first. With End = 1 lanes that differ in
/// bit 0 are not added.
template <int Mask = warp_size / 2, int End = 0, int N, class X>
CATENA_FN real sum_of_lanes(X& x, const real (&v)[N]) {
    if constexpr (Mask == End) {
        return v[0];
    } else if constexpr (N == 1) {
        const real pair[1] = {v[0] + x.shuffle_xor(v[0], Mask)};
        return sum_of_lanes<Mask / 2, End>(x, pair);
    } else {
        const bool upper = (x.lane() & Mask) != 0;
        real half[N / 2];
        CATENA_UNROLL
        for (int i = 0; i < N / 2; ++i) {
            const real kept = upper ? v[i + N / 2] : v[i], given = upper ? v[i] : v[i + N / 2];
            half[i] = kept + x.shuffle_xor(given, Mask);
        }
        return sum_of_lanes<Mask / 2, End>(x, half);
    }
}

/// The smallest power of two that is not below n.
CATENA_FN constexpr int power_of_two(int n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

/// The sums that a lane of P.rows rows and P.columns columns keeps, when lanes share the rows: of
/// all rows, or of the half that its half of the warp has.
template <matvec_policy P>
struct lane_sums {
    static constexpr int count = power_of_two(P.rows * P.columns);
    static constexpr int lanes = warp_size / count;  ///< lanes that end up with one result
    static constexpr int halves = rows_abreast(P), lanes_of_row = warp_size / halves;
    static constexpr int rows = P.rows / halves, own = count / halves;  ///< the lane's

    /// In half of a warp the sums of every other piece are apart: they are those of the other half
    /// where a row has all lanes, and are added as these would be.
    real sum[halves][own];

    CATENA_FN void clear() {
        CATENA_UNROLL
        for (int i = 0; i < halves * own; ++i) sum[i / own][i % own] = real{0};
    }
    CATENA_FN real& of(int row, int column) { return sum[0][column * rows + row]; }
    /// Goes on with the other sums.
    CATENA_FN void take_turns() {
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            const real next = sum[halves - 1][i];
            sum[halves - 1][i] = sum[0][i], sum[0][i] = next;
        }
    }

    CATENA_FN void join_halves() {
        if constexpr (halves == 2) {
            CATENA_UNROLL
            for (int i = 0; i < own; ++i) sum[0][i] = sum[0][i] + sum[1][i];
        }
    }

    template <class X>
    CATENA_FN static lane_place place(X& x, bool pairs) {
        const int result = x.lane() / lanes, row = result % P.rows;
        return {row, result / P.rows, x.lane() % lanes == 0 && !(pairs && row >= P.rows / 2)};
    }

    /// Adds the lanes and hands out the results.
    template <class X, class Finish>
    CATENA_FN void results(X& x, bool pairs, Finish finish) {
        join_halves();
        const real v = sum_of_lanes<lanes_of_row / 2>(x, sum[0]);
        real up = v;
        if constexpr (P.rows % 2 == 0)
            up = x.shuffle(v, (x.lane() + lanes * (P.rows / 2)) % warp_size);
        const lane_place at = place(x, pairs);
        if (at.finishes) finish(at.row, at.column, v, up);
    }
};

template <matvec_policy P, format F>
struct product<P, F, inner_product::dp4a> : lane_sums<P> {
    using form = unpack<F>;
    using lane_sums<P>::rows, lane_sums<P>::lanes_of_row;
    static constexpr int parts = form::scales, words_of_part = group_words / parts;
    static constexpr int excess = [] {
        if constexpr (has_transposed<F>)
            return form::transposed_excess;
        else
            return excess_of<F>;
    }();
    static constexpr bool in_place = has_in_place<F>;
    static_assert(!in_place || (excess == 0 && !has_order<F> && !has_transposed<F>),
                  "words in place have their order and no other correction");
    static constexpr int step = lanes_of_row * group_values,
                         step_bytes = step / block_elements<F> * block_bytes<F>;
    static_assert(step_bytes % 4 == 0, "a block's place beside words is that of the first step");
    /// Do two lanes share a pair of groups? Each loads and takes apart what the groups share, once
    /// and for half of the rows. Not with more columns: of each it would hold both groups.
    static constexpr bool in_pairs = has_pairs<F> && in_place && P.columns == 1 && rows % 2 == 0 &&
                                     lane_sums<P>::own <= lanes_of_row / 2;
    static constexpr int own_rows = in_pairs ? rows / 2 : rows;
    /// A lane's sum 2r + g is then that of its row r and of group g of its pair. In the end so many
    /// lanes have one of these sums, and the next ones that of the other group.
    static constexpr int lanes_of_sum = lanes_of_row / lane_sums<P>::own;
    /// With more columns the second dp4a of each word costs more than the sums save.
    static constexpr bool sums = has_summands<F> && P.columns == 1;

    /// Looking levels up keeps the integer pipe busy, so sums become floats without it.
    static constexpr int zero = sums ? sum_zero : 0;
    CATENA_FN static real number(int sum) { return sums ? exact_sum(sum) : from_int(sum); }

    template <int Room, class X>
    CATENA_FN void add(X& x, const matvec_piece& piece, const matvec_columns& u) {
        const int lane = x.lane() % lanes_of_row;
        const int group = in_pairs ? lane & ~1 : lane;  // the lane's first
        const int first = x.lane() / lanes_of_row * rows + (lane - group) * own_rows;
        const int block = group / block_groups<F> * block_bytes<F>;
        placed_block row[own_rows];
        CATENA_UNROLL
        for (int r = 0; r < own_rows; ++r)
            row[r] = row_of_piece<F, P.rows, Room>(x, piece, first + r) + block;
        const std::byte* q8_1 = u.x + group * q8_1_bytes;
        if (lane_sums<P>::halves == 2 && piece.value != 0) this->take_turns();
        int at = group * group_values;
        if constexpr (P.piece == step) {
            if (at < piece.values) add_step(x, row, q8_1, u);
        } else {
            CATENA_NO_UNROLL
            for (; at < piece.values; at += step) {
                add_step(x, row, q8_1, u);
                CATENA_UNROLL
                for (int r = 0; r < own_rows; ++r) row[r].at += step_bytes;
                q8_1 += lanes_of_row * q8_1_bytes;
            }
        }
    }

    template <class X>
    CATENA_FN static lane_place place(X& x, bool pairs) {
        if constexpr (in_pairs) {
            const int lane = x.lane() % lanes_of_row, r = lane / (2 * lanes_of_sum);
            const int row = x.lane() / lanes_of_row * rows + lane % 2 * own_rows + r;
            const bool finishes = lane % (2 * lanes_of_sum) < 2 && r < own_rows;
            return {row, 0, finishes && !(pairs && row >= P.rows / 2)};
        } else {
            return lane_sums<P>::place(x, pairs);
        }
    }

    template <class X, class Finish>
    CATENA_FN void results(X& x, bool pairs, Finish finish) {
        if constexpr (in_pairs) {
            this->join_halves();
            const real one = sum_of_lanes<lanes_of_row / 2, 1>(x, this->sum[0]);
            const real v = one + x.shuffle_xor(one, lanes_of_sum);
            const lane_place at = place(x, pairs);
            // The other half of the warp has the rows of the other matrix, or the pair's other
            // lane.
            const real up = x.shuffle_xor(v, lane_sums<P>::halves == 2 ? lanes_of_row : 1);
            if (at.finishes) finish(at.row, 0, v, up);
        } else {
            lane_sums<P>::results(x, pairs, finish);
        }
    }

  private:
    /// Brings the words of an activation's group to the order of the weights'.
    template <class X>
    CATENA_FN static void as_weights_lie(X& x, int (&q)[group_words]) {
        if constexpr (sums) {
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i)
                permute_pair<in_turn.there[0], in_turn.there[1]>(x, q[form::word_of_summands(i, 0)],
                                                                 q[form::word_of_summands(i, 1)]);
        } else if constexpr (has_transposed<F>) {
            transpose(x, q[0], q[1], q[2], q[3]);
            transpose(x, q[4], q[5], q[6], q[7]);
        } else if constexpr (has_order<F>) {
            CATENA_UNROLL
            for (int i = 0; i < 4; ++i)
                to_order<F>(x, q[form::word_of_eight(i, 0)], q[form::word_of_eight(i, 1)]);
        }
    }

    template <class X>
    CATENA_FN void add_step(X& x, const placed_block (&row)[own_rows], const std::byte* q8_1,
                            const matvec_columns& u) {
        if constexpr (in_pairs)
            add_pair(x, row, q8_1);
        else
            add_group(x, row, q8_1, u);
    }

    /// Both groups of the lane's pair, of its rows.
    template <class X>
    CATENA_FN void add_pair(X& x, const placed_block (&row)[own_rows], const std::byte* q8_1) {
        constexpr int words = q8_1_bytes / 4;  // of a block: its scale, and values
        unsigned both[2 * words];
        CATENA_UNROLL
        for (int i = 0; i < words; ++i) {
            const auto two = load_as<std::uint64_t>(x, q8_1 + 8 * i);
            both[2 * i] = static_cast<unsigned>(two);
            both[2 * i + 1] = static_cast<unsigned>(two >> 32);
        }
        real d[2];
        int of_ones[2] = {};
        CATENA_UNROLL
        for (int g = 0; g < 2; ++g) {
            d[g] = from_bits(both[g * words]);
            if (form::share_in_place(g) != 1) d[g] = d[g] * real{form::share_in_place(g)};
            CATENA_UNROLL
            for (int i = 0; i < group_words; ++i)
                of_ones[g] =
                    x.dp4a(negative_ones(g), static_cast<int>(both[g * words + 1 + i]), of_ones[g]);
        }
        const int pair = x.lane() % block_groups<F> / 2;
        CATENA_UNROLL
        for (int r = 0; r < own_rows; ++r) {
            unsigned word[group_words];
            load_words<F>(x, row[r], form::place_of_pair(2 * pair), word);
            const pair_scales scales = form::scales_of_pair(x, row[r], pair);
            const auto byte = [&](int i) {
                return static_cast<int>(
                    x.permute(scales.bytes, 0, 0x4440u + static_cast<unsigned>(i)));
            };
            CATENA_UNROLL
            for (int g = 0; g < 2; ++g) {
                int dot = 0;
                CATENA_UNROLL
                for (int i = 0; i < group_words; ++i)
                    dot = x.dp4a(word[i] & form::mask_in_place(g),
                                 static_cast<int>(both[g * words + 1 + i]), dot);
                // As floats both integers are exact: they have 6 bits more than a group's sum,
                // whose last four bits are zeros if its words are 16 times too large. So this
                // rounds as `weighed` does, which multiplies by the scales one after the other.
                real v = scales.d * from_int(byte(g) * dot);
                v = fma(scales.dmin, from_int(byte(2 + g) * of_ones[g]), v);
                real& sum = this->sum[0][2 * r + g];
                sum = fma(d[g], v, sum);
            }
        }
    }

    /// The sums of the activation are as many times too large as words in place are, for which its
    /// scale makes up, and they are negated instead of the mins of every row.
    CATENA_FN static int negative_ones(int group) {
        return static_cast<int>(0x01010101u * (256 - form::times_in_place(group)));
    }

    /// The lane's group of every row, taken apart once, with every column.
    template <class X>
    CATENA_FN void add_group(X& x, const placed_block (&row)[rows], const std::byte* q8_1,
                             const matvec_columns& u) {
        const int group = x.lane() % block_groups<F>;
        std::conditional_t<in_place, unsigned, int> w[rows][sums ? 2 : 1][group_words];
        group_scales<parts, form::mins> scales[rows];
        CATENA_UNROLL
        for (int r = 0; r < rows; ++r) {
            if constexpr (sums)
                form::summands(x, row[r], group, w[r]);
            else if constexpr (in_place)
                form::words_in_place(x, row[r], group, w[r][0]);
            else if constexpr (has_transposed<F>)
                form::transposed_words(x, row[r], group, w[r][0]);
            else if constexpr (has_order<F>)
                words_of_eights<F, false>(x, row[r], group, 0, w[r][0]);
            else
                raw_words<F>(x, row[r], group, 0, w[r][0]);
            if constexpr (in_place)
                scales[r] = form::scales_of(x, row[r], group);
            else
                scales[r] = weights_of<F>(x, row[r], group);
        }
        int ones = 0x01010101;
        if constexpr (in_place) ones = negative_ones(group);
        CATENA_UNROLL
        for (int c = 0; c < P.columns; ++c) {
            if (c > 0 && c >= u.count) continue;
            const std::byte* block = q8_1 + c * u.x_bytes;
            real d = load_scale(x, block);
            if constexpr (in_place) d = d * real{form::share_in_place(group)};
            int q[group_words], total[parts] = {};
            CATENA_UNROLL
            for (int i = 0; i < group_words; ++i) {
                q[i] = static_cast<int>(load_as<unsigned>(x, block + 4 + 4 * i));
                int& t = total[i / words_of_part];
                if constexpr (form::mins || excess != 0) t = x.dp4a(ones, q[i], t);
            }
            as_weights_lie(x, q);
            real of_ones[parts];
            CATENA_UNROLL
            for (int p = 0; p < parts; ++p) of_ones[p] = from_int(total[p]);
            CATENA_UNROLL
            for (int r = 0; r < rows; ++r) {
                int dot[parts];
                CATENA_UNROLL
                for (int p = 0; p < parts; ++p) dot[p] = zero - excess * total[p];
                CATENA_UNROLL
                for (int i = 0; i < group_words; ++i) {
                    int& t = dot[i / words_of_part];
                    for (const auto& summand : w[r]) t = x.dp4a(summand[i], q[i], t);
                }
                real products[parts];
                CATENA_UNROLL
                for (int p = 0; p < parts; ++p) products[p] = number(dot[p]);
                real& sum = this->of(r, c);
                sum = fma(d, weighed(scales[r], products, of_ones), sum);
            }
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
