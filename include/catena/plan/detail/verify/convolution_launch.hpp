// A launch that convolves and norms heads, read off its arguments, as kernel/convolved_head.hpp
// says what it does with them.
#pragma once

#include "catena/plan/detail/verify/convolution_values.hpp"
#include "catena/plan/detail/verify/head_launch.hpp"

#include <algorithm>
#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class convolution_launch : public head_launch {
  public:
    using head_launch::head_launch;

  protected:
    void convolve(const row& r, const heads_args& a) {
        const convolution_args& c = a.convolved;
        const std::uint64_t to = r.policy.row().vector ? 16 : 4;
        const std::int64_t channels = c.channels, tokens = a.tokens;
        const convolved_shape n{c.length, quotient(tokens, c.sequences), channels, c.sequences};
        aligned(address_of(c.x), to, "the tokens");
        if (tokens > 1) aligned(static_cast<std::uint64_t>(c.x_nb), to, "the tokens");
        region columns(address_of(c.x), 4);
        columns.add(n.tokens, c.x_nb);
        columns.add(channels, 4);
        columns.add(n.sequences, n.tokens * c.x_nb);
        const value x = read_at(columns, "the tokens", true);
        const value all = joined(states(c, to), x, n);
        const value taps = constant(c.taps, c.length * channels, to, "the taps");
        value v = convolved(all, taps, n);
        if (c.bias != nullptr)
            v = plus(v, of_rows(constant(c.bias, channels, to, "the bias"), channels, tokens));
        v = function_of(c.function, v);
        if (c.next_state != nullptr)
            write(aligned_rows(c.next_state, to, "the states", n.kept() * channels, n.sequences,
                               c.next_state_nb),
                  last_of(all, n), "the states", 0);
        if (c.f32 != nullptr)
            write(aligned_rows(c.f32, to, "the result", channels, tokens, c.f32_nb), v,
                  "the result", 0);
        for (std::int32_t i = 0; i < a.members; ++i) heads_of(v, a, a.member[i], to);
    }

  private:
    value constant(const float* p, std::int64_t count, std::uint64_t to, const char* name) {
        early.push_back({rows_at(p, count, 1, 0), name, false});
        return vector(p, count, to, name);
    }

    /// The states that the numbers pick. Those that are replaced may be some of them: no other
    /// element is read where the launch writes.
    value states(const convolution_args& c, std::uint64_t to) {
        const std::int64_t count = std::int64_t{c.length - 1} * c.channels;
        const auto rows = [&](std::int64_t first, std::int64_t n) {
            return rows_at(address_of(c.state) + static_cast<std::uint64_t>(first * c.state_nb),
                           count, n, c.state_nb);
        };
        const auto look_at = [&](std::int64_t first, std::int64_t end, bool replaced) {
            if (first < end) reads.push_back({rows(first, end - first), "the states", replaced});
        };
        aligned(address_of(c.state), to, "the states");
        if (c.states > 1) aligned(static_cast<std::uint64_t>(c.state_nb), to, "the states");
        const std::int64_t behind =
            static_cast<std::int64_t>(address_of(c.next_state) - address_of(c.state));
        const std::int64_t first =
            behind >= 0 ? std::min(behind / c.state_nb, std::int64_t{c.states}) : c.states;
        const std::int64_t end = std::min(first + c.sequences, std::int64_t{c.states});
        look_at(0, first, false), look_at(first, end, true), look_at(end, c.states, false);
        const value all = read(rows(0, c.states));
        if (c.state_ids == nullptr) return all;
        aligned(address_of(c.state_ids), 4, "the numbers of states");
        return picked_rows(
            all, read_at(rows_at(c.state_ids, c.sequences, 1, 0), "the numbers of states"), count);
    }

    /// Heads of the convolved value, normed.
    void heads_of(const value& v, const heads_args& a, const head_member& m, std::uint64_t to) {
        if (m.f32 == nullptr) return;
        const std::int64_t channels = a.convolved.channels;
        const region whole = rows_at(nullptr, channels, a.tokens, 4 * channels);
        const region part = rows_at(nullptr, m.k, m.heads, 4 * m.k, a.tokens, 4 * channels);
        value own = part.same_elements(whole)
                        ? v
                        : part_of(v, whole, part, 4 * static_cast<std::uint64_t>(m.first_channel));
        if (m.normed) own = normed(term::rms_norm, own, m.eps, m.k);
        write(aligned_rows(m.f32, to, "the heads", m.k, m.heads, m.f32_nb1, a.tokens, m.f32_nb2),
              times(own, m.scale), "the heads", reads.size());
    }
};

}  // namespace CATENA_NAMESPACE::proof
