// The heads that a convolution makes (chain/ops/convolve.hpp): a warp computes a head of all tokens
// of a sequence, one token after the other, and keeps the last values of its channels in registers.
//
// A block has a head of all sequences. Its warps have read the states of these channels before one
// of them replaces a state, and no other block does either. So states may be replaced where they
// lie, and a sequence may read the state that another one replaces.
#pragma once

#include "catena/kernel/held_head.hpp"
#include "catena/kernel/sequences.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

template <class X, row_policy P>
class convolved_head : held_head<X, P> {
    using base = held_head<X, P>;
    using base::a_, base::m_, base::x_, base::held;
    using typename base::quads;

  public:
    CATENA_FN convolved_head(X& x, const heads_args& a, const head_member& m, int head,
                             int sequence)
        : base(x, a, m), head_(head), first_(m.first_channel + head * m.k), sequence_(sequence) {}

    CATENA_FN void run() {
        static_assert(min_taps == 3 && max_taps == 4, "one call for each number of taps");
        if (a_.convolved.length == 3)
            convolve<3>();
        else
            convolve<4>();
    }

  private:
    const int head_, first_;  // the first channel of the head
    const int sequence_;

    /// `Count` neighboring numbers of each channel.
    template <int Count>
    using of_channels = real[base::held][quad * Count];

    template <int Count>
    CATENA_FN void load_all(const float* row, of_channels<Count>& to) const {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) CATENA_UNROLL
        for (int q = 0; q < Count; ++q) {
            real four[quad];
            load_quad<P.vector>(x_, row, Count * this->at(j) + quad * q, Count * m_.k, four);
            for (int i = 0; i < quad; ++i) to[j][quad * q + i] = four[i];
        }
    }

    template <int Length>
    CATENA_FN void convolve() {
        const convolution_args& c = a_.convolved;
        of_channels<Length> taps;
        of_channels<Length - 1> before;
        quads bias;
        load_all<Length>(c.taps + Length * first_, taps);
        if (c.bias != nullptr) this->load(c.bias + first_, bias);
        const int tokens = quotient(a_.tokens, c.sequences);
        const int first = sequence_ * tokens, end = first + tokens;
        x_.grid_wait();
        load_state<Length - 1>(before);
        CATENA_NO_UNROLL
        for (int t = first; t < end; ++t) {
            quads v;
            this->load(row_at(c.x + first_, {c.x_nb, 0, 0}, {t, 0, 0}), v);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) CATENA_UNROLL
            for (int i = 0; i < quad; ++i) v[j][i] = next<Length>(before[j], taps[j], i, v[j][i]);
            finish(t, bias, v);
        }
        meet_over_states(x_, c.sequences);
        if (c.next_state != nullptr) store_state<Length - 1>(before);
    }

    /// The sum of channel i, whose new value becomes the last one of `before`.
    template <int Length>
    CATENA_FN static real next(real (&before)[quad * (Length - 1)],
                               const real (&taps)[quad * Length], int i, real value) {
        constexpr int kept = Length - 1;
        real sum = before[kept * i] * taps[Length * i];
        CATENA_UNROLL
        for (int t = 1; t < kept; ++t) sum = fma(before[kept * i + t], taps[Length * i + t], sum);
        sum = fma(value, taps[Length * i + kept], sum);
        CATENA_UNROLL
        for (int t = 1; t < kept; ++t) before[kept * i + t - 1] = before[kept * i + t];
        before[kept * i + kept - 1] = value;
        return sum;
    }

    CATENA_FN void finish(int token, const quads& bias, quads& v) {
        const convolution_args& c = a_.convolved;
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) {
                if (c.bias != nullptr) v[j][i] = v[j][i] + bias[j][i];
                if (c.function == gate_function::silu) v[j][i] = v[j][i] * logistic(v[j][i]);
            }
        if (c.f32 != nullptr)
            this->write(row_at(c.f32 + first_, {c.f32_nb, 0, 0}, {token, 0, 0}), v);
        if (m_.normed) this->scale(this->norm_of(v), v);
        if (m_.scale != 1) this->scale(real{m_.scale}, v);
        if (m_.f32 != nullptr) this->write_f32(head_, token, v);
    }

    template <int Kept>
    CATENA_FN void load_state(of_channels<Kept>& to) const {
        const convolution_args& c = a_.convolved;
        const int id = c.state_ids == nullptr ? sequence_ : x_.load(c.state_ids + sequence_);
        const bool there = id >= 0 && id < c.states;
        load_all<Kept>(row_at(c.state + Kept * first_, {c.state_nb, 0, 0}, {there ? id : 0, 0, 0}),
                       to);
        if (there) return;
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad * Kept; ++i) to[j][i] = from_bits(f32_nan_bits);
    }

    template <int Kept>
    CATENA_FN void store_state(const of_channels<Kept>& from) const {
        const convolution_args& c = a_.convolved;
        float* const row =
            row_at(c.next_state + Kept * first_, {c.next_state_nb, 0, 0}, {sequence_, 0, 0});
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) CATENA_UNROLL
        for (int q = 0; q < Kept; ++q) {
            real four[quad];
            for (int i = 0; i < quad; ++i) four[i] = from[j][quad * q + i];
            store_quad<P.vector>(x_, row, Kept * this->at(j) + quad * q, Kept * m_.k, four);
        }
    }
};

/// The body of a launch that convolves.
template <row_policy P, class X>
CATENA_FN void convolve_heads(X& x, const heads_args& a) {
    const int sequences = a.convolved.sequences;
    with_row_of_sequence<P>(x, a, sequences, [&](int row) {
        const head_member& m = member_with(a, row);
        const int head = quotient(row - m.first_row, sequences);
        const int sequence = row - m.first_row - head * sequences;
        convolved_head<X, P>(x, a, m, head, sequence).run();
    });
}

}  // namespace CATENA_NAMESPACE::kernel
