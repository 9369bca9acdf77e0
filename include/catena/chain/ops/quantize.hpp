// quantize<F...>: the value in activation formats, which the group after it reads: one format for
// each kind of kernel that may read it.
#pragma once

#include "catena/chain/evaluation.hpp"
#include "catena/chain/flow.hpp"
#include "catena/chain/text.hpp"

namespace CATENA_NAMESPACE::chain {

struct quantize_stage {
    static constexpr stage_kind kind = stage_kind::quantize;

    /// The reference does not round: its value is what every quantized row approximates.
    static void apply(evaluation& e, const stage& s) {
        e.out.value = e.value;
        e.out.emitted = e.out.emitted | s.formats;
        e.at_sum = false;
    }
};

template <format... Fs>
struct quantize_op : quantize_stage {
    static constexpr stage lowered = {.formats = (format_set{} | ... | Fs)};

    static constexpr void spell(text& out) {
        const char* before = "quantize<";
        ((out << before << name(Fs), before = ", "), ...);
        out << ">";
    }

    template <flow Before>
    static constexpr flow after() {
        constexpr bool named = sizeof...(Fs) > 0;
        constexpr bool of_activations = ((info(Fs).role == format_role::activation) && ...);
        constexpr bool distinct = lowered.formats.size() == sizeof...(Fs);
        constexpr bool once = Before.fits(kind);
        static_assert(named, "catena: quantize<> names no format: write quantize<q8_1>");
        static_assert(of_activations,
                      "catena: quantize<F> takes an activation format, such as q8_1: for a plain "
                      "format write emit<F>");
        static_assert(!of_activations || distinct,
                      "catena: quantize<F...> names a format twice: remove one");
        static_assert(!named || !of_activations || !distinct || once,
                      "catena: a chain has one quantize<F...>: name all its formats in it");
        constexpr bool of_value = !routes(Before.passed);
        static_assert(!named || !of_activations || !distinct || !once || of_value,
                      "catena: weights of experts are read as f32: remove quantize<F>");
        constexpr bool of_heads =
            !attends(Before.passed) || lowered.formats == format_set::of(format::q8_1);
        static_assert(!named || !of_activations || !distinct || !once || of_heads,
                      "catena: what queries attend to is quantized for few columns: write "
                      "quantize<q8_1>");
        if (!named || !of_activations || !distinct || !once || !of_value || !of_heads)
            return refused;
        flow next = Before.then(kind);
        next.engine_reads = (scales_apart(Fs) && ...);
        return next;
    }
};

template <format... Fs>
inline constexpr quantize_op<Fs...> quantize{};

template <>
struct stage_meaning<stage_kind::quantize> : quantize_stage {};

}  // namespace CATENA_NAMESPACE::chain
