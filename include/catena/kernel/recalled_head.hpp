// Heads that the gated delta rule makes (chain/ops/delta_rule.hpp): a warp recalls eight values of
// a head for all tokens of a sequence, one token after the other, and holds the rows of the
// sequence's state that make them. A block has the same values of all sequences (sequences.hpp).
#pragma once

#include "catena/kernel/held_state.hpp"
#include "catena/kernel/sequences.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

template <class X, row_policy P>
class recalled_head : held_state<X, P> {
    using base = held_state<X, P>;
    using base::a_, base::m_, base::x_, base::held, base::head_, base::lanes_of_value;
    using base::first_of_value, base::own_value, base::product;
    using typename base::quads, typename base::state_rows;

  public:
    /// `first`: the first value of the head that the warp recalls.
    CATENA_FN recalled_head(X& x, const heads_args& a, const head_member& m, int head, int first,
                            int sequence)
        : base(x, a, m, {m.k, head, first}),
          d_(a.recalled),
          key_head_(key_head_of(a.recalled, m.heads, head)),
          sequence_(sequence) {}

    CATENA_FN void run() {
        if (d_.decay_factor != nullptr) factor_ = x_.load(d_.decay_factor + head_);
        if (d_.decay_bias != nullptr) bias_ = x_.load(d_.decay_bias + head_);
        const int tokens = quotient(a_.tokens, d_.sequences);
        const int begin = sequence_ * tokens, end = begin + tokens;
        x_.grid_wait();
        token_operands now, next;
        state_rows state;
        const int id = d_.state_ids == nullptr ? sequence_ : x_.load(d_.state_ids + sequence_);
        load(begin, now);
        this->load_state(d_.state, id, d_.states, state);
        CATENA_NO_UNROLL
        for (int t = begin; t < end; ++t) {
            if (t + 1 < end) load(t + 1, next);
            const real value = recall(now, state) * real{m_.scale};
            if (first_of_value())
                x_.store(row_at(m_.f32, {m_.f32_nb1, m_.f32_nb2, 0}, {head_, t, 0}) + own_value(),
                         value);
            now = next;
        }
        meet_over_states(x_, d_.sequences);
        if (d_.next_state != nullptr)
            this->store_state(this->state_at(d_.next_state, sequence_), state);
    }

  private:
    const delta_args& d_;
    const int key_head_, sequence_;
    real factor_, bias_;  // of a decay's softplus, and of what that is of

    CATENA_FN static int key_head_of(const delta_args& d, int heads, int head) {
        return d.neighbors ? quotient(head, quotient(heads, d.key_heads))
                           : head - quotient(head, d.key_heads) * d.key_heads;
    }

    /// What a token brings: a query and a key, its decay, and the lane's own value, to which the
    /// state is corrected by the share beta.
    struct token_operands {
        quads query, key, decay;
        real value, beta;
    };

    /// The head's number of a token.
    CATENA_FN real number(const head_numbers& n, int token) const {
        const int group = quotient(head_, n.abreast);
        return x_.load(row_at(n.first, {n.nb1, n.nb2, 0}, {group, token, 0}) + head_ -
                       group * n.abreast);
    }

    CATENA_FN void load(int token, token_operands& o) const {
        this->base::load(
            row_at(d_.queries, {d_.queries_nb1, d_.queries_nb2, 0}, {key_head_, token, 0}),
            o.query);
        this->base::load(row_at(d_.keys, {d_.keys_nb1, d_.keys_nb2, 0}, {key_head_, token, 0}),
                         o.key);
        o.value = x_.load(row_at(d_.values, {d_.values_nb1, d_.values_nb2, 0}, {head_, token, 0}) +
                          own_value());
        o.beta = number(d_.beta, token);
        if (d_.by_value)
            return this->base::load(d_.decay.first + distance(token * m_.heads + head_, m_.k),
                                    o.decay);
        o.decay[0][0] = number(d_.decay, token);
    }

    /// The lane's own value for a token, by whose key the state has been corrected.
    CATENA_FN real recall(const token_operands& o, state_rows& state) {
        let_decay(o, state);
        const real share = d_.logit ? logistic(o.beta) : o.beta;
        const real error = (o.value - product(state, o.key)) * share;
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
        real decay = o.decay[0][0];
        if (d_.decay_bias != nullptr) decay = decay + bias_;
        const real all = exp(d_.decay_factor == nullptr ? decay : softplus(decay) * factor_);
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int e = 0; e < quad; ++e) {
                const real left = d_.by_value ? exp(o.decay[j][e]) : all;
                CATENA_UNROLL
                for (int i = 0; i < values_of_warp; ++i) state[i][j][e] = state[i][j][e] * left;
            }
    }
};

/// The body of a launch that recalls heads.
template <row_policy P, class X>
CATENA_FN void recall_heads(X& x, const heads_args& a) {
    with_values_of_sequence<P>(x, a, a.recalled.sequences, [&](int head, int first, int sequence) {
        recalled_head<X, P>(x, a, a.member[0], head, first, sequence).run();
    });
}

}  // namespace CATENA_NAMESPACE::kernel
