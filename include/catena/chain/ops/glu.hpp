// glu: x gated by a function of another tensor, f(gate) * x. The function is an operand of the
// launch, so one chain stands for SwiGLU, GeGLU, x * sigmoid(gate) and their like.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"
#include "catena/chain/work.hpp"

namespace catena::chain {

struct glu_op {
    static constexpr bool is_op = true;
    static constexpr stage_kind kind = stage_kind::glu;
    static constexpr stage lowered = {.kind = kind, .reads = operand::gate};

    static void apply(evaluation& e, const stage&) {
        expect_elements("gate", e.in.gate, e.in.k * e.in.rows);
        for (std::size_t i = 0; i < e.value.size(); ++i)
            e.value[i] = gated(e.in.gated_by, e.in.gate[i], e.value[i]);
    }

    static constexpr work count(const stage&, const sizes& n) {
        return {.read = n.k * n.rows * 4, .operations = gate_operations * n.k * n.rows};
    }

    static constexpr void spell(text& out) { out << "glu"; }

    template <flow Before>
    static constexpr flow after() {
        static_assert(Before.at == place::start,
                      "catena: glu makes the value of a chain from x and the gate: put it first, "
                      "in place of add(residual) and rms_norm");
        return Before.to(place::gated);
    }
};

inline constexpr glu_op glu{};

}  // namespace catena::chain
