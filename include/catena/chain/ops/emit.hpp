// emit<F>: a tee. The value is also written in a plain format; what flows on does not change.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

struct emit_stage {
    static constexpr stage_kind kind = stage_kind::emit;

    static void apply(evaluation& e, const stage& s) {
        if (e.at_sum) {
            e.out.sum = e.value;
        } else {
            e.out.value = e.value;
            e.out.emitted = e.out.emitted | s.formats;
        }
        e.at_sum = false;
    }
};

template <format F>
struct emit_op : emit_stage {
    static constexpr stage lowered = {.formats = format_set::of(F)};

    static constexpr void spell(text& out) { out << "emit<" << name(F) << ">"; }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool plain = F == format::f32 || F == format::f16 || F == format::bf16;
        constexpr bool of_values = Before.fits(kind);
        constexpr bool of_sum = Before.behind_sum();
        constexpr bool once = of_sum || !Before.emitted.has(F);
        static_assert(plain,
                      "catena: emit<F> writes f32, f16 or bf16: for an activation format write "
                      "quantize<F>");
        static_assert(!plain || of_values,
                      "catena: emit<F> writes values: put it before quantize<F>");
        static_assert(!plain || !of_sum || F == format::f32,
                      "catena: the sum x + residual is emitted in f32: write add(residual) | "
                      "emit<f32>");
        static_assert(!plain || !of_values || once,
                      "catena: emit<F> stands twice with the same format: remove one");
        if (!plain || !of_values || !once || (of_sum && F != format::f32)) return refused;
        flow next = Before.then(kind);
        if (of_sum)
            next.passed = Before.passed;  // a norm may follow
        else
            next.emitted = next.emitted | F;
        return next;
    }
};

template <format F>
inline constexpr emit_op<F> emit{};

template <>
struct stage_meaning<stage_kind::emit> : emit_stage {};

}  // namespace CATENA_NAMESPACE::chain
