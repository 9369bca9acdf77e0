// A launch that recalls heads from the state of a sequence, read off its arguments, as
// kernel/recalled_head.hpp says what it does with them.
#pragma once

#include "catena/plan/detail/verify/convolution_launch.hpp"
#include "catena/plan/detail/verify/delta_values.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class delta_launch : public convolution_launch {
  public:
    using convolution_launch::convolution_launch;

  protected:
    void recall(const row& r, const heads_args& a) {
        const delta_args& d = a.recalled;
        const head_member& m = a.member[0];
        const recalled_shape n{m.k, m.heads, d.key_heads, quotient(a.tokens, d.sequences),
                               d.sequences};
        const std::uint64_t to = r.policy.row().vector ? 16 : 4;
        const auto heads_at = [&](const float* p, std::int64_t heads, std::int64_t nb1,
                                  std::int64_t nb2, const char* name) {
            return read_at(aligned_rows(p, to, name, n.k, heads, nb1, a.tokens, nb2), name);
        };
        recalled_from by;
        by.queries = of_keys(
            d, heads_at(d.queries, n.key_heads, d.queries_nb1, d.queries_nb2, "queries"), n);
        by.keys = of_keys(d, heads_at(d.keys, n.key_heads, d.keys_nb1, d.keys_nb2, "keys"), n);
        by.values = heads_at(d.values, n.heads, d.values_nb1, d.values_nb2, "values");
        by.decay = decay(d, n, to);
        by.beta = numbers(d.beta, n, "shares of errors");
        if (d.logit) by.beta = function_of(gate_function::sigmoid, by.beta);
        by.state = states(d, n, to);
        const value all = recalled(by, d.neighbors ? with_own_keys(n) : n, m.scale);
        if (d.next_state != nullptr)
            write(
                aligned_rows(d.next_state, to, "the states", n.state(), n.sequences, 4 * n.state()),
                states_of(all, n), "the states", 0);
        write(aligned_rows(m.f32, to, "the heads", n.k, n.heads, m.f32_nb1, a.tokens, m.f32_nb2),
              values_of(all, n), "the heads", reads.size());
    }

  private:
    /// Heads that neighbors share, as if each had one of its own.
    static value of_keys(const delta_args& d, const value& v, const recalled_shape& n) {
        if (!d.neighbors) return v;
        spreading s;
        s.add(n.k, false);
        s.add(n.heads / n.key_heads, true);
        s.add(n.key_heads * n.all_tokens(), false);
        return s.of(v);
    }
    static recalled_shape with_own_keys(recalled_shape n) {
        n.key_heads = n.heads;
        return n;
    }

    /// A number of each head of each token.
    value numbers(const head_numbers& at, const recalled_shape& n, const char* name) {
        return read_at(aligned_rows(at.first, 4, name, at.abreast, n.heads / at.abreast, at.nb1,
                                    n.all_tokens(), at.nb2),
                       name);
    }

    value decay(const delta_args& d, const recalled_shape& n, std::uint64_t to) {
        const std::int64_t tokens = n.all_tokens();
        if (d.by_value) return vector(d.decay.first, n.k * n.heads * tokens, to, "the decay");
        value v = numbers(d.decay, n, "the decay");
        if (d.decay_factor == nullptr) return v;
        if (d.decay_bias != nullptr)
            v = plus(v, of_rows(constant(d.decay_bias, n.heads, 4, "the bias of a decay"), n.heads,
                                tokens));
        const value factor = constant(d.decay_factor, n.heads, 4, "the factor of a decay");
        return times(softplus(v), of_rows(factor, n.heads, tokens));
    }

    /// The states that their numbers pick.
    value states(const delta_args& d, const recalled_shape& n, std::uint64_t to) {
        const std::int64_t count = n.state();
        const value all = states_at(
            {d.state, d.next_state, count, 4 * count, d.states, n.sequences}, to, "the states");
        if (d.state_ids == nullptr) return all;
        aligned(address_of(d.state_ids), 4, "the numbers of states");
        return picked_rows(
            all, read_at(rows_at(d.state_ids, n.sequences, 1, 0), "the numbers of states"), count);
    }
};

}  // namespace CATENA_NAMESPACE::proof
