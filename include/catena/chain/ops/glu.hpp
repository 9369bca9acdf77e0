// glu: x, or what a norm made of it, gated by a function of another tensor: f(gate) * value. act:
// f(x) alone. The function is an operand of the launch, so one chain stands for SwiGLU, GeGLU,
// x * sigmoid(gate), squared ReLU and their like.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

struct glu_stage {
    static void apply(evaluation& e, const stage& s) {
        const bool alone = s.reads != operand::gate;
        const std::vector<double>& gate = alone ? e.value : e.in[operand::gate];
        if (!alone) expect_elements("gate", gate, e.in.k * e.in.rows);
        for (std::size_t i = 0; i < e.value.size(); ++i)
            e.value[i] = gated(e.in.gated_by, gate[i], alone ? 1 : e.value[i]);
    }
};

struct glu_op {
    static constexpr stage lowered = {.reads = operand::gate};

    static constexpr void spell(text& out) { out << "glu"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr stage_kind kind = has_norm(Before.passed) ? stage_kind::gate : stage_kind::glu;
        constexpr bool fits = Before.fits(kind);
        static_assert(
            fits,
            "catena: glu makes the value of a chain from x and the gate, or gates a norm: "
            "put it first, or right behind the norm, mul(weight) or add(bias)");
        return fits ? Before.then(kind) : refused;
    }
};

struct act_op {
    static constexpr stage lowered = {};

    static constexpr void spell(text& out) { out << "act"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool first = Before.at_start();
        static_assert(first, "catena: act makes the value of a chain from x: put it first");
        return first ? Before.then(stage_kind::glu) : refused;
    }
};

inline constexpr glu_op glu{};
inline constexpr act_op act{};

template <>
struct stage_meaning<stage_kind::glu> : glu_stage {};
template <>
struct stage_meaning<stage_kind::gate> : glu_stage {};

}  // namespace CATENA_NAMESPACE::chain
