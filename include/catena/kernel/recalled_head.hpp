// Heads that the gated delta rule makes (chain/ops/delta_rule.hpp): a warp recalls eight values of
// a head for all tokens, one token after the other, and keeps the rows of the state that make them
// in registers. Lane t owns elements 4 * (32 j + t) .. + 3 of each row for j = 0, 1, ...
//
// No other warp reads or writes these rows. So a state may be replaced where it lies, and may be
// another one than the one that is read.
#pragma once

#include "catena/kernel/held_head.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// The sums over the warp of values_of_warp numbers of each lane: lane t gets that of number t / 4.
template <class X>
CATENA_FN real sums_of_warp(X& x, real (&v)[values_of_warp]) {
    int mask = warp_size / 2;
    CATENA_UNROLL
    for (int left = values_of_warp / 2; left > 0; left /= 2, mask /= 2) {
        const bool upper = (x.lane() & mask) != 0;
        CATENA_UNROLL
        for (int i = 0; i < left; ++i) {
            const real passed = upper ? v[i] : v[i + left], kept = upper ? v[i + left] : v[i];
            v[i] = kept + x.shuffle_xor(passed, mask);
        }
    }
    CATENA_UNROLL
    for (; mask > 0; mask /= 2) v[0] = v[0] + x.shuffle_xor(v[0], mask);
    return v[0];
}

template <class X, row_policy P>
class recalled_head : held_head<X, P> {
    using base = held_head<X, P>;
    using base::a_, base::m_, base::x_, base::held;
    using typename base::quads;

  public:
    /// `first`: the first value of the head that the warp recalls.
    CATENA_FN recalled_head(X& x, const heads_args& a, const head_member& m, int head, int first)
        : base(x, a, m), d_(a.recalled), head_(head), first_(first) {}

    CATENA_FN void run() {
        factor_ = d_.decay_factor == nullptr ? real{1} : real{x_.load(d_.decay_factor + head_)};
        x_.grid_wait();
        token_operands now, next;
        state_rows state;
        const int id = d_.state_id == nullptr ? 0 : x_.load(d_.state_id);
        load(0, now);
        load_state(id, state);
        CATENA_NO_UNROLL
        for (int t = 0; t < a_.tokens; ++t) {
            if (t + 1 < a_.tokens) load(t + 1, next);
            const real value = recall(now, state) * real{m_.scale};
            if (first_of_value())
                x_.store(row_at(m_.f32, {m_.f32_nb1, m_.f32_nb2, 0}, {head_, t, 0}) + own_value(),
                         value);
            now = next;
        }
        if (d_.next_state != nullptr) store_state(state);
    }

  private:
    const delta_args& d_;
    const int head_, first_;
    real factor_;  // of a decay's softplus

    /// The warp's rows of the state, for a value of the head each.
    using state_rows = quads[values_of_warp];

    /// What a token brings: a query and a key, its decay, and the lane's own value, to which the
    /// state is corrected by the share beta.
    struct token_operands {
        quads query, key, decay;
        real value, beta;
    };

    static constexpr int lanes_of_value = warp_size / values_of_warp;
    /// Lanes of four have the same value of the head.
    CATENA_FN int own_value() const { return first_ + x_.lane() / lanes_of_value; }
    CATENA_FN bool first_of_value() const { return x_.lane() % lanes_of_value == 0; }

    CATENA_FN void load(int token, token_operands& o) const {
        const int key_head = head_ - quotient(head_, d_.key_heads) * d_.key_heads;
        const int head = token * m_.heads + head_;  // where heads of tokens have no gaps
        this->base::load(
            row_at(d_.queries, {d_.queries_nb1, d_.queries_nb2, 0}, {key_head, token, 0}), o.query);
        this->base::load(row_at(d_.keys, {d_.keys_nb1, d_.keys_nb2, 0}, {key_head, token, 0}),
                         o.key);
        o.value = x_.load(row_at(d_.values, {d_.values_nb1, d_.values_nb2, 0}, {head_, token, 0}) +
                          own_value());
        o.beta = x_.load(d_.beta + head);
        if (d_.by_value) return this->base::load(d_.decay + distance(head, m_.k), o.decay);
        o.decay[0][0] = x_.load(d_.decay + head);
    }

    /// The lane's own value for a token, by whose key the state has been corrected.
    CATENA_FN real recall(const token_operands& o, state_rows& state) {
        let_decay(o, state);
        const real error = (o.value - product(state, o.key)) * o.beta;
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) {
            const real by = x_.shuffle(error, i * lanes_of_value);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int e = 0; e < quad; ++e)
                    state[i][j][e] = fma(o.key[j][e], by, state[i][j][e]);
        }
        return product(state, o.query);
    }

    CATENA_FN void let_decay(const token_operands& o, state_rows& state) const {
        const real decay = o.decay[0][0];
        const real all = exp(d_.decay_factor == nullptr ? decay : softplus(decay) * factor_);
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int e = 0; e < quad; ++e) {
                const real left = d_.by_value ? exp(o.decay[j][e]) : all;
                CATENA_UNROLL
                for (int i = 0; i < values_of_warp; ++i) state[i][j][e] = state[i][j][e] * left;
            }
    }

    CATENA_FN real product(const state_rows& state, const quads& v) {
        real sums[values_of_warp];
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) {
            sums[i] = real{0};
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int e = 0; e < quad; ++e) sums[i] = fma(state[i][j][e], v[j][e], sums[i]);
        }
        return sums_of_warp(x_, sums);
    }

    /// The warp's row i of the head in a state.
    template <class T>
    CATENA_FN T* row_of(T* state, int i) const {
        return row_at(state, {4 * m_.k, 0, 0}, {head_ * m_.k + first_ + i, 0, 0});
    }

    CATENA_FN void load_state(int id, state_rows& state) const {
        const bool there = id >= 0 && id < d_.states;
        const float* const from = d_.state + distance(there ? id : 0, m_.heads * m_.k * m_.k);
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) {
            this->base::load(row_of(from, i), state[i]);
            if (there) continue;
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int e = 0; e < quad; ++e) state[i][j][e] = from_bits(f32_nan_bits);
        }
    }
    CATENA_FN void store_state(const state_rows& state) const {
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) this->write(row_of(d_.next_state, i), state[i]);
    }
};

/// The body of a launch that recalls heads.
template <row_policy P, class X>
CATENA_FN void recall_heads(X& x, const heads_args& a) {
    const int row = x.block() * rows_of_block(P) + x.warp();
    if (row >= a.rows) return x.grid_wait();
    const head_member& m = a.member[0];
    const int of_head = quotient(m.k, values_of_warp), head = quotient(row, of_head);
    recalled_head<X, P>(x, a, m, head, (row - head * of_head) * values_of_warp).run();
}

}  // namespace CATENA_NAMESPACE::kernel
