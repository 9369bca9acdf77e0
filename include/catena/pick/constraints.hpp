// Hard limits: may this row run this problem on this arch at all? No preference here; see cost.hpp.
#pragma once

#include "catena/kernel/objection.hpp"
#include "catena/match/pattern.hpp"
#include "catena/pick/choice.hpp"
#include "catena/pick/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The most tokens for which a matvec serves experts. With more tokens the same experts are picked
/// several times, and a matmul that reads each matrix once is better.
inline constexpr std::int64_t max_expert_tokens = 8;

/// The compute capability from which tensor cores multiply weights of this format: f32 as tf32,
/// integers as int8.
constexpr int mma_since(format weights) {
    if (weights == format::fp8_e4m3) return 89;
    return weights == format::f32 || weights == format::bf16 ? 80 : 75;
}

/// Does the row compute at least what is needed? A matvec that makes a norm itself can leave it
/// out.
constexpr bool serves(const row_computation& row, const row_computation& needs) {
    return serves(row.stages, needs.stages) && row.emits.contains(needs.emits) &&
           (row.own || !needs.own);
}
constexpr bool serves(const product_computation& row, const product_computation& needs) {
    if (row.kind != needs.kind || (needs.own && !row.own)) return false;
    if (has_heads(row.epilogue) != has_heads(needs.epilogue)) return false;
    const bool formats = row.emits.contains(needs.emits) && row.weights.contains(needs.weights) &&
                         row.epilogue.contains(needs.epilogue);
    const bool stages =
        routes(row.stages) ? serves(row.stages, needs.stages) : row.stages == needs.stages;
    const bool reads = quantizes_inside(needs) ? has_norm(row.stages)
                                               : row.activation == needs.activation && stages;
    return reads && formats;
}
constexpr bool serves(const computation& row, const row_computation& needs) {
    return row.kind() == skeleton::row && serves(row.row(), needs);
}
constexpr bool serves(const computation& row, const product_computation& needs) {
    return row.kind() != skeleton::row && serves(row.product(), needs);
}

namespace detail {

constexpr rejection no(limit why, std::int64_t have = 0, std::int64_t need = 0) {
    return {-1, why, have, need};
}

/// What the row asks of the arch, whatever the problem.
constexpr rejection fits_arch(const row& r, const arch& a) {
    const int threads = r.policy.threads(), blocks = r.policy.min_blocks();
    if (threads < warp_size || threads % warp_size != 0 || threads > a.max_threads_per_block)
        return no(limit::threads, threads, a.max_threads_per_block);
    if (blocks < 1 || threads * blocks > a.max_threads_per_sm || blocks > a.max_blocks_per_sm)
        return no(limit::launch_bounds, threads * blocks, a.max_threads_per_sm);
    if (r.registers > a.max_registers_per_thread)
        return no(limit::registers, r.registers, a.max_registers_per_thread);
    if (r.registers > 0 && blocks_by_registers(r.registers, threads, a) < blocks)
        return no(limit::registers, r.registers * threads * blocks, a.registers_per_sm);
    if (r.computes.kind() == skeleton::matmul && a.compute_capability != 0)  // the host has all
        for (const format f : r.computes.product().weights)
            if (a.compute_capability < mma_since(f)) return no(limit::product, 0, mma_since(f));
    if (r.policy.kind() == skeleton::matmul && by_warpgroups(r.policy.matmul()) && !a.wgmma)
        return no(limit::warpgroups, 0, 90);
    const copy_method copy = copy_of(r.policy);
    if (copy == copy_method::async && !a.async_copy) return no(limit::copy_method, 0, 80);
    if (copy == copy_method::bulk && !a.bulk_copy) return no(limit::copy_method, 0, 90);
    return {};
}

/// The number of elements that a row's length must be a multiple of: those that are loaded together
/// or share a scale.
constexpr std::int64_t row_unit(const row_policy& n, const row_problem& p) {
    std::int64_t unit = n.vector ? 4 : 1;
    if (recalls(p.needs.stages)) return values_of_warp;
    if (attends(p.needs.stages))
        return p.needs.emits.has(format::q8_1) ? info(format::q8_1).block_elements
                                               : attended_by_lane;
    if (has_heads(p.needs.stages)) {
        for (const format id : p.needs.emits)
            if (info(id).block_elements > unit) unit = info(id).block_elements;
        return unit;
    }
    for (const format id : p.needs.emits) {
        if (info(id).role != format_role::activation) continue;
        const int own =
            scales_apart(id) ? info(id).block_elements : info(format::q8_1).block_elements;
        unit = own > unit ? own : unit < 4 ? 4 : unit;
    }
    return unit;
}

constexpr rejection row_fits(const row_policy& n, const row_problem& p) {
    const std::int64_t unit = row_unit(n, p);
    if (p.k % unit != 0) return no(limit::divisibility, p.k, unit);
    const int block = info(format::q8_1).block_elements;
    if (p.quant_k % block != 0) return no(limit::divisibility, p.quant_k, block);
    const std::int64_t holds = std::int64_t{n.threads / rows_of_block(n)} * n.values;
    if (n.values > 0 && p.k > holds) return no(limit::held_values, p.k, holds);
    if (p.sequences > rows_of_block(n)) return no(limit::sequences, p.sequences, rows_of_block(n));
    const int aligned = n.vector ? 16 : 4;
    if (p.alignment < aligned) return no(limit::alignment, p.alignment, aligned);
    return {};
}

constexpr rejection matvec_fits(const matvec_policy& n, const product_problem& p) {
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const int result = info(format::q8_1).block_elements;
        const int block = length_unit(skeleton::matvec, m.type);
        if (!is_multiple(p.k, block)) return no(limit::divisibility, p.k, block);
        if (m.epilogue.has(epilogue_part::quantize) && m.rows % result != 0)
            return no(limit::requantized, m.rows, result);
        if (n.turns && m.rows % 2 != 0) return no(limit::odd_heads, m.rows);
    }
    if (n.turns && p.member_count > max_head_members)
        return no(limit::heads, p.member_count, max_head_members);
    if (combined(p) && slots_of(p) > slots_added(n))
        return no(limit::slots, slots_of(p), slots_added(n));
    if (const std::int64_t experts = p.member[0].experts; routes(p)) {
        if (experts > routed_experts(n)) return no(limit::held_values, experts, routed_experts(n));
        if (slots_of(p) > max_chosen) return no(limit::slots, slots_of(p), max_chosen);
    }
    if (n.single_wave && !p.expert) return no(limit::dense);
    if ((p.ends_norm && !ends_norms(n)) || (p.begins_norm && !begins_norms(n, p.expert)))
        return no(limit::norm_of_two);
    if (gates_inside(p)) {
        const bool normed = has_norm(p.needs.stages);
        const bool in_quads = p.gate_k % 4 == 0;  // a thread gates four neighbors of one head
        if (!gates(n) || !in_quads || p.k % p.gate_k != 0 || (normed && !norms_in_warp(p.gate_k)))
            return no(limit::gated_head, p.gate_k);
    }
    const std::int64_t columns = tokens_of(p);
    const bool one = (n.single_wave && !combined(p)) || gates_inside(p);
    const std::int64_t most = one ? 1 : p.expert ? max_expert_tokens : n.columns;
    if (columns > most) return no(limit::columns, columns, most);
    if (p.needs.epilogue.has(epilogue_part::glu) && n.rows % 2 != 0)
        return no(limit::pairs, n.rows, 2);
    const int aligned = n.copy == copy_method::plain ? 2 : 16;
    if (p.alignment < aligned) return no(limit::alignment, p.alignment, aligned);
    return {};
}

constexpr rejection matmul_fits(const matmul_policy& n, const product_problem& p) {
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const int result = info(format::q8_1).block_elements;
        const int block = length_unit(skeleton::matmul, m.type);
        if (p.k % block != 0) return no(limit::divisibility, p.k, block);
        if (!m.epilogue.has(epilogue_part::quantize)) continue;
        const int tile = tile_rows(n) / weight_rows(m);
        if (m.rows % result != 0) return no(limit::requantized, m.rows, result);
        if (tile % result != 0) return no(limit::requantized, tile, result);
    }
    const bool tiled = !p.expert && !has_float_weights(p.needs.weights);
    const std::int64_t columns = tokens_of(p),
                       least = tiled ? min_tiled_columns : min_matmul_columns;
    if (columns < least) return no(limit::few_columns, columns, least);
    const int aligned = n.copy == copy_method::plain ? 2 : 16;
    if (p.alignment < aligned) return no(limit::alignment, p.alignment, aligned);
    return {};
}

/// Have the blocks that share positions on the arch room for their queries and scores?
constexpr rejection attention_fits(const row& r, const row_problem& p, const arch& a) {
    if (key_heads_of(p) < 1) return no(limit::queries, p.slots, 1);
    const attention_share share = share_of_attention(r, p, a);
    const std::int64_t scores = std::int64_t{share.queries} * share.positions;
    return scores > most_scores ? no(limit::scores, scores, most_scores) : rejection{};
}

/// What the row asks of the problem.
constexpr rejection fits_shape(const row& r, const row_problem& p, const arch& a) {
    const rejection why = row_fits(r.policy.row(), p);
    return why.why == limit::none && attends(p.needs.stages) ? attention_fits(r, p, a) : why;
}
constexpr rejection fits_shape(const row& r, const product_problem& p, const arch&) {
    return p.needs.kind == skeleton::matvec ? matvec_fits(r.policy.matvec(), p)
                                            : matmul_fits(r.policy.matmul(), p);
}

constexpr rejection fits_memory(std::int64_t shared, const arch& a) {
    if (shared <= a.shared_per_block) return {};
    return no(limit::shared_memory, shared, a.shared_per_block);
}

}  // namespace detail

/// The first hard limit that forbids the row, or limit::none.
constexpr rejection constraint(const row& r, const problem& asked, const arch& a) {
    return asked.visit([&](const auto& p) {
        if (!serves(r.computes, p.needs)) return detail::no(limit::computes);
        if (const rejection no = detail::fits_arch(r, a); no.why != limit::none) return no;
        if (const rejection no = detail::fits_shape(r, p, a); no.why != limit::none) return no;
        return detail::fits_memory(shared_bytes(r, p, a), a);
    });
}

}  // namespace CATENA_NAMESPACE
