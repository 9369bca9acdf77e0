// add(residual): the sum that a norm reads, of which one part is times a number of the launch; or
// the sum of a weighted norm and what goes past it, times a number in memory. add(bias): after the
// norm and its weight.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/operands.hpp"
#include "catena/chain/text.hpp"
#include "catena/chain/work.hpp"

namespace catena::chain {

struct add_stage {
    static constexpr bool is_op = true;
    static constexpr stage_kind kind = stage_kind::add;

    static void apply(evaluation& e, const stage& s) {
        const bool per_row = s.reads == operand::residual;
        const std::vector<double>& added = per_row ? e.in.residual : e.in.bias;
        expect_elements(name(s.reads), added, per_row ? e.in.k * e.in.rows : e.in.k);
        const double scale = per_row && e.norms == 0 ? e.in.x_scale : 1;
        const double factor = per_row && e.norms > 0 ? e.in.sum_factor : 1;
        for (std::size_t i = 0; i < e.value.size(); ++i)
            e.value[i] = (e.value[i] * scale + added[i % added.size()]) * factor;
        e.at_sum = per_row && e.norms == 0;
    }

    static constexpr work count(const stage& s, const sizes& n) {
        const std::int64_t rows_read = s.reads == operand::residual ? n.rows : 1;
        return {.read = n.k * rows_read * 4, .operations = n.k * n.rows};
    }
};

template <operand Reads>
struct add_op : add_stage {
    static constexpr stage lowered = {.kind = kind, .reads = Reads};

    static constexpr void spell(text& out) { out << "add(" << name(Reads) << ")"; }

    template <flow Before>
    static constexpr flow after() {
        if constexpr (Reads == operand::residual) {
            constexpr bool fits =
                !Before.residual && (Before.at <= place::combined || Before.at == place::scaled);
            static_assert(fits,
                          "catena: add(residual) comes once, first, behind combine or right after "
                          "the norm and its mul(weight): move it there");
            if (!fits) return refused;
            flow next = Before.to(Before.at == place::scaled ? place::joined : place::summed);
            next.residual = true;
            next.joined = Before.at == place::scaled;
            return next;
        } else {
            constexpr bool normed = Before.at == place::normed || Before.at == place::scaled;
            static_assert(normed,
                          "catena: add(bias) shifts a normed value: put it right after the norm or "
                          "mul(weight)");
            static_assert(!Before.again, "catena: no row adds a bias to a second norm: remove it");
            return normed && !Before.again ? Before.to(place::biased) : refused;
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

}  // namespace catena::chain
