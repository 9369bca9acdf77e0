// ssm_scan: a selective state space (Dao, Gu, "Transformers are SSMs", 2024: Mamba-2). A sequence
// has a state: for each value of a head a row of numbers. A token of step softplus(dt) leaves
// e^(a * step) of it and adds b * x * step. The product of the row with c is the value; d * x is
// added to it, and silu(z) is its gate. The state behind the last token replaces it.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>

namespace CATENA_NAMESPACE::chain {

struct ssm_scan_op {
    static constexpr bool is_op = true;
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::ssm_scan;

    static void apply(evaluation& e, const stage&) {
        const inputs& in = e.in;
        const std::int64_t tokens = in.rows / in.heads, n = in.state_size;
        expect_elements("dt", in.dt, in.rows);
        expect_elements("a", in.a, in.heads);
        expect_elements("b", in.b, n * in.groups * tokens);
        expect_elements("c", in.c, n * in.groups * tokens);
        if (!in.d.empty()) expect_elements("d", in.d, in.heads);
        if (!in.z.empty()) expect_elements("z", in.z, in.k * in.rows);
        expect_elements("state", in.state, n * in.k * in.heads);
        e.out.state = in.state;
        for (std::int64_t row = 0; row < in.rows; ++row)
            for (std::int64_t i = 0; i < in.k; ++i) scan(e, row / in.heads, row % in.heads, i);
    }

    static constexpr void spell(text& out) { out << "ssm_scan"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool first = Before.at_start();
        static_assert(first, "catena: ssm_scan reads values that are made: put it first");
        return first ? Before.then(kind) : refused;
    }

  private:
    static double at(const std::vector<double>& v, std::int64_t i) {
        return v[static_cast<std::size_t>(i)];
    }

    /// Value i of a head of a token.
    static void scan(evaluation& e, std::int64_t token, std::int64_t head, std::int64_t i) {
        const inputs& in = e.in;
        const std::int64_t n = in.state_size, row = token * in.heads + head;
        const std::int64_t group = token * in.groups + head / (in.heads / in.groups);
        const double dt = at(in.dt, row), step = dt > 20 ? dt : std::log1p(std::exp(dt));
        const double left = std::exp(at(in.a, head) * step), x = at(in.x, row * in.k + i);
        double* const state = e.out.state.data() + (head * in.k + i) * n;
        for (std::int64_t s = 0; s < n; ++s)
            state[s] = state[s] * left + at(in.b, group * n + s) * x * step;
        double y = std::inner_product(state, state + n, in.c.data() + group * n, 0.0);
        if (!in.d.empty()) y += at(in.d, head) * x;
        if (!in.z.empty()) {
            const double z = at(in.z, row * in.k + i);
            y *= z / (1 + std::exp(-z));
        }
        e.value[static_cast<std::size_t>(row * in.k + i)] = y;
    }
};

inline constexpr ssm_scan_op ssm_scan{};

template <>
struct stage_meaning<stage_kind::ssm_scan> : ssm_scan_op {};

}  // namespace CATENA_NAMESPACE::chain
