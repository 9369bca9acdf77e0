// The launches that a chain needs: its row part writes sums, emits and the activation, its matvec
// part multiplies.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/format/number.hpp"

namespace catena::chain {

constexpr skeleton skeleton_of(stage_kind kind) {
    const bool of_group = kind == stage_kind::mul_mat || kind == stage_kind::mul_mat_id ||
                          kind == stage_kind::epilogue;
    return of_group ? skeleton::matvec : skeleton::row;
}

constexpr bool has_part(const lowered_chain& chain, skeleton part) {
    for (int i = 0; i < chain.count; ++i)
        if (skeleton_of(chain.stages[i].kind) == part) return true;
    return false;
}

/// True when stage i emits x + residual or the sum that is normed again, not the finished value.
constexpr bool emits_sum(const lowered_chain& chain, int i) {
    const bool sum = i > 0 && chain.stages[i].kind == stage_kind::emit &&
                     chain.stages[i - 1].kind == stage_kind::add &&
                     chain.stages[i - 1].reads == operand::residual;
    bool behind_norm = false;
    for (int j = 0; j < i; ++j)
        behind_norm = behind_norm || chain.stages[j].kind == stage_kind::rms_norm;
    const bool normed = i + 1 < chain.count && chain.stages[i + 1].kind == stage_kind::rms_norm;
    return sum && (!behind_norm || normed);
}

/// Parts of the chain's epilogue.
constexpr epilogue_set epilogue_of(const lowered_chain& chain) {
    epilogue_set parts;
    for (int i = 0; i < chain.count; ++i) parts = parts | chain.stages[i].parts;
    return parts;
}

constexpr computation row_part(const lowered_chain& chain) {
    computation part;
    part.kind = skeleton::row;
    for (int i = 0; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        if (s.kind == stage_kind::combine) part.experts = true;
        if (s.kind == stage_kind::add && s.reads == operand::residual)
            (is_norm(part.value) ? part.join : part.residual) = true;
        if (s.kind == stage_kind::add && s.reads == operand::bias) part.bias = true;
        if (s.kind == stage_kind::rms_norm) part.value = value_kind::rms_norm;
        if (s.kind == stage_kind::layer_norm) part.value = value_kind::layer_norm;
        if (s.kind == stage_kind::l2_norm) part.value = value_kind::l2_norm;
        if (s.kind == stage_kind::glu && is_norm(part.value)) part.gate = true;
        if (s.kind == stage_kind::glu && !is_norm(part.value)) part.value = value_kind::glu;
        if (s.kind == stage_kind::mul)
            (s.reads == operand::next_weight ? part.again : part.scale) = true;
        if (s.kind == stage_kind::quantize) part.emits = part.emits | s.formats;
        if (s.kind == stage_kind::emit && !emits_sum(chain, i)) part.emits = part.emits | s.formats;
    }
    return part;
}

/// The activation is unknown when the chain quantizes for matmuls alone, and f32 of weights that
/// are numbers.
constexpr computation matvec_part(const lowered_chain& chain) {
    computation part;
    part.kind = skeleton::matvec;
    part.epilogue = epilogue_of(chain);
    for (int i = 0; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        if (s.kind == stage_kind::quantize && s.formats.has(format::q8_1))
            part.activation = format::q8_1;
        if (skeleton_of(s.kind) == skeleton::matvec) part.weights = part.weights | s.formats;
    }
    if (has_numbers(part.weights)) part.activation = format::f32;
    return part;
}

/// The matvec part that also makes the norm before it; of kind row when there is none that it could
/// make: rms_norm(x) * weight of an x that is there. Where numbers read it, others read it too: as
/// it is, or quantized for a matvec.
constexpr computation normed_matvec_part(const lowered_chain& chain) {
    const computation row = row_part(chain);
    computation part = matvec_part(chain);
    const bool alone = !row.experts && !adds_residual(row) && !row.bias && !row.gate;
    const bool numbers = part.activation == format::f32;
    if (row.value != value_kind::rms_norm || !row.scale || !alone ||
        (part.activation != format::q8_1 && !numbers))
        return {};
    part.value = row.value;
    part.scale = true;
    if (numbers) part.emits = format_set::of(format::f32) | format::q8_1;
    return part;
}

}  // namespace catena::chain
