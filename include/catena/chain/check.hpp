// The type check of a chain: the rule of every op in turn, where ops are joined, and what a chain
// must have at its end, where it is used. Each refuses with a sentence that names the op and the
// remedy.
#pragma once

#include "catena/chain/ops.hpp"

#include <type_traits>

namespace CATENA_NAMESPACE::chain {

constexpr bool reads_weight(const stage& s) {
    return s.reads == operand::weight || s.reads == operand::one_plus_weight ||
           s.reads == operand::next_weight;
}

/// The stages that a convolved value passes.
inline constexpr stage_set convolved_stages = stage_kind::rms_norm | stage_kind::emit;
/// The stages that a recalled value passes.
inline constexpr stage_set recalled_stages = stage_kind::delta_rule | stage_kind::emit;

/// The stages that a scanned value passes.
inline constexpr stage_set scanned_stages = stage_kind::ssm_scan | stage_kind::emit;

/// The rule of a second norm, whose result only a weight reads, then the op's own, and then those
/// of what a convolution, the delta rule, a scan and attention make.
template <flow Before, class Op>
constexpr flow flow_after_op() {
    if constexpr (!std::is_same_v<Op, refused_op>) {
        constexpr bool weighted =
            !Before.behind(stage_kind::next_norm) || reads_weight(Op::lowered);
        static_assert(weighted,
                      "catena: a second norm has a weight: put mul(next_weight) right behind it");
        if constexpr (!weighted) return refused;
    }
    constexpr flow next = Op::template after<Before>();
    constexpr bool of_heads =
        next.refused || !convolves(Before.passed) || convolved_stages.has(next.last);
    static_assert(of_heads,
                  "catena: convolve makes heads: rms_norm norms them, and emit<f32> writes them");
    constexpr bool recalled =
        next.refused || !recalls(Before.passed) || recalled_stages.has(next.last);
    static_assert(recalled, "catena: delta_rule makes heads, which emit<f32> writes");
    constexpr bool scanned = next.refused || !scans(Before.passed) || scanned_stages.has(next.last);
    static_assert(scanned, "catena: ssm_scan makes heads, which emit<f32> writes");
    constexpr bool attended = next.refused || !attends(Before.passed) ||
                              !next.behind(stage_kind::quantize) || Before.emitted.has(format::f32);
    static_assert(attended,
                  "catena: attend makes heads, which emit<f32> writes, and quantize<q8_1> behind "
                  "that");
    return of_heads && recalled && scanned && attended ? next : refused;
}

template <class... Ops>
struct sequence;

/// The flow behind `Before` and these ops, or a sequence of them. It ends at the first op that is
/// refused.
template <flow Before, class... Ops>
inline constexpr flow flow_after = Before;
template <flow Before, class First, class... Rest>
requires(!Before.refused) inline constexpr flow flow_after<Before, First, Rest...> =
    flow_after<flow_after_op<Before, First>(), Rest...>;
template <flow Before, class... Ops>
inline constexpr flow flow_after<Before, sequence<Ops...>> = flow_after<Before, Ops...>;

/// True if a chain that ends so is complete, or was refused before; else a static_assert's
/// sentence.
template <flow End>
constexpr bool complete() {
    static_assert(End.refused || !End.behind(stage_kind::quantize) || End.engine_reads,
                  "catena: nobody reads what quantize<F> wrote: end the chain with mul_mat<W> or "
                  "group<mul_mat<W>...>");
    static_assert(
        End.refused || End.sum_emitted() || End.behind(stage_kind::store) ||
            !row_stages.contains(End.passed),
        "catena: the chain writes nothing: end it with emit<F>, or with quantize<F> and a "
        "group");
    return true;
}

}  // namespace CATENA_NAMESPACE::chain
