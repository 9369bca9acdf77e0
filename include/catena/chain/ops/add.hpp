// add(residual): the sum that a norm reads; or the sum of a weighted norm and what goes past it,
// times a number in memory. add(bias): after the norm and its weight.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

template <stage_kind Kind>
struct add_stage {
    static constexpr bool per_row = Kind != stage_kind::add_bias;

    static void apply(evaluation& e, const stage& s) {
        const std::vector<double>& added = e.in[per_row ? operand::residual : operand::bias];
        expect_elements(name(s.reads), added, per_row ? e.in.k * e.in.rows : e.in.k);
        const std::vector<double>& factors = e.in[operand::factor];
        const double factor =
            Kind == stage_kind::join_residual && !factors.empty() ? factors[0] : 1;
        for (std::size_t i = 0; i < e.value.size(); ++i)
            e.value[i] = (e.value[i] + added[i % added.size()]) * factor;
        e.at_sum = Kind == stage_kind::add_residual;
    }
};

template <operand Reads>
struct add_op {
    static constexpr stage lowered = {.reads = Reads};

    static constexpr void spell(text& out) { out << "add(" << name(Reads) << ")"; }

    template <flow Before>
    static constexpr flow after() {
        if constexpr (Reads == operand::residual) {
            constexpr stage_kind kind = Before.behind(stage_kind::mul_weight)
                                            ? stage_kind::join_residual
                                            : stage_kind::add_residual;
            constexpr bool fits = Before.fits(kind) && !Before.sum_emitted();
            static_assert(fits,
                          "catena: add(residual) comes once, first, right behind combine or "
                          "mul(scale), or right after the norm and its mul(weight): move it there");
            return fits ? Before.then(kind) : refused;
        } else {
            constexpr bool again = Before.passed.has(stage_kind::next_norm);
            constexpr bool fits = Before.fits(stage_kind::add_bias);
            static_assert(fits || (again && !Before.passed.has(stage_kind::emit)),
                          "catena: add(bias) shifts a normed value: put it right after the norm or "
                          "mul(weight)");
            static_assert(!again, "catena: no row adds a bias to a second norm: remove it");
            return fits ? Before.then(stage_kind::add_bias) : refused;
        }
    }
};

template <class Operand>
constexpr auto add(Operand) {
    constexpr bool known =
        is_operand<Operand, operand::residual> || is_operand<Operand, operand::bias>;
    static_assert(known, "catena: add takes residual or bias: write add(residual) or add(bias)");
    if constexpr (known)
        return add_op<Operand::which>{};
    else
        return refused_op{};
}

template <>
struct stage_meaning<stage_kind::add_residual> : add_stage<stage_kind::add_residual> {};
template <>
struct stage_meaning<stage_kind::add_bias> : add_stage<stage_kind::add_bias> {};
template <>
struct stage_meaning<stage_kind::join_residual> : add_stage<stage_kind::join_residual> {};

}  // namespace CATENA_NAMESPACE::chain
