// mul(weight): the elementwise weight of a norm, shared by all rows.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/operands.hpp"
#include "catena/chain/text.hpp"
#include "catena/chain/work.hpp"

namespace catena::chain {

struct mul_op {
    static constexpr bool is_op = true;
    static constexpr stage_kind kind = stage_kind::mul;
    static constexpr stage lowered = {.kind = kind, .reads = operand::weight};

    static void apply(evaluation& e, const stage&) {
        expect_elements("weight", e.in.weight, e.in.k);
        for (std::size_t i = 0; i < e.value.size(); ++i)
            e.value[i] *= e.in.weight[i % e.in.weight.size()];
    }

    static constexpr work count(const stage&, const sizes& n) {
        return {.read = n.k * 4, .operations = n.k * n.rows};
    }

    static constexpr void spell(text& out) { out << "mul(weight)"; }

    template <flow Before>
    static constexpr flow after() {
        static_assert(
            Before.at == place::normed,
            "catena: mul(weight) scales the result of a norm: put it right after rms_norm");
        return Before.to(place::scaled);
    }
};

template <class Operand>
constexpr mul_op mul(Operand) {
    static_assert(is_operand<Operand, operand::weight>,
                  "catena: mul takes weight: write mul(weight)");
    return {};
}

}  // namespace catena::chain
