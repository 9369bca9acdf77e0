// attend: attention (Vaswani et al., "Attention Is All You Need", 2017) of few tokens. A head of a
// token is a query. Its scores are its products with the keys of its key head, scaled, plus the
// mask; their soft max weighs the values. A sink is one score more, whose value is zero. A position
// whose mask is -inf does not count, whatever its key and value are; if nothing counts, the result
// is 0.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace CATENA_NAMESPACE::chain {

struct attend_op {
    static constexpr bool is_op = true;
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::attend;

    static void apply(evaluation& e, const stage&) {
        const inputs& in = e.in;
        const std::int64_t tokens = in.rows / in.heads;
        expect_elements("keys", in.keys, in.k * in.key_heads * in.positions_attended);
        expect_elements("values", in.values, in.k * in.key_heads * in.positions_attended);
        if (!in.mask.empty()) expect_elements("mask", in.mask, in.positions_attended * tokens);
        if (!in.sinks.empty()) expect_elements("sinks", in.sinks, in.heads);
        for (std::int64_t row = 0; row < in.rows; ++row) attend(e, row / in.heads, row % in.heads);
    }

    static constexpr void spell(text& out) { out << "attend"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool fits = Before.fits(kind);
        static_assert(fits,
                      "catena: attend reads what store<F> has written: put it right behind that");
        return fits ? Before.then(kind) : refused;
    }

  private:
    static constexpr double nothing = -std::numeric_limits<double>::infinity();

    static void attend(evaluation& e, std::int64_t token, std::int64_t head) {
        const inputs& in = e.in;
        const std::int64_t n = in.positions_attended, key_head = head / (in.heads / in.key_heads);
        const auto of_cache = [&](const std::vector<double>& cache, std::int64_t position) {
            return cache.data() + in.k * (position * in.key_heads + key_head);
        };
        double* const query = e.value.data() + in.k * (token * in.heads + head);
        const double sink = in.sinks.empty() ? nothing : in.sinks[static_cast<std::size_t>(head)];
        std::vector<double> scores(static_cast<std::size_t>(n), nothing);
        double most = sink;
        for (std::int64_t i = 0; i < n; ++i) {
            const double mask =
                in.mask.empty() ? 0 : in.mask[static_cast<std::size_t>(token * n + i)];
            if (mask == nothing) continue;
            double& s = scores[static_cast<std::size_t>(i)];
            s = in.score_scale * std::inner_product(query, query + in.k, of_cache(in.keys, i), 0.0);
            s += mask;
            most = std::max(most, s);
        }
        const auto share_of = [&](double s) { return s == nothing ? 0 : std::exp(s - most); };
        double sum = share_of(sink);
        std::vector<double> value(static_cast<std::size_t>(in.k));
        for (std::int64_t i = 0; i < n; ++i) {
            const double share = share_of(scores[static_cast<std::size_t>(i)]);
            if (share == 0) continue;
            sum += share;
            for (std::int64_t j = 0; j < in.k; ++j)
                value[static_cast<std::size_t>(j)] += share * of_cache(in.values, i)[j];
        }
        for (std::int64_t j = 0; j < in.k; ++j)
            query[j] = sum == 0 ? 0 : value[static_cast<std::size_t>(j)] / sum;
    }
};

inline constexpr attend_op attend{};

template <>
struct stage_meaning<stage_kind::attend> : attend_op {};

}  // namespace CATENA_NAMESPACE::chain
