// What the bodies can be compiled with: the only statement of it. The bodies assert it, the
// generator and the tuner say it. What an arch or a problem asks besides stands in
// pick/constraints.hpp.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/match/pattern.hpp"

#include <cstdint>

namespace catena {

/// Why no kernel can compute so; none: it can.
struct objection {
    const char* rule = nullptr;  ///< a sentence; each {} stands for a number
    std::int64_t number[2] = {};

    constexpr explicit operator bool() const { return rule != nullptr; }
};

/// What the length of a weight row is a multiple of: its blocks, 32 numbers; of fp8 that is
/// multiplied with fp8 the values that share a scale.
constexpr int length_unit(skeleton by, format weights) {
    if (by == skeleton::matmul && weights == format::fp8_e4m3)
        return info(format::fp8_group).block_elements;
    return is_number(weights) ? 32 : info(weights).block_elements;
}

namespace detail {

constexpr objection row_objection(const policy& p) {
    if (p.values < 0 || p.values % 4 != 0)
        return {"{} values a thread are no multiple of 4", {p.values}};
    return {};
}

constexpr objection cluster_objection(const computation& c, const policy& p) {
    const bool shares = p.cluster == 2 || p.cluster == 4 || p.cluster == 8;
    const bool of_band = shares && c.kind == skeleton::matvec && p.columns == 1 &&
                         p.placement == norm_placement::producer;
    const bool of_tile = p.cluster > 1 && by_warpgroups(p);
    if (p.cluster == 0 || of_band || of_tile) return {};
    return {
        "a cluster has 2, 4 or 8 blocks, of a matvec of one column that reads what others made, or "
        "2 and more, of a matmul by warpgroups"};
}

constexpr objection matvec_objection(const computation& c, const policy& p) {
    const bool numbers = has_numbers(c.weights), inside = p.placement != norm_placement::producer;
    if (p.piece <= 0 || p.piece % piece_unit != 0)
        return {"a piece of {} values is no multiple of {}", {p.piece, piece_unit}};
    if (p.rows < 1 || p.columns < 1 || p.stages < 1)
        return {"rows, columns and stages must be positive"};
    if (by_warpgroups(p))
        return {
            "warpgroups multiply fp8, f16, bf16 and what is decoded to it in a matmul, and nothing "
            "else, with an activation of that type"};
    if (p.product == inner_product::mma && (p.rows != mma_rows || p.columns != mma_columns))
        return {"an mma has {} rows and {} columns", {mma_rows, mma_columns}};
    if (numbers != (p.product == inner_product::fma))
        return {"fma is for weights that are numbers, and no other product is"};
    if (numbers && p.activation == activation_source::shared)
        return {"f32 activations stay in global memory"};
    if (p.product == inner_product::dp4a && p.piece % warp_values != 0)
        return {"a piece of {} values is no multiple of {}", {p.piece, warp_values}};
    if (inside != has_norm(c.stages))
        return {"a matvec that makes its norm says where, and no other launch does"};
    if (inside && (p.placement == norm_placement::passing) != numbers)
        return {"a norm is made in passing where numbers are multiplied, and nowhere else"};
    if (p.placement == norm_placement::deferred && p.activation != activation_source::shared)
        return {"a norm that is made before the products lies in shared memory"};
    if (p.placement == norm_placement::passing && p.columns != 1)
        return {"a norm is made in passing for one column"};
    return cluster_objection(c, p);
}

/// What kernel/matmul/wgmma.hpp, decoded.hpp and fp8_wgmma.hpp take.
constexpr objection warpgroup_objection(const computation& c, const policy& p) {
    for (const format weight : c.weights)
        if (c.activation !=
            (weight == format::fp8_e4m3 ? format::fp8_group : warpgroup_layout(weight)))
            return {
                "warpgroups multiply fp8, f16, bf16 and what is decoded to it in a matmul, and "
                "nothing else, with an activation of that type"};
    if (p.threads % exec::warpgroup_threads != 0 || p.slices != 0)
        return {"all threads are of whole warpgroups, and a warpgroup has all of K"};
    if (p.columns % warp_size != 0)
        return {"{} columns of a warpgroup's tile are no multiple of {}", {p.columns, warp_size}};
    const int step = step_values(p, c.weights);
    if (has_numbers(c.weights) && (p.piece != step || p.copy != copy_method::async))
        return {"a warpgroup takes pieces of {} numbers that come by cp.async", {step}};
    return {};
}

/// What is wrong with a tile, whoever multiplies it.
constexpr objection tile_objection(const computation& c, const policy& p) {
    const bool numbers = reads_f32(c.weights);
    const int unit = numbers ? 2 * mma_columns : mma_columns, warps = p.threads / warp_size;
    if (p.rows % mma_rows != 0)
        return {"{} rows of a warp are no whole mma of {}", {p.rows, mma_rows}};
    if (p.columns % unit != 0)
        return {"{} columns of a tile are no multiple of {}", {p.columns, unit}};
    if (p.columns % warps != 0)
        return {"{} columns cannot be shared out to {} warps", {p.columns, warps}};
    if (p.stages < 2) return {"one stage of a matmul is read while another is filled"};
    if (512 % p.piece != 0)
        return {"a piece of {} values does not end within the padding of 512", {p.piece}};
    for (const format f : c.weights)
        if (const int block = length_unit(skeleton::matmul, f); p.piece % block != 0)
            return {"a piece of {} values is no multiple of {}", {p.piece, block}};
    if (numbers && p.columns / warps * p.piece / 4 % warp_size != 0)
        return {"a warp's share of a stage's columns is not dealt out to all its lanes"};
    if (warps % tile_slices(p) != 0) return {"{} warps do not make {} slices", {warps, p.slices}};
    return {};
}

constexpr objection matmul_objection(const computation& c, const policy& p) {
    const bool numbers = c.activation == format::f32, by_groups = in_mma_blocks(c.activation);
    const int unit = numbers ? 16 : by_groups ? warpgroup_values : mmq_values;
    if (p.piece <= 0 || p.piece % unit != 0)
        return {"a piece of {} values is no multiple of {}", {p.piece, unit}};
    if (p.rows < 1 || p.columns < 1 || p.stages < 1)
        return {"rows, columns and stages must be positive"};
    if (by_warpgroups(p))
        if (const objection no = warpgroup_objection(c, p)) return no;
    if (by_groups && !by_warpgroups(p)) return {"warpgroups alone read bf16_mma and f16_mma"};
    if (p.product == inner_product::mma && (p.rows != mma_rows || p.columns != mma_columns))
        return {"an mma has {} rows and {} columns", {mma_rows, mma_columns}};
    if (numbers && p.activation == activation_source::shared)
        return {"f32 activations stay in global memory"};
    if (p.placement != norm_placement::producer)
        return {"a matvec that makes its norm says where, and no other launch does"};
    if (const objection no = cluster_objection(c, p)) return no;
    return tile_objection(c, p);
}

/// The numbers of a policy that its skeleton has. The others are zero.
constexpr policy own_numbers(skeleton kind, const policy& p) {
    policy own;
    own.threads = p.threads;
    own.min_blocks = p.min_blocks;
    own.rows = p.rows;
    if (kind == skeleton::row) {
        own.values = p.values;
        own.vector = p.vector;
        return own;
    }
    own.columns = p.columns;
    own.piece = p.piece;
    own.stages = p.stages;
    own.cluster = p.cluster;
    own.copy = p.copy;
    own.activation = p.activation;
    own.product = p.product;
    own.placement = p.placement;
    if (kind == skeleton::matmul) own.slices = p.slices;
    return own;
}

}  // namespace detail

/// Why no kernel can compute this with these numbers, whatever the arch.
constexpr objection objection_to(const computation& c, const policy& p) {
    if (p.threads <= 0 || p.threads % warp_size != 0)
        return {"{} threads are no whole warps", {p.threads}};
    if (detail::own_numbers(c.kind, p) != p)
        return {"the policy has numbers that another skeleton has"};
    return c.kind == skeleton::row      ? detail::row_objection(p)
           : c.kind == skeleton::matvec ? detail::matvec_objection(c, p)
                                        : detail::matmul_objection(c, p);
}

/// What a body without its whole computation is asked for.
constexpr computation matvec_of(const policy& p, format_set weights) {
    computation c;
    c.kind = skeleton::matvec;
    if (p.placement != norm_placement::producer) c.stages = stage_set::of(stage_kind::rms_norm);
    c.weights = weights;
    return c;
}
constexpr computation matmul_of(format activation, format_set weights) {
    computation c;
    c.kind = skeleton::matmul;
    c.activation = activation;
    c.weights = weights;
    return c;
}

}  // namespace catena
