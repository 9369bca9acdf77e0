// A launch that scans the state spaces of sequences, read off its arguments, as
// kernel/scanned_head.hpp says what it does with them.
#pragma once

#include "catena/plan/detail/verify/delta_launch.hpp"
#include "catena/plan/detail/verify/scan_values.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class scan_launch : public delta_launch {
  public:
    using delta_launch::delta_launch;

  protected:
    void scan(const row& r, const heads_args& a) {
        const scan_args& s = a.scanned;
        const head_member& m = a.member[0];
        const scanned_shape n{s.size,     m.k, m.heads, s.groups, quotient(a.tokens, s.sequences),
                              s.sequences};
        const std::uint64_t to = r.policy.row().vector ? 16 : 4;
        const auto heads = [&](const float* p, std::int64_t nb, const char* name) {
            return read_at(aligned_rows(p, 4, name, n.k, n.heads, 4 * n.k, a.tokens, nb), name);
        };
        const auto groups = [&](const float* p, std::int64_t nb, const char* name) {
            return read_at(aligned_rows(p, to, name, n.size, n.groups, 4 * n.size, a.tokens, nb),
                           name);
        };
        scanned_from by;
        by.state = states(s, n, to);
        by.x = heads(s.x, s.x_nb, "x");
        by.dt = steps(s, n);
        by.a = constant(s.a, n.heads, 4, "the decays");
        by.b = groups(s.b, s.b_nb, "b");
        by.c = groups(s.c, s.c_nb, "c");
        by.ids = read_at(numbers(s), "the numbers of states");
        const value all = scanned(by, n);
        value v = values_of(all, n);
        if (s.d != nullptr) v = plus(v, times(by.x, of_heads(constant(s.d, n.heads, 4, "d"), n)));
        if (s.z != nullptr) v = gated(gate_function::silu, heads(s.z, s.z_nb, "z"), v, 0, 0);
        if (s.next_state != nullptr)
            write(
                aligned_rows(s.next_state, to, "the states", n.state(), n.sequences, 4 * n.state()),
                states_of(all, n), "the states", 0);
        write(aligned_rows(m.f32, 4, "the heads", n.k, n.heads, m.f32_nb1, a.tokens, m.f32_nb2), v,
              "the heads", reads.size());
    }

  private:
    value states(const scan_args& s, const scanned_shape& n, std::uint64_t to) {
        const std::int64_t bytes = 4 * n.state();
        return states_at({s.state, s.next_state, n.state(), bytes, s.states, n.sequences}, to,
                         "the states");
    }

    region numbers(const scan_args& s) {
        aligned(address_of(s.state_ids), 4, "the numbers of states");
        return rows_at(s.state_ids, s.sequences, 1, 0);
    }

    /// What a step is softplus of.
    value steps(const scan_args& s, const scanned_shape& n) {
        const value v =
            read_at(aligned_rows(s.dt, 4, "dt", n.heads, n.all_tokens(), s.dt_nb), "dt");
        if (s.dt_bias == nullptr) return v;
        const value bias = constant(s.dt_bias, n.heads, 4, "the bias of dt");
        return plus(v, of_rows(bias, n.heads, n.all_tokens()));
    }
};

}  // namespace CATENA_NAMESPACE::proof
