// quantize<F>: the value in an activation format, which the group after it reads.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"
#include "catena/chain/work.hpp"
#include "catena/kernel/layout.hpp"

namespace catena::chain {

struct quantize_stage {
    static constexpr bool is_op = true;
    static constexpr stage_kind kind = stage_kind::quantize;

    /// The reference does not round: its value is what every quantized row approximates.
    static void apply(evaluation& e, const stage& s) {
        e.out.value = e.value;
        e.out.emitted = e.out.emitted | s.formats;
        e.at_sum = false;
    }

    static constexpr work count(const stage&, const sizes& n) {
        // Largest magnitude, sum, quotient, rounding.
        return {.written = q8_1_row_bytes(n.k) * n.rows, .operations = 4 * n.k * n.rows};
    }
};

template <format F>
struct quantize_op : quantize_stage {
    static constexpr stage lowered = {.kind = kind, .formats = format_set::of(F)};

    static constexpr void spell(text& out) { out << "quantize<" << name(F) << ">"; }

    template <flow Before>
    static constexpr flow after() {
        static_assert(info(F).role == format_role::activation,
                      "catena: quantize<F> takes an activation format, such as q8_1: for a plain "
                      "format write emit<F>");
        static_assert(Before.at < place::quantized,
                      "catena: a chain has one quantize<F>: remove the second");
        flow next = Before.to(place::quantized);
        next.activation = F;
        return next;
    }
};

template <format F>
inline constexpr quantize_op<F> quantize{};

}  // namespace catena::chain
