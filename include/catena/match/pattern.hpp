// The graph pattern of a chain, derived from its stages: which ops stand before the value that is
// emitted and quantized, which matrices may read it, and what may be done with their outputs.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/format/number.hpp"

#include <initializer_list>

namespace catena {

/// The formats in which a group can read its activation, in the order in which rows are asked.
inline constexpr format activation_layouts[] = {format::q8_1,         format::q8_1_mmq_d4,
                                                format::q8_1_mmq_ds4, format::bf16_mma,
                                                format::f16_mma,      format::fp8_group};
inline constexpr int layout_count = 6;

/// Below so many columns (of experts: tokens) a matvec serves every reader of an activation, from
/// one copy.
inline constexpr std::int64_t min_matmul_columns = 9;

constexpr int layout_number(format f) {
    for (int i = 0; i < layout_count; ++i)
        if (activation_layouts[i] == f) return i;
    return -1;
}

/// The layout in which a matmul reads the activation of weights of this format: ds4 where a minimum
/// is multiplied with the sum of 32 values; f32 of numbers, fp8 of fp8; unknown: no matmul takes
/// it. q2_K, which has a minimum for each 16, reads d4 as well: its sums are added on the way,
/// exactly.
constexpr format matmul_layout(format weight) {
    if (reads_f32(weight)) return format::f32;
    if (info(weight).role != format_role::weight) return format::unknown;
    switch (weight) {
        case format::q4_0:
        case format::q4_1:
        case format::q5_1:
        case format::q4_K:
        case format::q5_K:
        case format::iq1_s:
            return format::q8_1_mmq_ds4;
        case format::fp8_e4m3:
            return format::fp8_group;
        default:
            return format::q8_1_mmq_d4;
    }
}

/// The layout that warpgroups multiply with such weights: that of their type, bf16 of what they
/// decode; unknown: they take none.
constexpr format warpgroup_layout(format weight) {
    if (weight == format::f16) return format::f16_mma;
    const bool decoded = info(weight).role == format_role::weight && !is_number(weight);
    return decoded || weight == format::bf16 ? format::bf16_mma : format::unknown;
}

/// All layouts in which a matmul may read it.
constexpr format_set matmul_layouts(format weight) {
    format_set all;
    for (const format f : {matmul_layout(weight), warpgroup_layout(weight)})
        if (f != format::unknown) all = all | f;
    return all;
}

struct pattern {
    bool known = false;         ///< false: the stages have a shape that the matcher does not know
    bool experts = false;       ///< a sum of experts' results stands before the norm
    bool residual = false;      ///< an ADD stands before the norm
    format_set sum_emits = {};  ///< formats of the sum that a norm reads
    value_kind value = value_kind::plain;
    bool alone = false;  ///< of a gated value: there is no second factor
    bool scale = false;  ///< a MUL with a weight stands after the norm
    bool bias = false;   ///< an ADD with a bias after that
    bool gate = false;   ///< a MUL with a function of a gate after that
    bool join = false;   ///< an ADD of a residual stands after the weight
    bool again = false;  ///< a norm of that sum and a MUL with another weight after that
    format_set emits = {};
    format_set activations = {};  ///< what the group reads: f32 of numbers; empty: no group
    format_set dense = {};        ///< formats of MUL_MAT readers
    format_set expert = {};       ///< formats of MUL_MAT_ID readers
    epilogue_set epilogue = {};   ///< what may be done with their outputs

    /// Ops before the value.
    constexpr int length() const {
        return (experts ? 1 : 0) + (residual ? 1 : 0) + (value != value_kind::plain ? 1 : 0) +
               (scale ? 1 : 0) + (bias ? 1 : 0) + (gate ? 1 : 0) + (join ? 1 : 0) + (again ? 2 : 0);
    }
    constexpr bool has_group() const { return !activations.empty(); }
};

/// Two chains of one family find the same places; they differ in the matrices that may read.
constexpr bool same_family(const pattern& a, const pattern& b) {
    return a.known == b.known && a.experts == b.experts && a.residual == b.residual &&
           a.value == b.value && a.alone == b.alone && a.scale == b.scale && a.bias == b.bias &&
           a.gate == b.gate && a.join == b.join && a.again == b.again &&
           a.sum_emits == b.sum_emits && a.emits == b.emits && a.epilogue == b.epilogue;
}

namespace detail {

/// Where a stage may stand in a chain: stages come in this order.
enum class section : std::uint8_t {
    sum,
    value,
    scale,
    bias,
    gate,
    join,
    again,
    emit,
    quantize,
    group,
    epilogue
};

}  // namespace detail

/// The pattern of `[combine] [add(residual) emit*] [norm | glu | act] [mul(weight)] [add(bias)]
/// [glu] emit* [[quantize<F...>] group [epilogue]]`, or with `add(residual) [emit* rms_norm
/// mul(next_weight)]` behind the weight in place of bias and gate. The norm may be missing only
/// together with what stands around it (a value of the engine's that is quantized, or multiplied as
/// it is).
constexpr pattern pattern_of(const lowered_chain& chain) {
    using detail::section;
    pattern out;
    section last = section::sum;
    bool second = false;  // norm
    for (int i = 0; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        section here = section::sum;
        switch (s.kind) {
            case stage_kind::combine:
                if (out.experts || out.residual) return {};
                out.experts = true;
                break;
            case stage_kind::add:
                if (s.reads == operand::bias) {
                    out.bias = true;
                    here = section::bias;
                } else {
                    if (out.residual || out.join) return {};
                    const bool behind = is_norm(out.value);
                    (behind ? out.join : out.residual) = true;
                    if (behind) here = section::join;
                }
                break;
            case stage_kind::l2_norm:
                return {};  // no graph quantizes one
            case stage_kind::rms_norm:
            case stage_kind::layer_norm:
                if (out.join) {  // what was emitted is its sum
                    if (s.kind != stage_kind::rms_norm || second || last > section::emit) return {};
                    second = true;
                    out.sum_emits = out.emits;
                    out.emits = {};
                    last = here = section::again;
                    break;
                }
                if (out.value != value_kind::plain) return {};
                out.value =
                    s.kind == stage_kind::rms_norm ? value_kind::rms_norm : value_kind::layer_norm;
                here = section::value;
                break;
            case stage_kind::glu:
                if (out.gate || out.value == value_kind::glu) return {};
                if (is_norm(out.value)) {
                    out.gate = true;
                    here = section::gate;
                    break;
                }
                out.value = value_kind::glu;
                out.alone = s.reads == operand::none;
                here = section::value;
                break;
            case stage_kind::mul:
                if (s.reads == operand::next_weight && second && !out.again) {
                    out.again = true;
                    here = section::again;
                    break;
                }
                if (s.reads != operand::weight || out.scale) return {};
                out.scale = true;
                here = section::scale;
                break;
            case stage_kind::emit:
                if (out.residual && out.value == value_kind::plain) {
                    out.sum_emits = out.sum_emits | s.formats;
                } else {
                    out.emits = out.emits | s.formats;
                    here = section::emit;
                }
                break;
            case stage_kind::quantize:
                if (out.has_group()) return {};
                out.activations = s.formats;
                here = section::quantize;
                break;
            case stage_kind::mul_mat:
                out.dense = out.dense | s.formats;
                here = section::group;
                break;
            case stage_kind::mul_mat_id:
                out.expert = out.expert | s.formats;
                here = section::group;
                break;
            case stage_kind::epilogue:
                if (!out.epilogue.empty()) return {};
                out.epilogue = s.parts;
                here = section::epilogue;
                break;
        }
        if (here < last) return {};
        last = here;
    }
    if (has_numbers(out.dense | out.expert)) out.activations = out.activations | format::f32;
    const bool norm = is_norm(out.value);
    const bool around = out.experts || out.residual || out.scale || out.bias;
    const bool group = !out.dense.empty() || !out.expert.empty();
    const bool epilogue = !out.epilogue.empty();
    out.known = (norm || !around) && second == out.again && group == out.has_group() &&
                (group || !epilogue) && (out.value != value_kind::plain || group);
    return out;
}

}  // namespace catena
