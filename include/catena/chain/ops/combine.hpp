// combine: what a token's experts made, times their weights, added up slot after slot; x, which a
// shared expert made, joins them if it is there, times the sigmoid of a number for each row if that
// is.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

struct combine_op {
    static constexpr stage_kind kind = stage_kind::combine;
    static constexpr stage lowered = {.kind = kind};

    static void apply(evaluation& e, const stage&) {
        const std::int64_t k = e.in.k, rows = e.in.rows, slots = e.in.expert_slots;
        expect_elements("experts", e.in.experts, k * slots * rows);
        if (!e.in.expert_weights.empty())
            expect_elements("expert_weights", e.in.expert_weights, slots * rows);
        if (!e.in.shared_gate.empty()) expect_elements("shared_gate", e.in.shared_gate, rows);
        e.value.resize(static_cast<std::size_t>(k * rows));  // without x: zeros
        for (std::int64_t r = 0; r < rows; ++r) {
            const double gate = e.in.shared_gate.empty()
                                    ? 1
                                    : gated({gate_function::sigmoid},
                                            e.in.shared_gate[static_cast<std::size_t>(r)], 1);
            for (std::int64_t i = 0; i < k; ++i) {
                double sum = e.value[static_cast<std::size_t>(r * k + i)] * gate;
                for (std::int64_t s = 0; s < slots; ++s) {
                    const std::int64_t at = r * slots + s;
                    sum += e.in.experts[static_cast<std::size_t>(at * k + i)] *
                           (e.in.expert_weights.empty()
                                ? 1
                                : e.in.expert_weights[static_cast<std::size_t>(at)]);
                }
                e.value[static_cast<std::size_t>(r * k + i)] = sum;
            }
        }
    }

    static constexpr void spell(text& out) { out << "combine"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool first = Before.at_start();
        static_assert(first, "catena: combine makes the value of a chain: put it first");
        return first ? Before.then(kind) : refused;
    }
};

inline constexpr combine_op combine{};

template <>
struct stage_meaning<stage_kind::combine> : combine_op {};

}  // namespace CATENA_NAMESPACE::chain
