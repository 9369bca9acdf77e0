// The inner product by dp4a: of a step of 1024 values of each weight row a lane owns one group, and
// the q8_1 block that goes with it. It adds its steps in the order of K; then the warp adds its
// lanes in one fixed tree.
#pragma once

#include "catena/kernel/product.hpp"

namespace CATENA_NAMESPACE::kernel {

/// The lanes' sums of N values each, N a power of two: value i ends up in the lanes whose number
/// begins with i, that is in lane i * (32 / N) and those behind it. Every value is added in the
/// same tree, whatever N is: lanes that differ in bit 4 first.
template <int Mask = warp_size / 2, int N, class X>
CATENA_FN real sum_of_lanes(X& x, const real (&v)[N]) {
    if constexpr (Mask == 0) {
        return v[0];
    } else if constexpr (N == 1) {
        const real pair[1] = {v[0] + x.shuffle_xor(v[0], Mask)};
        return sum_of_lanes<Mask / 2>(x, pair);
    } else {
        const bool upper = (x.lane() & Mask) != 0;
        real half[N / 2];
        CATENA_UNROLL
        for (int i = 0; i < N / 2; ++i) {
            const real kept = upper ? v[i + N / 2] : v[i], given = upper ? v[i] : v[i + N / 2];
            half[i] = kept + x.shuffle_xor(given, Mask);
        }
        return sum_of_lanes<Mask / 2>(x, half);
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

    template <class X>
    CATENA_FN static lane_place place(X& x, bool pairs) {
        const int result = x.lane() / lanes, row = result % P.rows;
        return {row, result / P.rows, x.lane() % lanes == 0 && !(pairs && row >= P.rows / 2)};
    }

    /// Adds the lanes and hands out the results.
    template <class X, class Finish>
    CATENA_FN void results(X& x, bool pairs, Finish finish) {
        if constexpr (halves == 2) {
            CATENA_UNROLL
            for (int i = 0; i < own; ++i) sum[0][i] = sum[0][i] + sum[1][i];
        }
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
    /// With more columns the second dp4a of each word costs more than the sums save.
    static constexpr bool sums = has_summands<F> && P.columns == 1;

    /// Looking levels up keeps the integer pipe busy, so sums become floats without it.
    static constexpr int zero = sums ? sum_zero : 0;
    CATENA_FN static real number(int sum) { return sums ? exact_sum(sum) : from_int(sum); }

    template <int Room, class X>
    CATENA_FN void add(X& x, const matvec_piece& piece, const matvec_columns& u) {
        const int lane = x.lane() % lanes_of_row, first = x.lane() / lanes_of_row * rows;
        const int block = lane / block_groups<F> * block_bytes<F>;
        placed_block row[rows];
        CATENA_UNROLL
        for (int r = 0; r < rows; ++r)
            row[r] = row_of_piece<F, P.rows, Room>(x, piece, first + r) + block;
        const std::byte* q8_1 = u.x + lane * q8_1_bytes;
        if (lane_sums<P>::halves == 2 && piece.value != 0) this->take_turns();
        int at = lane * group_values;
        if constexpr (P.piece == step) {
            if (at < piece.values) add_step(x, row, q8_1, u);
        } else {
            CATENA_NO_UNROLL
            for (; at < piece.values; at += step) {
                add_step(x, row, q8_1, u);
                CATENA_UNROLL
                for (int r = 0; r < rows; ++r) row[r].at += step_bytes;
                q8_1 += lanes_of_row * q8_1_bytes;
            }
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

    /// One group of every row, taken apart once, with every column.
    template <class X>
    CATENA_FN void add_step(X& x, const placed_block (&row)[rows], const std::byte* q8_1,
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
        // The sums of the activation are as many times too large as words in place are, for which
        // its scale makes up, and they are negated instead of the mins of every row.
        int ones = 0x01010101;
        if constexpr (in_place)
            ones = static_cast<int>(0x01010101u * (256 - form::times_in_place(group)));
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
