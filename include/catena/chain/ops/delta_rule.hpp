// delta_rule: linear attention by the gated delta rule (Yang, Kautz, Hatamizadeh, "Gated Delta
// Networks", 2024). A sequence has a state: for each value of a head a row, whose product with a
// key is the value that the state recalls for that key. A token lets the state decay, corrects the
// share beta of the error in what it recalls for the token's key, and then recalls a value for the
// token's query, which is scaled (head_scale). The state behind the last token replaces it.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>

namespace CATENA_NAMESPACE::chain {

struct delta_rule_op {
    static constexpr bool is_op = true;
    static constexpr stage lowered = {};
    static constexpr stage_kind kind = stage_kind::delta_rule;

    static void apply(evaluation& e, const stage&) {
        const inputs& in = e.in;
        const std::int64_t tokens = in.rows / in.heads, k = in.k;
        expect_elements("queries", in.queries, k * in.key_heads * tokens);
        expect_elements("keys", in.keys, k * in.key_heads * tokens);
        expect_elements("beta", in.beta, in.rows);
        expect_elements("state", in.state, k * k * in.heads);
        const bool by_value = in.decay.size() != in.beta.size();
        expect_elements("decay", in.decay, by_value ? k * in.rows : in.rows);
        e.out.state = in.state;
        for (std::int64_t t = 0; t < tokens; ++t)
            for (std::int64_t h = 0; h < in.heads; ++h) {
                const std::int64_t row = t * in.heads + h;
                const std::int64_t key_row = t * in.key_heads + h % in.key_heads;
                const double* const key = in.keys.data() + k * key_row;
                const double* const query = in.queries.data() + k * key_row;
                for (std::int64_t j = 0; j < k; ++j) {
                    double* const of_value = e.out.state.data() + (h * k + j) * k;
                    for (std::int64_t i = 0; i < k; ++i)
                        of_value[i] *= std::exp(at(in.decay, by_value ? row * k + i : row));
                    const double error = at(in.x, row * k + j) - product(of_value, key, k);
                    for (std::int64_t i = 0; i < k; ++i)
                        of_value[i] += key[i] * error * at(in.beta, row);
                    e.value[static_cast<std::size_t>(row * k + j)] =
                        product(of_value, query, k) * in.head_scale;
                }
            }
    }

    static constexpr void spell(text& out) { out << "delta_rule"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool first = Before.at_start();
        static_assert(first, "catena: delta_rule reads values that are made: put it first");
        return first ? Before.then(kind) : refused;
    }

  private:
    static double at(const std::vector<double>& v, std::int64_t i) {
        return v[static_cast<std::size_t>(i)];
    }
    static double product(const double* a, const double* b, std::int64_t n) {
        return std::inner_product(a, a + n, b, 0.0);
    }
};

inline constexpr delta_rule_op delta_rule{};

template <>
struct stage_meaning<stage_kind::delta_rule> : delta_rule_op {};

}  // namespace CATENA_NAMESPACE::chain
