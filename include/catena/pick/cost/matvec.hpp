// The time of a matvec's launch: the bytes of its weights, and the way of its busiest warp, which
// overlap.
#pragma once

#include "catena/pick/cost/code.hpp"

namespace CATENA_NAMESPACE::detail {

/// The shares of a launch: that of its busiest SM, and that of a warp there.
struct matvec_share {
    double weights = 0;   ///< bytes, padded to whole bands, for every column that reads them
    double distinct = 0;  ///< those bytes, once for all columns
    double rows = 0;      ///< weight rows of all members
    double blocks = 0;    ///< blocks of the launch
    double of_sm = 0;     ///< the SM's share of the rows if blocks spread evenly, 1: all of them
    double room = 0;      ///< share of the rows whose blocks an SM could hold
    double warps = 0;     ///< warps of a block
    double groups = 0;    ///< groups of rows of a warp, one after the other, in all blocks
    double turns = 0;     ///< stages of the ring that a group takes
    double ahead = 0;  ///< share of those stages that are filled before the warp waits for columns
    double overlap = 0;  ///< share of the blocks that start while the launch before runs
};

/// Weight rows of a member that a launch goes over: a band takes its full time, even if its matrix
/// does not fill it.
constexpr double filled_rows(const product_problem& p, int member, std::int32_t band) {
    const problem_member& m = p.member[member];
    const std::int64_t times = times_of(p, m) * slots_summed(p);
    return static_cast<double>(bands_of(m, band)) * band * static_cast<double>(times);
}

/// The share of a member's matrices that is read from memory: blocks that read one of them for
/// different columns stand next to each other (take_slot in kernel/matvec.hpp).
constexpr double share_read_once(const product_problem& p, const problem_member& m) {
    const std::int64_t times = times_of(p, m) * slots_summed(p);
    return matrices_read(p, m) / static_cast<double>(times);
}

/// The time in which weights arrive, from memory or from L2.
constexpr double weights_us(const matvec_share& has, const arch& a, const cost_constants& c) {
    if (c.on_record) return has.weights / a.bytes_per_us;
    const double all = has.weights / l2_speedup;
    return (has.distinct > all ? has.distinct : all) / a.bytes_per_us;
}

/// Blocks of the next launch that find room beside those of this one, for each block of this one.
/// Ids exist only after the wait, so no block fetches experts ahead.
constexpr double overlap_of(const row& r, const product_problem& p, const arch& a,
                            std::int32_t band, double blocks, int width, bool in_turns) {
    if (!a.dependent_launch || in_turns || p.expert) return 0;
    row any = r;  // the limit of blocks that make a norm is one of a launch, not of an SM
    any.policy.matvec().placement = norm_placement::producer;
    const double room =
        static_cast<double>(a.sms) * (blocks_per_sm(any, a, shared_bytes(r, p, band)) / width);
    const double free = (room - blocks) / blocks;
    return free < 0 ? 0 : free > 1 ? 1 : free;
}

constexpr matvec_share share_of_matvec(const row& r, const product_problem& p, const arch& a,
                                       const launch_shape& shape) {
    const matvec_policy& n = r.policy.matvec();
    const band_share& share = shape.share;
    matvec_share out;
    for (int i = 0; i < p.member_count; ++i) {
        const double rows = filled_rows(p, i, shape.band);
        const double bytes = rows * static_cast<double>(row_bytes(p.member[i].type, p.k));
        out.rows += rows;
        out.weights += bytes;
        out.distinct += bytes * share_read_once(p, p.member[i]);
    }
    out.blocks = static_cast<double>(blocks_of(r, p, shape.band)) * share.cluster;
    const double most = units(out.blocks, a.sms), waves = units(most * share.width, shape.resident);
    out.of_sm = most / out.blocks;
    const auto held = static_cast<double>(shape.resident / share.width);
    out.room = held < out.blocks ? held / out.blocks : 1;
    out.warps = static_cast<double>(n.threads / warp_size) * share.width;
    const double teams = out.warps / warp_slices(n);
    const double of_block = units(static_cast<double>(shape.band) / share.cluster, n.rows);
    out.groups =
        waves * units(of_block * static_cast<double>(slots_summed(p)), teams < 1 ? 1 : teams);
    out.turns = units(static_cast<double>(p.k), static_cast<double>(stage_values(n)));
    const double stages = out.groups * out.turns;
    out.ahead = n.stages - 1 < stages ? (n.stages - 1) / stages : 1;
    out.overlap = overlap_of(r, p, a, shape.band, out.blocks, share.width, waves > 1);
    return out;
}

/// Columns that each weight meets.
constexpr std::int64_t columns_met(const product_problem& p) {
    return combined(p) ? 1 : block_columns(p);
}

/// Slices of a team that have no piece in its last turn, while others on their scheduler have: the
/// warps of a team stand on the SM's four schedulers in turn, and the busiest one decides.
constexpr double idle_slices(const matvec_policy& n, std::int64_t k) {
    if (n.slices < 2) return 0;
    const auto pieces = static_cast<double>(quotient(k + n.piece - 1, n.piece));
    return units(pieces, sm_quarters) * sm_quarters - pieces;
}

/// What a warp goes through for one group of weight rows: what all warps of its team issue, and
/// the cycles that one of them stalls.
struct group_code {
    double issues = 0, cycles = 0;
};

constexpr group_code code_of_group(const row& r, const product_problem& p, std::int32_t band,
                                   const matvec_share& has, const cost_constants& c) {
    const matvec_policy& n = r.policy.matvec();
    group_code out;
    for (int i = 0; i < p.member_count; ++i) {
        const warp_code code = code_for_columns(r, p.member[i].type, columns_met(p), c);
        const double part = filled_rows(p, i, band) / has.rows;
        const int slices = warp_slices(n);
        out.issues +=
            part * (of_pieces(n, p.k, code.stage_issues, code.product_issues) +
                    idle_slices(n, p.k) * code.stage_issues + slices * code.result_issues);
        const double stalls = slices > 1
                                  ? has.turns * code.stage_cycles
                                  : of_pieces(n, p.k, code.stage_cycles, code.product_cycles);
        out.cycles += part * (stalls + code.result_cycles);
    }
    return out;
}

/// What a warp waits for copies that it asks for itself. The first ones are there before its launch
/// may go on, if its blocks start early.
constexpr double copies_us(const matvec_policy& n, const product_problem& p,
                           const matvec_share& has, const cost_constants& c) {
    const double slices = has.groups * has.turns * n.rows / warp_slices(n);
    double us = slices * (n.copy == copy_method::bulk ? c.bulk_slice_us : c.async_slice_us);
    if (n.copy == copy_method::plain) {
        double widest = 0;
        for (int i = 0; i < p.member_count; ++i) {
            const format type = p.member[i].type;
            const double last = static_cast<double>(p.k) - (has.turns - 1) * stage_values(n);
            const double whole = static_cast<double>(row_bytes(type, stage_values(n)));
            const double chunks = (has.turns - 1) * units(whole, warp_size * 16) +
                                  units(whole * last / stage_values(n), warp_size * 16);
            widest = chunks > widest ? chunks : widest;
        }
        us = slices * c.plain_slice_us +
             has.groups * n.rows / warp_slices(n) * widest * c.plain_chunk_us;
    }
    return us * (1 - has.overlap * has.ahead);
}

/// Bytes of a column where a warp multiplies them.
constexpr double column_bytes(const matvec_policy& n, const product_problem& p) {
    const format held = n.product == inner_product::fma ? format::f32 : format::q8_1;
    return static_cast<double>(activation_row_bytes(held, p.k));
}

/// The time from the logits of a token's experts to scores: two sums of a soft max, in which
/// threads meet.
constexpr double scores_us(const product_problem& p, const cost_constants& c) {
    return p.needs.stages.has(stage_kind::score) ? 2 * c.sum_us : 0;
}

/// The time in which a block finds the expert at its place. A warp compares its lanes with each
/// other, goes over all experts three times, and compares about 32 that are left. Predicted.
constexpr double found_us(const product_problem& p, const cost_constants& c) {
    if (!routes(p)) return 0;
    const auto experts = static_cast<double>(p.member[0].experts);
    const double quads = warp_size / 4 + 3 * units(experts, 4 * warp_size) + warp_size / 4;
    return scores_us(p, c) + quads * ranked_quad_us;
}

/// Bytes that a block reads behind the wait to make `values` of each column: x and its gate, or the
/// norm's weight, of which a thread has loaded the first values before. Columns of floats are made
/// together, with one reading of the weight.
constexpr double made_from_bytes(const matvec_policy& n, const product_problem& p, double values,
                                 double columns, const cost_constants& c) {
    if (!makes_norm(p)) return columns * (gates_inside(p) ? 2 : 1) * 4 * values;
    const bool early = n.placement == norm_placement::deferred && !c.on_record;
    const double loaded = early ? part_values(n) : 0;
    const double weight = values > loaded ? 4 * (values - loaded) : 0;
    return columns * 4 * values + (writes_norms(n) ? 1 : columns) * weight;
}

/// The time in which a block gates its activation, quad by quad of a thread. Predicted, by about as
/// many instructions as a warp runs for a gate of four values, and for a norm in a head.
constexpr double gated_us(const matvec_policy& n, const product_problem& p, const arch& a) {
    if (!gates_inside(p)) return 0;
    constexpr double gate_issues = 200, norm_issues = 60;
    const double issues = gate_issues + (has_norm(p.needs.stages) ? norm_issues : 0);
    const double quads = units(static_cast<double>(p.k), n.threads * 4.0);
    return quads * (n.threads / warp_size) * issues / warp_issues / a.cycles_per_us;
}

/// The time in which a block norms columns of floats, beside their bytes: a turn's loads arrive
/// together, the weight's in further turns behind them, and one sum follows for all columns.
constexpr double normed_floats_us(const matvec_policy& n, const product_problem& p,
                                  const cost_constants& c) {
    if (n.placement != norm_placement::deferred || n.product != inner_product::fma) return 0;
    const double turns = units(static_cast<double>(p.k), part_values(n));
    return turns * c.late_load_us + c.sum_us + c.warp_sum_us * (n.threads / warp_size);
}

/// Values of the columns that a block waits for before it multiplies: all, but warps that share
/// rows wait for their first stage, and a block that makes its column for the first part. The rest
/// comes beside products.
constexpr std::int64_t values_waited_for(const matvec_policy& n, const product_problem& p,
                                         const cost_constants& c) {
    const bool parts = makes_parts(n) && !gates_inside(p);
    if (c.on_record || (n.slices < 2 && !parts)) return p.k;
    const std::int64_t first = parts ? part_values(n) : stage_values(n);
    return p.k < first ? p.k : first;
}

/// The time in which all blocks get so many values of the columns. They read the same bytes at
/// once.
constexpr double read_us(const matvec_policy& n, const product_problem& p, const arch& a,
                         const matvec_share& has, const cost_constants& c, std::int64_t values) {
    const auto columns = static_cast<double>(block_columns(p));
    const double of_row = static_cast<double>(
        p.ends_norm ? begun_row_bytes(p.k) : activation_row_bytes(p.needs.activation, p.k));
    const double share = static_cast<double>(values) / static_cast<double>(p.k);
    const double bytes = n.placement == norm_placement::producer
                             ? columns * share * of_row
                             : made_from_bytes(n, p, static_cast<double>(values), columns, c);
    return has.blocks * bytes / (c.read_by_all_bytes * a.sms * a.cycles_per_us);
}

/// The time from the end of the launch before until a block can multiply: it has its columns, or
/// has made them, or the first part. Blocks of experts first read the ids, or find the expert.
constexpr double columns_us(const matvec_policy& n, const product_problem& p, const arch& a,
                            const matvec_share& has, const cost_constants& c) {
    const bool made = n.placement != norm_placement::producer;
    const std::int64_t values = values_waited_for(n, p, c);
    const double ids = p.expert ? memory_latency_us + found_us(p, c) : 0;
    const double read = ids + read_us(n, p, a, has, c, values);
    if (made || n.activation == activation_source::global)
        return read + gated_us(n, p, a) + normed_floats_us(n, p, c);
    const double of_block = 16 * warp_size * has.warps;  // bytes that its threads ask for at once
    // The columns of slots that are added up have no gaps: they are copied as one.
    const auto columns = static_cast<double>(block_columns(p));
    const bool as_one = combined(p) && n.product != inner_product::fma;
    const double bytes =
        column_bytes(n, p) * static_cast<double>(values) / static_cast<double>(p.k);
    const double chunks =
        as_one ? units(columns * bytes, of_block) : columns * units(bytes, of_block);
    return read + (n.copy == copy_method::bulk ? c.column_us + chunks * c.async_chunk_us
                                               : chunks * c.column_us);
}

/// How late the rest of the columns is, if a warp takes `stage_us` for each stage. A part that a
/// block makes is on its way while the one before is multiplied, and then all warps meet. Warps
/// that share rows wait for one part behind their first stage, and for the last one at the middle
/// of a row.
constexpr double late_columns_us(const matvec_policy& n, const product_problem& p, const arch& a,
                                 const matvec_share& has, const cost_constants& c,
                                 double stage_us) {
    const std::int64_t first = values_waited_for(n, p, c);
    if (first == p.k) return 0;
    const auto late = [](double us, double hidden_us) {
        return us > hidden_us ? us - hidden_us : 0;
    };
    const auto rest_us = [&](std::int64_t values) {
        return read_us(n, p, a, has, c, values) - read_us(n, p, a, has, c, first);
    };
    if (makes_parts(n)) {
        const double parts = units(static_cast<double>(p.k), static_cast<double>(first)) - 1;
        const double part = rest_us(p.k) / parts;
        const double loaded = part > c.late_load_us ? part : c.late_load_us;
        const double multiplied = stage_us * static_cast<double>(first) / n.piece;
        return parts * (late(loaded, multiplied) + meeting_cycles / a.cycles_per_us);
    }
    const int middle = middle_stage(n, static_cast<int>(p.k));
    const double half = late(rest_us(middle * first), stage_us),
                 all = late(rest_us(p.k), middle * stage_us);
    return half > all ? half : all;
}

/// What a warp waits for columns that it reads step by step, not from shared memory. They come one
/// after the other, but those of f32 together if a thread has registers for all of them. Where the
/// norm is made in passing, one block reads all of x at once, and the others find it in L2: a warp
/// waits once for the steps that it has in flight.
constexpr double global_columns_us(const row& r, const product_problem& p, const arch& a,
                                   const matvec_share& has, const cost_constants& c) {
    const matvec_policy& n = r.policy.matvec();
    if (n.activation != activation_source::global) return 0;
    const auto met = static_cast<double>(columns_met(p));
    const std::int64_t values = c.on_record ? product_values(n) : awaited_values(n);
    const double steps =
        has.groups * units(static_cast<double>(p.k), static_cast<double>(values * warp_slices(n)));
    if (n.product != inner_product::fma || n.placement == norm_placement::passing)
        return steps * met * c.global_step_us;
    const bool together = registers_of(r, a) >= other_registers + float_registers * (n.rows + met);
    return steps * (together ? 1 : met) * c.float_step_us;
}

/// The share of the rows that the busiest SM has. Blocks that start early take the room beside
/// those of the launch before, which differs from SM to SM.
constexpr double of_busiest_sm(const matvec_share& has, const arch& a, const cost_constants& c,
                               double head_start_us) {
    const bool early = a.dependent_launch && head_start_us > 0;
    return has.of_sm + (early && has.room > has.of_sm ? c.crowding * (has.room - has.of_sm) : 0);
}

/// The time of a warp after the columns have arrived: its own stalls and copies, and the
/// instructions and reads of shared memory of all warps of its SM.
constexpr double warp_us(const row& r, const product_problem& p, const arch& a, std::int32_t band,
                         const matvec_share& has, const cost_constants& c, double head_start_us) {
    const matvec_policy& n = r.policy.matvec();
    const group_code code = code_of_group(r, p, band, has, c);
    const double own = has.groups * code.cycles * c.stalled / a.cycles_per_us +
                       copies_us(n, p, has, c) + global_columns_us(r, p, a, has, c);
    const auto met = static_cast<double>(columns_met(p));
    const double groups = has.rows * of_busiest_sm(has, a, c, head_start_us) / n.rows;
    // Words of two groups meet in half of the banks, so each four columns take as long as eight.
    const bool twice = met > halved_columns && !c.on_record;
    const double read = n.product == inner_product::mma ? (twice ? 2 : 1) * mma_columns : met;
    const double cycles =
        code.issues / warp_issues + read * column_bytes(n, p) / shared_memory_bytes;
    return own + groups * cycles / a.cycles_per_us;
}

/// The time in which a block goes over a column and writes a part of its norm for later readers. It
/// works beside the other blocks.
constexpr double norm_us(const matvec_policy& n, const product_problem& p) {
    if (!writes_norms(n)) return 0;
    const double turns =
        units(static_cast<double>(p.k), static_cast<double>(n.threads) * 4 * written_quads_ahead);
    return (turns + 1) * memory_latency_us;
}

/// The time in which the rest of a ring is filled after a head start: copies of columns wait behind
/// it. Rings of experts have no head start, since ids come late.
constexpr double unfilled_us(const product_problem& p, const arch& a, const matvec_share& has,
                             double head_start_us) {
    const double ring = p.expert ? 0 : has.ahead * has.weights / a.bytes_per_us;
    return ring > head_start_us ? ring - head_start_us : 0;
}

/// Slots are added up behind the last product: warps meet, and a thread reads a row's results one
/// after the other. Predicted: 30 cycles for each.
constexpr double slots_us(const product_problem& p, const arch& a) {
    const double cycles = meeting_cycles + 30 * static_cast<double>(slots_of(p));
    return combined(p) ? cycles / a.cycles_per_us : 0;
}

/// Results that are quantized wait for their neighbors, as those of a row step do.
constexpr double quantized_us(const product_problem& p, const cost_constants& c) {
    return p.needs.epilogue.has(epilogue_part::quantize) ? c.quantize_us : 0;
}

/// Where heads are turned to is computed between columns and products: 250 cycles of a sine and a
/// cosine, and 150 for what is loaded with the columns, and later than these. Predicted.
constexpr double heads_us(const product_problem& p, const arch& a) {
    return has_heads(p.needs.epilogue) ? 400 / a.cycles_per_us : 0;
}

/// The time in which a block sorts a token's experts for later readers, while others multiply.
constexpr double sorted_us(const matvec_policy& n, const product_problem& p, double warps,
                           const cost_constants& c) {
    if (!routes(p)) return 0;
    return memory_latency_us + scores_us(p, c) + routing_us(p.member[0].experts, n.threads, warps) +
           memory_latency_us;
}

/// The time of a warp's way and of memory, which overlap. With one stage no bytes are on their way
/// while a warp multiplies, but those of other warps, so nothing is hidden.
constexpr double way_and_memory_us(const matvec_policy& n, const matvec_share& has, double way,
                                   double memory, const cost_constants& c) {
    const bool hidden = n.stages > 1 || has.groups * has.turns <= 1;
    return hidden ? overlapped(way, memory, c) : way + memory;
}

/// The time of a launch beside its node.
constexpr launch_time matvec_time(const row& r, const product_problem& p, const arch& a,
                                  const launch_shape& shape, const cost_constants& c,
                                  double head_start_us) {
    const matvec_policy& n = r.policy.matvec();
    const matvec_share has = share_of_matvec(r, p, a, shape);
    const double unfilled = unfilled_us(p, a, has, head_start_us);
    const double products = warp_us(r, p, a, shape.band, has, c, head_start_us);
    const double arrived = unfilled + columns_us(n, p, a, has, c) +
                           late_columns_us(n, p, a, has, c, products / (has.groups * has.turns));
    const double way = arrived + products;
    // By mma four columns, or eight, are multiplied: the last one is repeated.
    const auto met = static_cast<double>(columns_met(p));
    const bool free = n.product == inner_product::mma && met > 1;
    const double spare = (n.columns > met && !free ? n.columns - met : 0.0) +
                         (r.computes.product().weights.size() - p.needs.weights.size());
    launch_time out;
    out.bytes = weights_us(has, a, c);
    out.results = (shape.share.cluster > 1 ? cluster_us : 0) + slots_us(p, a) + quantized_us(p, c) +
                  heads_us(p, a);
    const double unhidden =
        way_and_memory_us(n, has, way, out.bytes - unfilled, c) * (1 + spare_share * spare) -
        out.bytes;
    out.columns = unhidden * arrived / way;
    out.warps = unhidden - out.columns;
    const bool writes = writes_norms(n) && !p.needs.emits.empty();
    const double beside =
        writes ? norm_us(n, p)
               : sorted_us(n, p, has.warps * (shape.resident / shape.share.width), c);
    if (beside > out.us()) out.warps += beside - out.us();
    return out;
}

}  // namespace CATENA_NAMESPACE::detail
