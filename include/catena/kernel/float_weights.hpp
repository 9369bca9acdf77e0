// The inner product of float weights, f32, f16, bf16 or fp8_e4m3, with an f32
// activation: of a step of 256 values a lane owns 8 next to each other. It multiplies them in their
// order, by fma, and its steps in the order of K; then the warp adds its lanes as dot.hpp does.
// Eight values of fp8 are added up alone, and then multiplied with their scale. Where the
// activation is a norm that is made in passing, a lane multiplies its values with the norm's weight
// first, and adds their squares.
#pragma once

#include "catena/kernel/dot.hpp"
#include "catena/kernel/minifloat.hpp"
#include "catena/kernel/reduce.hpp"

namespace CATENA_NAMESPACE::kernel {

/// The values of the two e4m3 in the low half of a word. An executor may have an instruction that
/// makes halves of both.
template <class X>
CATENA_FN void e4m3_pair([[maybe_unused]] X& x, unsigned pair, real& first, real& second) {
    if constexpr (requires { x.halves_of_e4m3(pair); }) {
        const unsigned halves = x.halves_of_e4m3(pair);
        first = from_half(static_cast<std::uint16_t>(halves & 0xffffu));
        second = from_half(static_cast<std::uint16_t>(halves >> 16));
    } else {
        first = from_e4m3(pair & 0xffu), second = from_e4m3(pair >> 8 & 0xffu);
    }
}

/// Do the even quads of a column in shared memory lie before its odd ones? A lane multiplies two
/// quads, and loads of 16 bytes that lie 32 apart would meet in half of the banks.
template <matvec_policy P>
inline constexpr bool odd_quads_behind = (P.product == inner_product::fma) &&
                                         (P.activation == activation_source::shared) &&
                                         (P.columns > 1);

/// Bytes from a column's even quads to its odd ones.
CATENA_FN int half_of_column(int k) { return k * 2; }

/// Where the quad at byte `at` of a column lies in shared memory.
template <matvec_policy P>
CATENA_FN int place_in_column(int at, int k) {
    return odd_quads_behind<P> ? at / 32 * 16 + at % 32 / 16 * half_of_column(k) : at;
}

/// A lane's values from `p` on, which lies in a stage, or is of an f32 activation.
template <format F, class X>
CATENA_FN void load_floats(X& x, const std::byte* p, real (&v)[lane_floats]) {
    static_assert(
        F == format::f32 || F == format::f16 || F == format::bf16 || F == format::fp8_e4m3,
        "these are no float weights: they want an integer inner product");
    constexpr int words = lane_floats * block_bytes<F> / 4, values = lane_floats / words;
    unsigned word[words];
    if constexpr (words % 4 == 0) {
        CATENA_UNROLL
        for (int i = 0; i < words; i += 4) {
            const word4 w = x.load16(p + 4 * i);
            word[i] = w.x, word[i + 1] = w.y, word[i + 2] = w.z, word[i + 3] = w.w;
        }
    } else {
        CATENA_UNROLL
        for (int i = 0; i < words; ++i) word[i] = load_as<unsigned>(x, p + 4 * i);
    }
    CATENA_UNROLL
    for (int i = 0; i < lane_floats; ++i) {
        const unsigned bits = word[i / values] >> (i % values * (32 / values) % 32);
        if constexpr (F == format::f32)
            v[i] = from_bits(bits);
        else if constexpr (F == format::f16)
            v[i] = from_half(static_cast<std::uint16_t>(bits & 0xffffu));
        else if constexpr (F == format::bf16)
            v[i] = from_bits(bits << 16);
        else if (i % 2 == 0)
            e4m3_pair(x, bits, v[i], v[i + 1]);
    }
}

/// A lane's values of a column, from value `at` on.
template <matvec_policy P, class X>
CATENA_FN void load_column(X& x, const matvec_columns& u, int column, int at,
                           real (&v)[lane_floats]) {
    const std::byte* const from = u.x + column * u.x_bytes;
    if constexpr (odd_quads_behind<P>) {
        CATENA_UNROLL
        for (int i = 0; i < 2; ++i) {
            const word4 w = x.load16(from + at / 2 * 4 + i * u.half);
            v[4 * i] = from_bits(w.x), v[4 * i + 1] = from_bits(w.y);
            v[4 * i + 2] = from_bits(w.z), v[4 * i + 3] = from_bits(w.w);
        }
    } else {
        load_floats<format::f32>(x, from + at * 4, v);
    }
}

template <matvec_policy P, format F>
struct product<P, F, inner_product::fma> : lane_sums<P> {
    static constexpr int step = step_floats;
    static constexpr bool scaled = F == format::fp8_e4m3;
    static constexpr bool norms = P.placement == norm_placement::passing;

    CATENA_FN void clear() {
        lane_sums<P>::clear();
        if constexpr (norms) squares_ = real{0};
    }

    /// The sum of the squares of the column's values, after the last piece.
    template <class X>
    CATENA_FN real sum_of_squares(X& x) const {
        return over_threads<warp_size>(x, squares_, nullptr, [](real a, real b) { return a + b; });
    }

    template <int Room, class X>
    CATENA_FN void add(X& x, const matvec_piece& piece, const matvec_columns& u) {
        int at = x.lane() * lane_floats;
        row_scales scales;
        if constexpr (scaled) scales = scales_of(piece, piece.value + at);
        if constexpr (norms) {
            constexpr int turn = steps_in_flight(P) * step;
            const int whole = piece.values - piece.values % turn;
            CATENA_NO_UNROLL
            for (; at < whole; at += turn) add_normed<true, Room>(x, piece, u, at, scales);
            if (whole < piece.values) add_normed<false, Room>(x, piece, u, at, scales);
        } else {
            CATENA_NO_UNROLL
            for (; at < piece.values; at += step) {
                lane_rows w;
                load_rows<Room>(x, piece, at, scales, w);
                multiply_columns(x, u, at, w);
            }
        }
    }

  private:
    real squares_;  // of the values that this lane has multiplied

    /// The scales of a group's rows, step by step: a division for each would take as long as the
    /// product.
    struct row_scales {
        const float* row[P.rows];  ///< scales of each row; null: each is 1
        int at, past;              ///< the lane's scale, and its values in front of the lane's
        int values;                ///< values that share a scale
        int on, past_on;           ///< what a step adds to at and past

        template <class X>
        CATENA_FN real of(X& x, int r) const {
            return row[r] == nullptr ? real{1} : x.load(row[r] + at);
        }
        CATENA_FN void next() {
            at += on, past += past_on;
            if (past >= values) ++at, past -= values;
        }
    };

    /// A lane's values of each row in a step, and their scales.
    struct lane_rows {
        real of[P.rows][lane_floats], scale[P.rows];
    };

    /// The rows' values of a step, which begin at value `at` of a piece.
    template <int Room, class X>
    CATENA_FN static void load_rows(X& x, const matvec_piece& piece, int at,
                                    [[maybe_unused]] row_scales& scales, lane_rows& w) {
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) {
            load_floats<F>(x, piece.rows + r * Room + at * block_bytes<F>, w.of[r]);
            if constexpr (scaled) w.scale[r] = scales.of(x, r);
        }
        if constexpr (scaled) scales.next();
    }

    /// Adds the products of a step to the sums of all columns. Few columns are loaded together, the
    /// last one in place of those that do not exist, so that none waits for another's loads.
    template <class X>
    CATENA_FN void multiply_columns(X& x, const matvec_columns& u, int at, const lane_rows& w) {
        constexpr int abreast = P.columns <= 4 ? P.columns : 1;
        CATENA_UNROLL
        for (int first = 0; first < P.columns; first += abreast) {
            if (first > 0 && first >= u.count) continue;
            real v[abreast][lane_floats];
            CATENA_UNROLL
            for (int c = 0; c < abreast; ++c)
                load_column<P>(x, u, abreast == 1 || first + c < u.count ? first + c : u.count - 1,
                               at, v[c]);
            CATENA_UNROLL
            for (int c = 0; c < abreast; ++c) multiply(w, v[c], first + c);
        }
    }

    /// Adds the products of a step to each row's sum of a column.
    CATENA_FN void multiply(const lane_rows& w, const real (&v)[lane_floats], int column) {
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) {
            real& sum = this->of(r, column);
            real part = scaled ? real{0} : sum;
            CATENA_UNROLL
            for (int i = 0; i < lane_floats; ++i) part = fma(w.of[r][i], v[i], part);
            sum = scaled ? fma(w.scale[r], part, sum) : part;
        }
    }

    /// A turn of several steps whose column is normed. Its loads are in flight together: the lane
    /// would else wait for L2 in each step. Where a piece ends within the turn, it has fewer steps.
    /// The norm's factor 1 / rms is left out.
    template <bool Whole, int Room, class X>
    CATENA_FN void add_normed(X& x, const matvec_piece& piece, const matvec_columns& u, int at,
                              row_scales& scales) {
        constexpr int steps = steps_in_flight(P);
        const auto ends = [&](int i) { return !Whole && at + i * step >= piece.values; };
        real v[steps][lane_floats], weight[steps][lane_floats];
        CATENA_UNROLL
        for (int i = 0; i < steps; ++i) {
            if (ends(i)) break;
            load_column<P>(x, u, 0, at + i * step, v[i]);
            load_floats<format::f32>(
                x, reinterpret_cast<const std::byte*>(piece.norm_weight + at + i * step),
                weight[i]);
        }
        CATENA_UNROLL
        for (int i = 0; i < steps; ++i) {
            if (ends(i)) break;
            lane_rows w;
            load_rows<Room>(x, piece, at + i * step, scales, w);
            CATENA_UNROLL
            for (int j = 0; j < lane_floats; ++j) {
                squares_ = fma(v[i][j], v[i][j], squares_);
                v[i][j] = v[i][j] * weight[i][j];
            }
            multiply(w, v[i], 0);
        }
    }

    /// The scales of the lane's first step, which begins at value `k` of a row.
    CATENA_FN static row_scales scales_of(const matvec_piece& piece, int k) {
        const matvec_member& m = *piece.member;
        row_scales out;
        CATENA_UNROLL
        for (int r = 0; r < P.rows; ++r) {
            const bool up = piece.pairs && r >= P.rows / 2;
            const int wanted = piece.row + (up ? r - P.rows / 2 : r);
            const int row = wanted < piece.end_row ? wanted : piece.end_row - 1;
            const float* scales = up ? m.up_scale : m.weight_scale;
            out.row[r] = scales;
            if (scales != nullptr) out.row[r] += scale_index(m, piece.expert, row, 0);
        }
        out.values = m.scale_values;
        const auto values = static_cast<unsigned>(out.values), first = static_cast<unsigned>(k);
        out.at = static_cast<int>(first / values), out.past = static_cast<int>(first % values);
        out.on = static_cast<int>(step / values), out.past_on = static_cast<int>(step % values);
        return out;
    }
};

}  // namespace CATENA_NAMESPACE::kernel
