// What the row body (kernel/row.hpp) can be compiled with.
#pragma once

#include "catena/kernel/attention_layout.hpp"
#include "catena/kernel/objection/rule.hpp"

namespace CATENA_NAMESPACE {

constexpr objection objection_to(const row_computation& c, const row_policy& p) {
    if (const objection no = threads_objection(p.threads)) return no;
    if (p.values < 0 || p.values % 4 != 0)
        return {"{} values a thread are no multiple of 4", {p.values}};
    if (rows_of_block(p) > 1 && p.threads != p.rows * warp_size)
        return {"{} rows of a block have a warp each, which {} threads are not",
                {p.rows, p.threads}};
    if (routes(c.stages)) {
        if (p.values == 0 || p.rows != 0)
            return {"a token that is routed has a block, which keeps its scores"};
        if (c.emits != format_set::of(format::f32))
            return {"weights of experts are written as f32"};
        if (!(stage_kind::score | stage_kind::choose | stage_kind::weigh).contains(c.stages))
            return {"experts are scored, chosen and weighed, and nothing else"};
    }
    if (p.cluster != 0 &&
        (!attends(c.stages) || (p.cluster & (p.cluster - 1)) != 0 || p.cluster > 8))
        return {"positions of attention, and nothing else, are shared by 2, 4 or 8 blocks"};
    if (!has_heads(c.stages)) return {};
    if (p.values == 0 || p.rows == 0) return {"a head has a warp, which keeps its values"};
    format_set written = c.emits;
    if (attends(c.stages)) written = written.without(format_set::of(format::q8_1));
    if (!cache_formats.contains(written)) return {"heads are written as f32 and into caches"};
    if (convolves(c.stages)) {
        if (!(stage_kind::convolve | stage_kind::rms_norm).contains(c.stages))
            return {"heads that a convolution makes are normed, and nothing else"};
        if (c.emits != format_set::of(format::f32)) return {"what is convolved is written as f32"};
    } else if (recalls(c.stages)) {
        if (c.stages != stage_set::of(stage_kind::delta_rule) ||
            c.emits != format_set::of(format::f32))
            return {"heads that are recalled are written as f32, and nothing else"};
    } else if (scans(c.stages)) {
        if (c.stages != stage_set::of(stage_kind::ssm_scan) ||
            c.emits != format_set::of(format::f32))
            return {"heads that a state space makes are written as f32, and nothing else"};
    } else if (attends(c.stages)) {
        if (!p.vector || (p.values != 4 && p.values != 8))
            return {"a head that is attended to has 128 or 256 elements, read 16 bytes at a time"};
        if (rows_of_block(p) % joined_warps != 0)
            return {"the warps of a block that attends come in fours"};
        if (written != (format_set::of(format::f32) | format::f16))
            return {"keys and values are stored as f16, and what queries attend to is f32 or q8_1"};
    } else if (!(head_stages | stage_kind::rope | stage_kind::store).contains(c.stages)) {
        return {"heads are normed, weighed, turned and stored, and nothing else"};
    }
    return {};
}

}  // namespace CATENA_NAMESPACE
