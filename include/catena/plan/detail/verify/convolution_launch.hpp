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

    /// States in memory, of which numbers pick some, and those behind the last tokens.
    struct state_rows {
        const float* from = nullptr;
        const float* next = nullptr;            ///< null: not written
        std::int64_t count = 0, nb = 0;         ///< numbers of a state; bytes from state to state
        std::int64_t states = 0, replaced = 0;  ///< how many are read, and written
    };

    /// All states of which some are picked. Those that are replaced may be some of them: no other
    /// element is read where the launch writes.
    value states_at(const state_rows& s, std::uint64_t to, const char* name) {
        const auto rows = [&](std::int64_t first, std::int64_t n) {
            return rows_at(address_of(s.from) + static_cast<std::uint64_t>(first * s.nb), s.count,
                           n, s.nb);
        };
        const auto look_at = [&](std::int64_t first, std::int64_t end, bool replaced) {
            if (first < end) reads.push_back({rows(first, end - first), name, replaced});
        };
        aligned(address_of(s.from), to, name);
        if (s.states > 1) aligned(static_cast<std::uint64_t>(s.nb), to, name);
        const auto behind = static_cast<std::int64_t>(address_of(s.next) - address_of(s.from));
        const std::int64_t first = behind >= 0 ? std::min(behind / s.nb, s.states) : s.states;
        const std::int64_t end = std::min(first + s.replaced, s.states);
        look_at(0, first, false), look_at(first, end, true), look_at(end, s.states, false);
        return read(rows(0, s.states));
    }

  private:
    value states(const convolution_args& c, std::uint64_t to) {
        const std::int64_t count = std::int64_t{c.length - 1} * c.channels;
        const value all = states_at(
            {c.state, c.next_state, count, c.state_nb, c.states, c.sequences}, to, "the states");
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
