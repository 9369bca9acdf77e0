// What the matmul body (kernel/matmul.hpp) can be compiled with.
#pragma once

#include "catena/exec/operand.hpp"
#include "catena/kernel/objection/rule.hpp"
#include "catena/match/pattern.hpp"

namespace CATENA_NAMESPACE {

namespace detail {

/// What kernel/matmul/wgmma.hpp, decoded.hpp and fp8_wgmma.hpp take.
constexpr objection warpgroup_objection(const product_computation& c, const matmul_policy& p) {
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
    if (p.stages < 3)
        return {
            "a warpgroup waits for its next stage before it fills another, so it has 3 or more"};
    const int step = step_values(p, c.weights);
    if (has_float_weights(c.weights) && (p.piece != step || p.copy != copy_method::async))
        return {"a warpgroup takes pieces of {} float weights that come by cp.async", {step}};
    if (decodes(p, c.weights) && (p.piece < 2 * step || p.piece / step + 2 < p.stages))
        return {"a piece of {} values is too short to be decoded before {} stages fill its place",
                {p.piece, p.stages}};
    return {};
}

/// What is wrong with a tile, whoever multiplies it.
constexpr objection tile_objection(const product_computation& c, const matmul_policy& p) {
    const bool float_weights = reads_f32(c.weights);
    const int unit = float_weights ? 2 * mma_columns : mma_columns, warps = p.threads / warp_size;
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
    if (float_weights && p.columns / warps * p.piece / 4 % warp_size != 0)
        return {"a warp's share of a stage's columns is not dealt out to all its lanes"};
    if (p.copy == copy_method::bulk)
        return {"a tile has many short rows, and a warp starts bulk copies one after the other"};
    if (warps % tile_slices(p) != 0) return {"{} warps do not make {} slices", {warps, p.slices}};
    return {};
}

}  // namespace detail

constexpr objection objection_to(const product_computation& c, const matmul_policy& p) {
    const bool float_weights = c.activation == format::f32, by_groups = in_mma_blocks(c.activation);
    const int unit = float_weights ? 16 : by_groups ? warpgroup_values : mmq_values;
    if (const objection no = threads_objection(p.threads)) return no;
    if (!c.stages.empty() || !c.emits.empty())
        return {"a matmul leaves the norm of its activation to another launch"};
    if (p.piece <= 0 || p.piece % unit != 0)
        return {"a piece of {} values is no multiple of {}", {p.piece, unit}};
    if (p.rows < 1 || p.columns < 1 || p.stages < 1)
        return {"rows, columns and stages must be positive"};
    if (by_warpgroups(p))
        if (const objection no = detail::warpgroup_objection(c, p)) return no;
    if (by_groups && !by_warpgroups(p)) return {"warpgroups alone read bf16_mma and f16_mma"};
    if (p.cluster != 0 && (p.cluster < 2 || !by_warpgroups(p)))
        return {"a tile is shared by 2 or more blocks, of warpgroups"};
    return detail::tile_objection(c, p);
}

/// What a body without its whole computation is asked for.
constexpr product_computation matmul_of(format activation, format_set weights) {
    product_computation c;
    c.kind = skeleton::matmul;
    c.activation = activation;
    c.weights = weights;
    return c;
}

}  // namespace CATENA_NAMESPACE
