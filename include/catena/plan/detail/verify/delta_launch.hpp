// A launch that recalls heads from the state of a sequence, read off its arguments, as
// kernel/recalled_head.hpp says what it does with them.
#pragma once

#include "catena/plan/detail/verify/convolution_launch.hpp"
#include "catena/plan/detail/verify/delta_values.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class delta_launch : public convolution_launch {
  public:
    using convolution_launch::convolution_launch;

  protected:
    void recall(const row& r, const heads_args& a) {
        const delta_args& d = a.recalled;
        const head_member& m = a.member[0];
        const recalled_shape n{m.k, m.heads, d.key_heads, a.tokens};
        const std::uint64_t to = r.policy.row().vector ? 16 : 4;
        const auto heads_at = [&](const float* p, std::int64_t heads, std::int64_t nb1,
                                  std::int64_t nb2, const char* name) {
            return read_at(aligned_rows(p, to, name, n.k, heads, nb1, n.tokens, nb2), name);
        };
        recalled_from by;
        by.queries = heads_at(d.queries, n.key_heads, d.queries_nb1, d.queries_nb2, "queries");
        by.keys = heads_at(d.keys, n.key_heads, d.keys_nb1, d.keys_nb2, "keys");
        by.values = heads_at(d.values, n.heads, d.values_nb1, d.values_nb2, "values");
        by.decay = decay(d, n, to);
        by.beta = vector(d.beta, n.heads * n.tokens, 4, "shares of errors");
        by.state = state(d, n, to);
        const value all = recalled(by, n, m.scale);
        if (d.next_state != nullptr)
            write(aligned_rows(d.next_state, to, "the state", n.state(), 1, 0), state_of(all, n),
                  "the state", 0);
        write(aligned_rows(m.f32, to, "the heads", n.k, n.heads, m.f32_nb1, n.tokens, m.f32_nb2),
              values_of(all, n), "the heads", reads.size());
    }

  private:
    value decay(const delta_args& d, const recalled_shape& n, std::uint64_t to) {
        const std::int64_t rows = n.heads * n.tokens;
        if (d.by_value) return vector(d.decay, n.k * rows, to, "the decay");
        const value v = vector(d.decay, rows, 4, "the decay");
        if (d.decay_factor == nullptr) return v;
        early.push_back({rows_at(d.decay_factor, n.heads, 1, 0), "the factor of a decay", false});
        const value factor = vector(d.decay_factor, n.heads, 4, early.back().name);
        return times(softplus(v), of_rows(factor, n.heads, n.tokens));
    }

    /// The state that its number picks. The one that is replaced may be it: no other element is
    /// read where the launch writes.
    value state(const delta_args& d, const recalled_shape& n, std::uint64_t to) {
        const std::int64_t count = n.state(), bytes = 4 * count;
        const auto rows = [&](std::int64_t first, std::int64_t states) {
            return rows_at(address_of(d.state) + static_cast<std::uint64_t>(first * bytes), count,
                           states, bytes);
        };
        const auto look_at = [&](std::int64_t first, std::int64_t end, bool replaced) {
            if (first < end) reads.push_back({rows(first, end - first), "the state", replaced});
        };
        aligned(address_of(d.state), to, "the state");
        const auto behind =
            static_cast<std::int64_t>(address_of(d.next_state) - address_of(d.state));
        const std::int64_t first =
            behind >= 0 ? std::min(behind / bytes, std::int64_t{d.states}) : d.states;
        const std::int64_t end = std::min(first + 1, std::int64_t{d.states});
        look_at(0, first, false), look_at(first, end, true), look_at(end, d.states, false);
        const value all = read(rows(0, d.states));
        if (d.state_id == nullptr) return all;
        aligned(address_of(d.state_id), 4, "the number of the state");
        return picked_rows(all, read_at(rows_at(d.state_id, 1, 1, 0), "the number of the state"),
                           count);
    }
};

}  // namespace CATENA_NAMESPACE::proof
