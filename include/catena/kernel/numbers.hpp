// The inner product of weights that are numbers, f32, f16, bf16 or fp8_e4m3, with an f32
// activation: of a step of 256 values a lane owns 8 next to each other. It multiplies them in their
// order, by fma, and its steps in the order of K; then the warp adds its lanes as dot.hpp does.
// Eight values of fp8 are added up alone, and then multiplied with their scale. Where the
// activation is a norm that is made in passing, a lane multiplies its values with the norm's weight
// first, and adds their squares.
#pragma once

#include "catena/kernel/dot.hpp"
#include "catena/kernel/minifloat.hpp"
#include "catena/kernel/reduce.hpp"

namespace catena::kernel {

inline constexpr int lane_numbers = 8;  ///< values of a lane in a step

/// A lane's values from `p` on, which lies in a stage, or is of an f32 activation.
template <format F, class X>
CATENA_FN void load_numbers(X& x, const std::byte* p, real (&v)[lane_numbers]) {
    static_assert(
        F == format::f32 || F == format::f16 || F == format::bf16 || F == format::fp8_e4m3,
        "these weights are no numbers: they want an integer inner product");
    constexpr int words = lane_numbers * block_bytes<F> / 4, values = lane_numbers / words;
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
    for (int i = 0; i < lane_numbers; ++i) {
        const unsigned bits = word[i / values] >> (i % values * (32 / values) % 32);
        if constexpr (F == format::f32)
            v[i] = from_bits(bits);
        else if constexpr (F == format::f16)
            v[i] = from_half(static_cast<std::uint16_t>(bits & 0xffffu));
        else if constexpr (F == format::bf16)
            v[i] = from_bits(bits << 16);
        else
            v[i] = from_e4m3(bits & 0xffu);
    }
}

template <matvec_policy P, format F>
struct product<P, F, inner_product::fma> : lane_sums<P> {
    static constexpr int step = warp_size * lane_numbers;
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
        CATENA_NO_UNROLL
        for (int at = x.lane() * lane_numbers; at < piece.values; at += step) {
            real w[P.rows][lane_numbers], scale[P.rows];
            CATENA_UNROLL
            for (int r = 0; r < P.rows; ++r) {
                load_numbers<F>(x, piece.rows + r * Room + at * block_bytes<F>, w[r]);
                if constexpr (scaled) scale[r] = scale_of(x, piece, r, piece.value + at);
            }
            CATENA_UNROLL
            for (int c = 0; c < P.columns; ++c) {
                if (c > 0 && c >= u.count) continue;
                real v[lane_numbers];
                load_numbers<format::f32>(x, u.x + c * u.x_bytes + at * 4, v);
                if constexpr (norms) norm(x, piece.norm_weight + at, v);
                CATENA_UNROLL
                for (int r = 0; r < P.rows; ++r) {
                    real& sum = this->of(r, c);
                    real part = scaled ? real{0} : sum;
                    CATENA_UNROLL
                    for (int i = 0; i < lane_numbers; ++i) part = fma(w[r][i], v[i], part);
                    sum = scaled ? fma(scale[r], part, sum) : part;
                }
            }
        }
    }

  private:
    real squares_;  // of the values that this lane has multiplied

    /// All of the norm but for its 1 / rms.
    template <class X>
    CATENA_FN void norm(X& x, const float* weight, real (&v)[lane_numbers]) {
        real w[lane_numbers];
        load_numbers<format::f32>(x, reinterpret_cast<const std::byte*>(weight), w);
        CATENA_UNROLL
        for (int i = 0; i < lane_numbers; ++i) {
            squares_ = fma(v[i], v[i], squares_);
            v[i] = v[i] * w[i];
        }
    }

    /// Row r of the group, at value `k`.
    template <class X>
    CATENA_FN static real scale_of(X& x, const matvec_piece& piece, int r, int k) {
        const matvec_member& m = *piece.member;
        const bool up = piece.pairs && r >= P.rows / 2;
        const int wanted = piece.row + (up ? r - P.rows / 2 : r);
        const int row = wanted < piece.end_row ? wanted : piece.end_row - 1;
        const float* scales = up ? m.up_scale : m.weight_scale;
        return scales == nullptr ? real{1} : x.load(scales + scale_index(m, piece.expert, row, k));
    }
};

}  // namespace catena::kernel
