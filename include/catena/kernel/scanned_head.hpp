// Heads that a state space makes (chain/ops/ssm_scan.hpp): a warp makes eight values of a head for
// all tokens of a sequence, one token after the other, and holds the rows of the sequence's state
// that make them. A block has the same values of all sequences (sequences.hpp).
#pragma once

#include "catena/kernel/held_state.hpp"
#include "catena/kernel/sequences.hpp"

namespace CATENA_NAMESPACE::kernel {

template <class X, row_policy P>
class scanned_head : held_state<X, P> {
    using base = held_state<X, P>;
    using base::a_, base::m_, base::x_, base::held, base::size_, base::head_, base::lanes_of_value;
    using base::first_of_value, base::own_value, base::product;
    using typename base::quads, typename base::state_rows;

  public:
    /// `first`: the first value of the head that the warp makes.
    CATENA_FN scanned_head(X& x, const heads_args& a, const head_member& m, int head, int first,
                           int sequence)
        : base(x, a, m, {a.scanned.size, head, first}),
          s_(a.scanned),
          group_(quotient(head, quotient(m.heads, a.scanned.groups))),
          sequence_(sequence) {}

    CATENA_FN void run() {
        load_constants();
        const int tokens = quotient(a_.tokens, s_.sequences);
        const int begin = sequence_ * tokens, end = begin + tokens;
        x_.grid_wait();
        token_operands now, next;
        state_rows state;
        const int id = x_.load(s_.state_ids + sequence_);
        load(begin, now);
        this->load_state(s_.state, id, s_.states, state);
        CATENA_NO_UNROLL
        for (int t = begin; t < end; ++t) {
            if (t + 1 < end) load(t + 1, next);
            const real value = scan(now, state);
            if (first_of_value())
                x_.store(row_at(m_.f32, {m_.f32_nb1, m_.f32_nb2, 0}, {head_, t, 0}) + own_value(),
                         value);
            now = next;
        }
        meet_over_states(x_, s_.sequences);
        if (s_.next_state != nullptr)
            this->store_state(this->state_at(s_.next_state, sequence_), state);
    }

  private:
    const scan_args& s_;
    const int group_, sequence_;
    real dt_bias_, decay_, skip_;  // the head's dt_bias, a and d

    /// What a token brings: b and c of the group, the head's dt, and x and z of the lane's own
    /// value.
    struct token_operands {
        quads b, c;
        real dt, value, gate;
    };

    CATENA_FN void load_constants() {
        decay_ = x_.load(s_.a + head_);
        if (s_.dt_bias != nullptr) dt_bias_ = x_.load(s_.dt_bias + head_);
        if (s_.d != nullptr) skip_ = x_.load(s_.d + head_);
    }

    /// The lane's own value of a token's x or z.
    CATENA_FN real load_own(const float* values, std::int64_t nb, int token) const {
        return x_.load(row_at(values, {4 * m_.k, nb, 0}, {head_, token, 0}) + own_value());
    }

    CATENA_FN void load(int token, token_operands& o) const {
        o.dt = x_.load(row_at(s_.dt, {s_.dt_nb, 0, 0}, {token, 0, 0}) + head_);
        o.value = load_own(s_.x, s_.x_nb, token);
        this->base::load(row_at(s_.b, {4 * size_, s_.b_nb, 0}, {group_, token, 0}), size_, o.b);
        this->base::load(row_at(s_.c, {4 * size_, s_.c_nb, 0}, {group_, token, 0}), size_, o.c);
        if (s_.z != nullptr) o.gate = load_own(s_.z, s_.z_nb, token);
    }

    /// The lane's own value for a token, which has changed the state.
    CATENA_FN real scan(const token_operands& o, state_rows& state) {
        const real step = softplus_of_step(s_.dt_bias != nullptr ? o.dt + dt_bias_ : o.dt);
        const real left = exp(decay_ * step), received = o.value * step;
        CATENA_UNROLL
        for (int i = 0; i < values_of_warp; ++i) {
            const real by = x_.shuffle(received, i * lanes_of_value);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int e = 0; e < quad; ++e)
                    state[i][j][e] = fma(o.b[j][e], by, state[i][j][e] * left);
        }
        real value = product(state, o.c);
        if (s_.d != nullptr) value = fma(skip_, o.value, value);
        if (s_.z != nullptr) value = value * (o.gate * logistic(o.gate));
        return value;
    }
};

/// The body of a launch that scans.
template <row_policy P, class X>
CATENA_FN void scan_heads(X& x, const heads_args& a) {
    with_values_of_sequence<P>(x, a, a.scanned.sequences, [&](int head, int first, int sequence) {
        scanned_head<X, P>(x, a, a.member[0], head, first, sequence).run();
    });
}

}  // namespace CATENA_NAMESPACE::kernel
