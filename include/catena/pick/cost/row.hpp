// The time of a row step: waves of blocks, each of which is bound by the latency of its own code,
// or the bytes.
#pragma once

#include "catena/pick/cost/terms.hpp"

namespace CATENA_NAMESPACE::detail {

/// How often x is read if registers do not keep it: for each sum over the row, for the scale of a
/// row, and to write.
constexpr int row_passes(const row_computation& of) {
    const bool scales = of.emits.has(format::int8_token) || of.emits.has(format::fp8_token);
    return 1 + (has_norm(of.stages) ? 1 : 0) + (of.stages.has(stage_kind::layer_norm) ? 1 : 0) +
           (of.stages.has(stage_kind::next_norm) ? 1 : 0) + (scales ? 1 : 0);
}

/// Sums over all threads of a row, for norms, for the scale of a row, and for a soft max.
constexpr int row_sums(const row_computation& of) {
    return row_passes(of) - 1 + (of.stages.has(stage_kind::score) ? 2 : 0);
}

/// Operands that are read when the value has been made, of which a thread has a quad for each of
/// x.
constexpr int row_operands(stage_set stages) {
    const stage_set behind = stages.without(stage_set::before(stage_kind::mul_weight));
    return operands_read(behind, operand_shape::rows) +
           operands_read(behind, operand_shape::vector);
}

/// Is a value scaled and rounded with its neighbors before it is written?
constexpr bool quantizes(const format_set& emits) {
    for (const format id : emits)
        if (row_bytes(id, 256) < 2 * 256) return true;
    return false;
}

// What eight queries take a warp that attends, by the machine code of sm_90 (CUDA 13.0):
/// Instructions for a round of eight positions and 128 elements of a head, and for all rounds.
inline constexpr double attended_round_instructions = 400, attended_instructions = 200;
/// The time from keys and values of a round to sums; and till all warps' sums are added up.
inline constexpr double attended_round_us = 0.3, attended_us = 0.46;

/// The way of a block that attends: queries behind their loads and norms, rounds of keys and of
/// values, which come from L2, and meetings of the block and of its cluster.
constexpr double attending_us(const row& r, const row_problem& p, const arch& a,
                              const cost_constants& c) {
    const row_policy& n = r.policy.row();
    const attention_share share = share_of_attention(r, p, a);
    const int warps = rows_of_block(n);
    const double own = share.queries + static_cast<double>(quotient(p.stored, key_heads_of(p)));
    const double eights = units(share.queries, queries_abreast);
    // Further queries find keys and values in L1.
    const double parts = units(share.positions, keys_abreast), rounds = units(parts, warps);
    const double of_head = head_values(n) / 128.0;
    const double of_warps = parts * attended_round_instructions * of_head +
                            (parts < warps ? parts : warps) * attended_instructions;
    const double issued = eights * of_warps / (warp_issues * a.cycles_per_us);
    const double waited =
        rounds * c.late_load_us + eights * (rounds * attended_round_us + attended_us);
    const bool quantized = quantizes(p.needs.emits);
    const auto quads = static_cast<double>(quantized ? quotient(share.queries * p.k, 4) : 0);
    return units(own, warps) * (c.late_load_us + c.sum_us) + (issued > waited ? issued : waited) +
           c.sum_us + (share.blocks > 1 ? cluster_us : 0) + units(quads, n.threads) * c.quantize_us;
}

/// The way of a block through its own code, with `warps` on its SM.
constexpr double row_block_us(const row_policy& n, const row_problem& p, double warps,
                              const cost_constants& c) {
    const int team = n.threads / rows_of_block(n);
    const bool kept = n.values > 0, roomy = kept && n.values <= 8;
    const auto quads = static_cast<double>(quotient(p.k + 4 * team - 1, 4 * team));
    const double held = kept ? n.values / 4 : quads;  // an idle quad is gated, too
    const stage_set stages = p.needs.stages;
    // The state behind its number; then what a token brings, and two sums over a warp.
    if (recalls(stages) || scans(stages))
        return c.late_load_us + static_cast<double>(p.slots) * (c.late_load_us + 2 * c.sum_us);
    double us = row_sums(p.needs) *
                (c.sum_us + (team > warp_size ? c.warp_sum_us * (team / warp_size) : 0));
    if (quantizes(p.needs.emits)) us += quads * c.quantize_us;
    if (gates(stages)) us += held * c.gate_us;
    if (!n.vector) us += held * c.element_us;
    if (!roomy) us += quads * row_operands(stages) * c.late_load_us;
    if (!kept) us += (row_passes(p.needs) * quads - 1) * c.late_load_us;
    if (routes(stages))
        us += routing_us(p.k, team, warps);
    else
        us += static_cast<double>(p.slots) * c.late_load_us;  // what experts made, and its weights
    return us + quads * warps * c.warp_quad_us;
}

/// The time of a launch beside its node.
constexpr launch_time row_time(const row& r, const row_problem& p, const arch& a, int per_sm,
                               const cost_constants& c) {
    const row_policy& n = r.policy.row();
    const bool attending = attends(p.needs.stages);
    const auto blocks = static_cast<double>(blocks_of(r, p, a));
    const double of_sm = units(blocks, a.sms), resident = of_sm < per_sm ? of_sm : per_sm;
    const double waves = units(blocks, static_cast<double>(a.sms) * per_sm);
    const double block = attending ? attending_us(r, p, a, c)
                                   : row_block_us(n, p, resident * n.threads / warp_size, c);
    const double in_turn = waves * block + (waves - 1) * c.wave_us;
    const double started = blocks * c.block_start_us;
    launch_time out;
    out.bytes = static_cast<double>(bytes_of(p)) / a.bytes_per_us;
    out.warps = c.row_launch_us + overlapped(in_turn > started ? in_turn : started, out.bytes, c) -
                out.bytes;
    return out;
}

}  // namespace CATENA_NAMESPACE::detail
