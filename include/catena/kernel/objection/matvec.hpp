// What the matvec body (kernel/matvec.hpp) can be compiled with.
#pragma once

#include "catena/kernel/objection/rule.hpp"

namespace CATENA_NAMESPACE {

constexpr objection objection_to(const product_computation& c, const matvec_policy& p) {
    const bool float_weights = has_float_weights(c.weights),
               inside = p.placement != norm_placement::producer;
    if (const objection no = threads_objection(p.threads)) return no;
    if (p.piece <= 0 || p.piece % piece_unit != 0)
        return {"a piece of {} values is no multiple of {}", {p.piece, piece_unit}};
    if (p.rows < 1 || p.columns < 1 || p.stages < 1)
        return {"rows, columns and stages must be positive"};
    if (p.stages > most_stages)
        return {"a ring of {} stages is longer than {}", {p.stages, most_stages}};
    if (p.product == inner_product::mma && (p.rows != mma_rows || p.columns != mma_columns))
        return {"an mma has {} rows and {} columns", {mma_rows, mma_columns}};
    const int warps = p.threads / warp_size;
    if (p.slices != 0 && p.slices != 4 && p.slices != 8)
        return {"4 or 8 warps share their rows, and not {}", {p.slices}};
    if (p.slices != 0 &&
        (p.product != inner_product::mma || p.activation != activation_source::shared || inside))
        return {"warps share rows of an mma with a shared activation that another launch made"};
    if (p.slices != 0 && p.stages < 2)
        return {"warps that share rows fill a stage while they multiply another: 2, and not {}",
                {p.stages}};
    if (warps % warp_slices(p) != 0) return {"{} warps do not make {} slices", {warps, p.slices}};
    if (float_weights != (p.product == inner_product::fma))
        return {"fma is for float weights, and no other product is"};
    if (p.placement == norm_placement::passing && p.activation == activation_source::shared)
        return {"a norm is made in passing from a row in global memory"};
    if (p.product != inner_product::mma && p.rows * p.columns > warp_size)
        return {"a warp's lanes finish a result each, so {} rows have no {} columns",
                {p.rows, p.columns}};
    if (rows_abreast(p) == 2 && (p.rows < 2 || (p.rows & (p.rows - 1)) != 0 || p.columns != 1))
        return {"half a warp has 1, 2, 4 or 8 rows of one column, not half of {} of {}",
                {p.rows, p.columns}};
    if (p.product == inner_product::dp4a && p.piece % (warp_values / rows_abreast(p)) != 0)
        return {"a piece of {} values is no multiple of {}", {p.piece, warp_values}};
    if (inside != has_norm(c.stages))
        return {"a matvec that makes its norm says where, and no other launch does"};
    if (p.placement == norm_placement::passing && !float_weights)
        return {"a norm is made in passing where float weights are multiplied, and nowhere else"};
    if (p.placement == norm_placement::deferred && p.activation != activation_source::shared)
        return {"a norm that is made before the products lies in shared memory"};
    if (p.placement == norm_placement::passing && p.columns != 1)
        return {"a norm is made in passing for one column"};
    if (inside && float_weights && (p.columns & (p.columns - 1)) != 0)
        return {"columns of floats that are normed together are a power of two, which {} is not",
                {p.columns}};
    if (p.cluster != 0 && p.cluster != 2 && p.cluster != 4 && p.cluster != 8)
        return {"a band is shared by 2, 4 or 8 blocks, and not by {}", {p.cluster}};
    if (p.cluster != 0 && (inside || p.columns != 1))
        return {"blocks share a band of one column that another launch quantized"};
    if (p.routes != routes(c.stages))
        return {"a matvec that sends a token to its experts says so, and no other launch does"};
    if (p.routes && (inside || float_weights || p.columns != 1 || p.cluster != 0))
        return {
            "blocks find experts of one column, each by itself, which another launch quantized"};
    if (p.single_wave && (p.routes || inside || float_weights || p.columns != 1))
        return {
            "experts of a single wave have one column, which another launch quantized, and ids"};
    if (p.turns != has_heads(c.epilogue))
        return {"a matvec that turns heads says so, and no other launch does"};
    if (p.turns && !parts_of_heads.contains(c.epilogue))
        return {"a result that is turned gets a bias, and nothing else"};
    const bool pairs = p.columns == 1 && p.rows % 2 == 0 && p.product != inner_product::mma;
    if (p.turns && (!pairs || p.routes || p.cluster != 0 || p.slices != 0))
        return {"a warp turns pairs of an even number of rows, of one column and one matrix"};
    const std::int64_t ring = p.stages * (warps * stage_bytes(p, c.weights));
    if (p.routes && ring < route_shared_bytes(routed_experts(p)))
        return {"a ring of {} bytes has no room for the {} experts that a block looks at",
                {ring, routed_experts(p)}};
    return {};
}

/// What a body without its whole computation is asked for.
constexpr product_computation matvec_of(const matvec_policy& p, format_set weights) {
    product_computation c;
    if (p.placement != norm_placement::producer) c.stages = stage_set::of(stage_kind::rms_norm);
    if (p.routes) c.stages = stage_set::of(stage_kind::choose);
    if (p.turns) c.epilogue = epilogue_set::of(epilogue_part::heads);
    c.weights = weights;
    return c;
}

}  // namespace CATENA_NAMESPACE
