// The launches that a chain needs: its row part writes sums, emits and the activation, its matvec
// part multiplies.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/format/float_weights.hpp"

#include <optional>

namespace CATENA_NAMESPACE::chain {

constexpr skeleton skeleton_of(stage_kind kind) {
    return group_stages.has(kind) ? skeleton::matvec : skeleton::row;
}

constexpr bool has_part(const lowered_chain& chain, skeleton part) {
    for (int i = 0; i < chain.count; ++i)
        if (skeleton_of(chain.stages[i].kind) == part) return true;
    return false;
}

/// True when stage i emits a sum that a norm may read, not the finished value: x + residual, or
/// what was joined if a second norm follows.
constexpr bool emits_sum(const lowered_chain& chain, int i) {
    if (i == 0 || chain.stages[i].kind != stage_kind::emit) return false;
    const stage_kind before = chain.stages[i - 1].kind;
    const bool normed = i + 1 < chain.count && chain.stages[i + 1].kind == stage_kind::next_norm;
    return before == stage_kind::join_residual ? normed : sum_stages.has(before);
}

/// Where a stage stands in the chain; -1: nowhere.
constexpr int place_of(const lowered_chain& chain, stage_kind kind) {
    for (int i = 0; i < chain.count; ++i)
        if (chain.stages[i].kind == kind) return i;
    return -1;
}

/// Parts of the chain's epilogue.
constexpr epilogue_set epilogue_of(const lowered_chain& chain) {
    epilogue_set parts;
    for (int i = 0; i < chain.count; ++i) parts = parts | chain.stages[i].parts;
    return parts;
}

constexpr row_computation row_part(const lowered_chain& chain) {
    row_computation part;
    for (int i = 0; i < chain.count; ++i) {
        const stage& s = chain.stages[i];
        if (row_stages.has(s.kind)) part.stages = part.stages | s.kind;
        const bool written = s.kind == stage_kind::quantize || s.kind == stage_kind::emit ||
                             s.kind == stage_kind::store;
        if (written && !emits_sum(chain, i)) part.emits = part.emits | s.formats;
    }
    return part;
}

/// The formats of the chain's readers.
constexpr format_set weights_of(const lowered_chain& chain) {
    format_set all;
    for (int i = 0; i < chain.count; ++i)
        if (skeleton_of(chain.stages[i].kind) == skeleton::matvec)
            all = all | chain.stages[i].formats;
    return all;
}

/// The launch of matrices of these formats, which are all float weights or all quantized. The
/// activation of float weights is f32. It is unknown if the chain quantizes for matmuls alone.
constexpr product_computation matvec_part(const lowered_chain& chain, format_set weights) {
    product_computation part;
    part.weights = weights;
    part.epilogue = epilogue_of(chain);
    for (int i = 0; i < chain.count; ++i)
        if (chain.stages[i].kind == stage_kind::quantize &&
            chain.stages[i].formats.has(format::q8_1))
            part.activation = format::q8_1;
    if (has_float_weights(weights)) part.activation = format::f32;
    return part;
}

/// The matvec part that also makes the norm before it; none where there is no norm that it could
/// make: rms_norm(x) * weight of an x that is there. If float weights read the norm, other readers
/// get it, too: as it is, or quantized for a matvec.
constexpr std::optional<product_computation> normed_matvec_part(const lowered_chain& chain,
                                                                format_set weights) {
    constexpr stage_set norm = stage_kind::rms_norm | stage_kind::mul_weight;
    product_computation part = matvec_part(chain, weights);
    const bool float_weights = part.activation == format::f32;
    if (row_part(chain).stages != norm || (part.activation != format::q8_1 && !float_weights))
        return std::nullopt;
    part.stages = norm;
    if (float_weights) part.emits = format_set::of(format::f32) | format::q8_1;
    return part;
}

/// Is the chain of matrices whose launch makes their norm and turns their results?
constexpr bool turns_heads(const lowered_chain& chain) { return has_heads(epilogue_of(chain)); }

/// The matvec part of experts that the same launch chooses; none where the chain does not. What
/// they read another launch has quantized.
constexpr std::optional<product_computation> routed_matvec_part(const lowered_chain& chain,
                                                                format_set weights) {
    const stage_set stages = row_part(chain).stages;
    if (!routes(stages) || weights_of(chain).empty()) return std::nullopt;
    product_computation part = matvec_part(chain, weights);
    part.stages = stages;
    part.activation = format::q8_1;
    return part;
}

}  // namespace CATENA_NAMESPACE::chain
