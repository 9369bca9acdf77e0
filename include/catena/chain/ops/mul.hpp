// mul(weight): the elementwise weight of a norm, shared by all rows. mul(one_plus_weight): the same
// where the weight is stored less 1. mul(next_weight): that of a second norm. mul(scale): a number
// of the launch, times x or what experts made. In an epilogue mul(scale) and mul(factor) are
// numbers for each matrix of a group, given or in memory.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

template <stage_kind Kind>
struct mul_stage {
    static void apply(evaluation& e, const stage& s) {
        const std::vector<double>& weight =
            e.in[Kind == stage_kind::mul_next_weight ? operand::next_weight : operand::weight];
        expect_elements(name(s.reads), weight, e.in.k);
        const double more = s.reads == operand::one_plus_weight ? 1 : 0;
        for (std::size_t i = 0; i < e.value.size(); ++i)
            e.value[i] *= more + weight[i % weight.size()];
    }
};

template <>
struct stage_meaning<stage_kind::scale> {
    static void apply(evaluation& e, const stage&) {
        for (double& v : e.value) v *= e.in.x_scale;
        e.at_sum = true;
    }
};

template <operand Reads>
struct mul_op {
    static constexpr stage lowered = {.reads = Reads};

    static constexpr void spell(text& out) { out << "mul(" << name(Reads) << ")"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool of_x = Reads == operand::scale && Before.fits(stage_kind::scale);
        constexpr bool of_norm = Reads != operand::scale && Reads != operand::factor;
        constexpr bool again = Before.behind(stage_kind::next_norm);
        constexpr bool of_its_norm = again == (Reads == operand::next_weight);
        constexpr stage_kind kind = again ? stage_kind::mul_next_weight : stage_kind::mul_weight;
        constexpr bool fits = Before.fits(kind);
        static_assert(of_x || of_norm,
                      "catena: mul(scale) scales x or what experts made, and like mul(factor) the "
                      "outputs of a matrix: put it first, behind combine, or into "
                      "epilogue<mul(scale)> behind the group");
        static_assert(!of_norm || fits,
                      "catena: mul(weight) scales the result of a norm: put it right after "
                      "rms_norm, layer_norm or l2_norm");
        static_assert(!of_norm || !fits || of_its_norm,
                      "catena: mul(next_weight) scales the second norm of a chain, mul(weight) the "
                      "first: exchange them");
        if (of_x) return Before.then(stage_kind::scale);
        return of_norm && fits && of_its_norm ? Before.then(kind) : refused;
    }
};

template <class Operand>
constexpr auto mul(Operand) {
    constexpr bool known =
        is_operand<Operand, operand::weight> || is_operand<Operand, operand::one_plus_weight> ||
        is_operand<Operand, operand::next_weight> || is_operand<Operand, operand::scale> ||
        is_operand<Operand, operand::factor>;
    static_assert(
        known,
        "catena: mul takes weight, one_plus_weight, next_weight or scale, or factor in an "
        "epilogue: write mul(weight)");
    if constexpr (known)
        return mul_op<Operand::which>{};
    else
        return refused_op{};
}

template <>
struct stage_meaning<stage_kind::mul_weight> : mul_stage<stage_kind::mul_weight> {};
template <>
struct stage_meaning<stage_kind::mul_next_weight> : mul_stage<stage_kind::mul_next_weight> {};

}  // namespace CATENA_NAMESPACE::chain
