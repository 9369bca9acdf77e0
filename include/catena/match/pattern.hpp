// The graph pattern of a chain, derived from its stages: which ops stand before the value that is
// emitted and quantized, which matrices may read it, and what may be done with their outputs.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/parts.hpp"
#include "catena/format/float_weights.hpp"

namespace CATENA_NAMESPACE {

/// The formats in which a group can read its activation, in the order in which rows are asked.
inline constexpr format activation_layouts[] = {format::q8_1,         format::q8_1_mmq_d4,
                                                format::q8_1_mmq_ds4, format::bf16_mma,
                                                format::f16_mma,      format::fp8_group};
inline constexpr int layout_count = 6;

/// With fewer columns (for experts: tokens) a matvec serves every reader of an activation, from one
/// copy. A matmul of quantized weights that are no experts may be surely quicker from
/// `min_tiled_columns` on, mostly where columns are too long for shared memory.
inline constexpr std::int64_t min_matmul_columns = 9, min_tiled_columns = 2;

constexpr int layout_number(format f) {
    for (int i = 0; i < layout_count; ++i)
        if (activation_layouts[i] == f) return i;
    return -1;
}

/// The layout in which a matmul reads its activation, by the format of its weights: ds4 if a min is
/// multiplied with the sum of 32 values, f32 for float weights, fp8 for fp8, d4 for all others;
/// unknown: no matmul takes the format. q2_K has a min for each 16 values and reads d4: the kernel
/// computes their sums exactly.
constexpr format matmul_layout(format weight) {
    if (reads_f32(weight)) return format::f32;
    if (info(weight).role != format_role::weight) return format::unknown;
    if (weight == format::fp8_e4m3) return format::fp8_group;
    constexpr format_set with_sums = format_set::of(format::q4_0) | format::q4_1 | format::q5_1 |
                                     format::q4_K | format::q5_K | format::iq1_s;
    return with_sums.has(weight) ? format::q8_1_mmq_ds4 : format::q8_1_mmq_d4;
}

/// The layout of the activation that warpgroups multiply with such weights: f16 for f16 weights,
/// bf16 for bf16 weights and for quantized ones, which are decoded to bf16; unknown: warpgroups do
/// not take the format.
constexpr format warpgroup_layout(format weight) {
    if (weight == format::f16) return format::f16_mma;
    const bool decoded = info(weight).role == format_role::weight && !is_float(weight);
    return decoded || weight == format::bf16 ? format::bf16_mma : format::unknown;
}

/// All layouts in which a matmul may read the activation of such weights.
constexpr format_set matmul_layouts(format weight) {
    format_set all;
    for (const format f : {matmul_layout(weight), warpgroup_layout(weight)})
        if (f != format::unknown) all = all | f;
    return all;
}

struct pattern {
    bool known = false;         ///< false: the stages have a shape that the matcher does not know
    stage_set stages = {};      ///< the ops that make the value
    format_set sum_emits = {};  ///< formats of the sum that a norm reads
    bool alone = false;         ///< a gated value without a second factor
    format_set emits = {};
    format_set activations = {};  ///< what the group reads; empty: no group
    format_set dense = {};        ///< formats of MUL_MAT readers
    format_set expert = {};       ///< formats of MUL_MAT_ID readers
    epilogue_set epilogue = {};   ///< what may be done with their outputs

    constexpr bool has(stage_kind kind) const { return stages.has(kind); }
    constexpr bool has_group() const { return !activations.empty(); }
};

/// Two chains of one family find the same places; they differ in the matrices that may read the
/// value.
constexpr bool same_family(const pattern& a, const pattern& b) {
    return a.known == b.known && a.stages == b.stages && a.alone == b.alone &&
           a.sum_emits == b.sum_emits && a.emits == b.emits && a.epilogue == b.epilogue;
}

namespace detail {

/// The stages that are not found beside a group: nothing quantizes an l2_norm, and heads are found
/// by match/detail/head_finder.hpp.
inline constexpr stage_set unmatched_stages =
    stage_kind::convolve | stage_kind::delta_rule | stage_kind::ssm_scan | stage_kind::l2_norm |
    stage_kind::rope | stage_kind::store | stage_kind::attend | stage_kind::score |
    stage_kind::choose | stage_kind::weigh;

/// Takes the next stage of a chain into its pattern; `passed`: the stages before it. False: the
/// stage may not stand there, or the matcher does not know it.
constexpr bool take(pattern& out, stage_set& passed, const stage& s, bool of_sum) {
    const bool known = !unmatched_stages.has(s.kind) && s.reads != operand::one_plus_weight &&
                       may_follow(passed, s.kind);
    if (!known) return false;
    if (of_sum) {  // a norm may follow
        out.sum_emits = out.sum_emits | s.formats;
        return true;
    }
    passed = passed | s.kind;
    switch (s.kind) {
        case stage_kind::emit:
            out.emits = out.emits | s.formats;
            break;
        case stage_kind::quantize:
            out.activations = s.formats;
            break;
        case stage_kind::mul_mat:
            out.dense = s.formats;
            break;
        case stage_kind::mul_mat_id:
            out.expert = s.formats;
            break;
        case stage_kind::epilogue:
            out.epilogue = s.parts;
            break;
        default:
            out.stages = out.stages | s.kind;
            out.alone = out.alone || (s.kind == stage_kind::glu && s.reads == operand::none);
    }
    return true;
}

}  // namespace detail

/// The pattern of a chain whose stages make one value, which at most one group reads, and that may
/// also emit the sum that its norm reads. The pattern of a chain that attends is that of its
/// readers alone: attention itself is found by match/detail/attention_finder.hpp.
constexpr pattern pattern_of(const lowered_chain& chain) {
    pattern out;
    stage_set passed;
    const int attending = chain::place_of(chain, stage_kind::attend);
    if (attending >= 0) out.stages = stage_set::of(stage_kind::attend);
    for (int i = attending + 1; i < chain.count; ++i)
        if (!detail::take(out, passed, chain.stages[i], chain::emits_sum(chain, i))) return {};
    if (has_float_weights(out.dense | out.expert)) out.activations = out.activations | format::f32;
    if (chain::turns_heads(chain)) return {};  // plan/detail/draft/head_fuser.hpp finds these
    const bool value = out.stages.any(value_stages | stage_kind::attend);
    const bool group = !out.dense.empty() || !out.expert.empty();
    const bool whole = value || out.stages.empty();  // no sum without the norm that reads it
    const bool again = out.has(stage_kind::next_norm) == out.has(stage_kind::mul_next_weight);
    out.known = whole && again && group == out.has_group() && (group || value);
    return out;
}

}  // namespace CATENA_NAMESPACE
