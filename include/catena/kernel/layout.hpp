// Sizes that the bodies and the pick must agree on: shared memory, padding, accumulation order.
// Written once, here.
#pragma once

#include "catena/chain/lowered.hpp"
#include "catena/chain/routing.hpp"
#include "catena/config.hpp"
#include "catena/format/float_weights.hpp"
#include "catena/format/rows.hpp"
#include "catena/kernel/policy.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

inline constexpr int warp_size = 32;

/// The unit of a policy's piece, which is a multiple of it: no block of any format is longer.
inline constexpr int piece_unit = 256;

/// The unit of a weight row's length: a block, 32 float weights, or, if fp8 is multiplied with fp8,
/// the values that share a scale.
constexpr int length_unit(skeleton by, format weights) {
    if (by == skeleton::matmul && weights == format::fp8_e4m3)
        return info(format::fp8_group).block_elements;
    return is_float(weights) ? 32 : info(weights).block_elements;
}

/// Values of weight rows that a warp takes at a step of dp4a: 32 per lane. Its pieces are
/// multiples, or half of them: then half of its lanes have one row, and the others another.
inline constexpr int warp_values = 32 * warp_size;
CATENA_FN constexpr int rows_abreast(const matvec_policy& p) {
    return p.product == inner_product::dp4a && 2 * p.piece == warp_values ? 2 : 1;
}

CATENA_FN constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/// q8_1_row_bytes as bodies ask, in 32 bits, which hold those of a row.
template <class Int>
CATENA_FN constexpr Int padded_q8_1_bytes(Int k) {
    constexpr auto padded = static_cast<int>(stored_elements(format::q8_1, 1));
    return (k + (padded - 1)) / padded * (padded / 32 * q8_1_bytes);
}

/// Bytes of a row of k elements of a norm that is begun (kernel/args.hpp): those of q8_1, and its
/// squares, which lie behind all rows of q8_1 in a workspace.
constexpr std::int64_t begun_row_bytes(std::int64_t k) { return q8_1_row_bytes(k) + k / 32 * 4; }

/// A column in shared memory, of q8_1, or of f32 for fma: 16 bytes more than its row, so that the
/// same word of eight columns lies in eight banks. Two groups of a column, which an mma reads at
/// once, share some.
template <class Int>
CATENA_FN constexpr Int shared_column_bytes(inner_product by, Int k) {
    return (by == inner_product::fma ? 4 * k : padded_q8_1_bytes(k)) + 16;
}

/// Values of one weight row that a warp takes at a step of fma: 8 per lane.
inline constexpr int lane_floats = 8, step_floats = lane_floats * warp_size;

/// Steps of fma whose values of x and of the norm's weight are in flight together, if a norm is
/// made in passing: all of a piece, but a thread has registers for four.
CATENA_FN constexpr int steps_in_flight(const matvec_policy& p) {
    if (p.placement != norm_placement::passing) return 1;
    const int steps = p.piece / step_floats;
    return steps < 4 ? steps : 4;
}

/// Warps of a matvec that share weight rows, each with pieces of K of its own, and how many such
/// teams `warps` are. A warp alone is a team, too.
CATENA_FN constexpr int warp_slices(const matvec_policy& p) { return p.slices > 0 ? p.slices : 1; }
CATENA_FN constexpr int warp_teams(const matvec_policy& p, int warps) {
    return warps / warp_slices(p);
}

/// Values of a weight row in a stage: the pieces of all warps of a team, next to each other.
CATENA_FN constexpr int stage_values(const matvec_policy& p) { return warp_slices(p) * p.piece; }
/// The number of the stage at the middle of a row, or behind it.
CATENA_FN constexpr int middle_stage(const matvec_policy& p, int k) {
    const auto stage = static_cast<unsigned>(stage_values(p));
    return static_cast<int>((static_cast<unsigned>(k) + 2 * stage - 1) / (2 * stage));
}

/// Bytes that one weight row's slice takes in a stage. The copy starts at the 16-byte boundary at
/// or below the slice and ends at the one at or above its end, so up to 15 bytes more on either
/// side. An odd number of 16 bytes: the same word of eight rows lies in eight banks.
constexpr std::int64_t slice_bytes(const matvec_policy& p, format f) {
    return (round_up(row_bytes(f, stage_values(p)), 16) + 16) | 16;
}

/// Floats of the sums that a warp hands to its team, in a stage that has been multiplied: 16 rows
/// of 8 columns. With 4 floats between columns two lanes of a warp at most meet in a bank.
inline constexpr int handed_stride = 16 + 4, handed_floats = 8 * handed_stride;

constexpr std::int64_t stage_bytes(const matvec_policy& p, format_set weights) {
    std::int64_t widest = 0;
    for (const format f : weights) {
        const std::int64_t slice = slice_bytes(p, f);
        if (slice > widest) widest = slice;
    }
    const std::int64_t handed = p.slices > 1 ? p.slices * handed_floats * 4 : 0;
    return p.rows * widest > handed ? p.rows * widest : handed;
}

/// Stages of a matvec's ring, at most: a register holds where a lane's slice begins in each.
inline constexpr int most_stages = 8;

/// Rows of a row skeleton's block: one, or one for each warp.
CATENA_FN constexpr int rows_of_block(const row_policy& p) { return p.rows > 0 ? p.rows : 1; }

/// Rows of a block that has heads of so many sequences: a warp for each sequence of a head.
CATENA_FN constexpr int rows_of_block(const row_policy& p, int sequences) {
    const auto warps = static_cast<unsigned>(rows_of_block(p));
    return static_cast<int>(warps - warps % static_cast<unsigned>(sequences));
}

/// Has every thread of a norm read all its operands when it comes to the barrier of its sum, behind
/// which the first of them writes?
CATENA_FN constexpr bool reads_before_it_writes(const row_policy& p) {
    return p.values > 0 && p.values <= 8 && p.threads / rows_of_block(p) > warp_size;
}

/// Experts whose results a row has in flight together: two vectors of 16 bytes, or one of what
/// registers do not keep.
CATENA_FN constexpr int slots_abreast(const row_policy& p) {
    return p.values > 0 && p.values <= 8 ? 16 / p.values : 1;
}

/// Parts of a token, of whose squares a norm of all its heads has a sum each.
inline constexpr int quarters = 4;
/// Values of a token that the warps of a block ask for at once to sum up their squares.
inline constexpr int token_norm_values = quarters * 4 * 4 * warp_size;

/// Values of a head that a warp makes of a state: it holds so many rows of the state.
inline constexpr int values_of_warp = 8;

/// Elements of the longest head that a policy holds: a warp has each head.
CATENA_FN constexpr int head_values(const row_policy& p) { return p.values * warp_size; }

/// The most experts of a policy that routes: a block has those of a token.
CATENA_FN constexpr int routed_experts(const row_policy& p) { return p.values * p.threads; }

/// The most experts of a matvec that routes, each block for itself, and how many a thread keeps.
inline constexpr int routed_by_thread = 4;
CATENA_FN constexpr int routed_experts(const matvec_policy& p) {
    return routed_by_thread * p.threads;
}

/// Shared memory that a block needs to find a token's experts: a rank, a score and an element of a
/// list for each expert, three words for each group, and the expert that was found.
CATENA_FN constexpr std::int64_t route_shared_bytes(std::int64_t experts) {
    return 4 * (3 * round_up(experts, 4) + 3 * max_groups + 4);
}

/// How often the warps of a row may meet: for two sums, a magnitude and the sum of its int8.
inline constexpr int row_meetings = 4;

/// Does a block multiply a part of its column while the next one is on its way? Only one column of
/// q8_1: of more it would have the next part of each in registers.
CATENA_FN constexpr bool makes_parts(const matvec_policy& p) {
    return p.placement == norm_placement::deferred && p.product == inner_product::dp4a &&
           p.columns == 1;
}

/// Floats in which the warps of a matvec that makes its norm add up squares. Columns of floats are
/// normed together, others one after the other.
CATENA_FN constexpr std::int64_t partial_sums(const matvec_policy& p, std::int64_t columns) {
    return p.threads / warp_size * (p.product == inner_product::fma ? columns : 1);
}
/// Shared memory beside the columns in a matvec that makes its norm: these floats, and one for each
/// column that is made as a whole.
CATENA_FN constexpr std::int64_t norm_bytes(const matvec_policy& p, std::int64_t columns) {
    return round_up(partial_sums(p, columns) * 4, 16) +
           (makes_parts(p) ? 0 : round_up(columns * 4, 16));
}

/// Do additional blocks of a matvec write the norm that it makes?
CATENA_FN constexpr bool writes_norms(const matvec_policy& p) {
    return p.placement != norm_placement::producer && p.product == inner_product::fma;
}
/// How many of them write a column: each a quad of a thread, since quads would follow each other.
CATENA_FN constexpr int blocks_that_write(const matvec_policy& p, int k) {
    constexpr auto padded = static_cast<int>(stored_elements(format::q8_1, 1));
    const int quads = (k + (padded - 1)) / padded * (padded / 4);
    return (quads + p.threads - 1) / p.threads;
}

/// Values of x that a block has on their way at once, where a matvec makes its norm itself. For
/// q8_1 they are a part of a column: a quad of each thread, or more to have whole steps.
CATENA_FN constexpr int part_values(const matvec_policy& p) {
    const int turn = 4 * p.threads;
    if (p.product == inner_product::fma) return 2 * turn;
    int values = turn % warp_values == 0 && p.piece % turn == 0 ? turn : p.piece;
    while (values % turn != 0) values += p.piece;
    return values;
}
/// How many quads of x, and of the norm's weight, these are for a thread.
CATENA_FN constexpr int norm_quads_ahead(const matvec_policy& p) {
    return part_values(p) / (4 * p.threads);
}
/// Quads of x on their way where a block only writes the norm.
inline constexpr int written_quads_ahead = 4;

/// Can a matvec end a norm that was begun? Where warps share rows, they meet anyway.
CATENA_FN constexpr bool ends_norms(const matvec_policy& p) { return p.slices > 1; }

/// Can a matvec gate the activation that it makes? Matrices of heads read none that is gated.
CATENA_FN constexpr bool gates(const matvec_policy& p) {
    return p.placement == norm_placement::deferred && p.product != inner_product::fma && !p.turns;
}
/// Heads of so many elements can be normed before they are gated: neighboring lanes have them.
CATENA_FN constexpr bool norms_in_warp(std::int64_t head) {
    return head == 32 || head == 64 || head == 128;
}

/// How many slots of a token a matvec adds up: every lane of a warp knows the expert and the weight
/// of one slot.
CATENA_FN constexpr int slots_added(const matvec_policy& p) {
    const bool adds = p.columns == 1 && p.placement == norm_placement::producer && !p.routes;
    return adds ? warp_size : 1;
}

/// Can a matvec begin the norm of its results, of dense matrices or of experts? Dense where norms
/// are ended. Experts where slots are added up, in the policies that experts have.
CATENA_FN constexpr bool begins_norms(const matvec_policy& p, bool experts) {
    const bool theirs = p.cluster > 1 || p.single_wave;
    return experts ? slots_added(p) > 1 && theirs : ends_norms(p);
}

/// Groups of rows that a warp may have one after the other, if it turns heads: a lane looks up what
/// turns a row, for all of them at once.
CATENA_FN constexpr int most_groups(const matvec_policy& p) { return warp_size / p.rows; }

/// Results of one column or slot that meet in a block's shared memory, at most: those that its
/// epilogue adds up or quantizes.
inline constexpr int max_finished_rows = 256;

// ---- matmul ----

inline constexpr int mma_rows = 16, mma_columns = 8;

/// Columns that a matvec multiplies by one mma, each in two of its columns (kernel/fragment.hpp).
inline constexpr int halved_columns = mma_columns / 2;

/// A block of a matmul's activation: 4 words of scales, int8 q[128]. All its layouts are alike.
inline constexpr int mmq_values = info(format::q8_1_mmq_d4).block_elements;
inline constexpr int mmq_bytes = info(format::q8_1_mmq_d4).block_bytes;

/// Warps that share rows of a matmul's tile, each with a piece of K of its own at every step.
constexpr int tile_slices(const matmul_policy& p) { return p.slices > 0 ? p.slices : 1; }

/// Weight rows of a tile: a warp has `rows`, and multiplies them with every column.
constexpr int tile_rows(const matmul_policy& p) {
    return p.threads / warp_size / tile_slices(p) * p.rows;
}

/// Warpgroups multiply rows of 128 bytes of K at a step, swizzled (exec/operand.hpp), which lie
/// without gaps: float weights as they come, 64 values or 128 of fp8, and quantized weights decoded
/// to bf16.
constexpr bool by_warpgroups(const matmul_policy& p) { return p.product == tile_product::wgmma; }
inline constexpr int warpgroup_values = info(format::bf16_mma).block_elements;
inline constexpr int warpgroup_row_bytes = info(format::bf16_mma).block_bytes;
constexpr bool decodes(const matmul_policy& p, format_set weights) {
    return by_warpgroups(p) && !has_float_weights(weights);
}
constexpr bool fp8_by_warpgroups(const matmul_policy& p, format_set weights) {
    return by_warpgroups(p) && weights.has(format::fp8_e4m3);
}

/// Values of K that a block multiplies at a step.
constexpr int step_values(const matmul_policy& p, format_set weights) {
    if (fp8_by_warpgroups(p, weights)) return warpgroup_row_bytes;
    return by_warpgroups(p) ? warpgroup_values : tile_slices(p) * p.piece;
}

/// Room for a piece of one weight row, which begins at any even byte, or any at all. Sixteen lanes
/// read as many rows at once: rows that are an odd number of chunks apart start in different banks,
/// but for those longest ones of which warpgroups would not fit.
constexpr int tile_row_bytes(const matmul_policy& p, format f) {
    const int block = info(f).block_bytes, bytes = p.piece / info(f).block_elements * block;
    if (by_warpgroups(p) && is_float(f)) return bytes;
    const int before = block % 16 == 0 ? 0 : block % 2 == 0 ? 14 : 15;
    const int chunks = (bytes + before + 15) / 16;
    const bool even = chunks % 2 == 0 && !(by_warpgroups(p) && chunks >= 14);
    return (even ? chunks + 1 : chunks) * 16;
}
constexpr int tile_row_bytes(const matmul_policy& p, format_set weights) {
    int widest = 0;
    for (const format f : weights) {
        const int own = tile_row_bytes(p, f);
        if (own > widest) widest = own;
    }
    return widest;
}

/// The blocks of a column in a stage: values of one and its bytes. They are the blocks of the
/// activation's layout. Tiles of warps with float weights read f32, and a block is a piece, an odd
/// number of 16 bytes from the next. A block of fp8 has its scale behind it, and is as long as
/// those of int8.
constexpr int tile_block_values(const matmul_policy& p, format_set weights) {
    if (by_warpgroups(p)) return step_values(p, weights);
    return reads_f32(weights) ? p.piece : mmq_values;
}
constexpr int tile_block_bytes(const matmul_policy& p, format_set weights) {
    if (by_warpgroups(p)) return warpgroup_row_bytes;
    return reads_f32(weights) ? 4 * p.piece + 16 : mmq_bytes;
}
inline constexpr int fp8_values = info(format::fp8_group).block_elements;
static_assert(fp8_values == mmq_values && fp8_values + 16 == mmq_bytes, "as long as the others");

/// Bytes of a step's scales if warpgroups multiply fp8: the scales of its columns and of its rows
/// lie behind the operands of a stage, whose size keeps stages aligned to the swizzle.
constexpr int tile_scale_bytes(const matmul_policy& p, format_set weights) {
    if (!fp8_by_warpgroups(p, weights)) return 0;
    return static_cast<int>(round_up((p.columns + tile_rows(p)) * 4, 8 * warpgroup_row_bytes));
}

/// Bytes of a stage: the weights of all warps, then the activation's blocks. Weights that are
/// decoded are in no stage.
constexpr int tile_weight_bytes(const matmul_policy& p, format_set weights) {
    return decodes(p, weights) ? 0 : p.threads / warp_size * p.rows * tile_row_bytes(p, weights);
}
constexpr int tile_stage_bytes(const matmul_policy& p, format_set weights) {
    return tile_weight_bytes(p, weights) +
           step_values(p, weights) / tile_block_values(p, weights) * p.columns *
               tile_block_bytes(p, weights) +
           tile_scale_bytes(p, weights);
}

/// Weights that are decoded have two rings of their own beside the stages': pieces as they come,
/// and steps of the operand, two of each.
inline constexpr int decoding_ring = 2;
constexpr int tile_piece_bytes(const matmul_policy& p, format_set weights) {
    return tile_rows(p) * tile_row_bytes(p, weights);
}
constexpr int tile_operand_bytes(const matmul_policy& p) {
    return tile_rows(p) * warpgroup_row_bytes;
}
constexpr std::int64_t tile_decoding_bytes(const matmul_policy& p, format_set weights) {
    if (!decodes(p, weights)) return 0;
    return std::int64_t{decoding_ring} * (tile_operand_bytes(p) + tile_piece_bytes(p, weights));
}

/// Two groups of one weight row, unpacked: 64 int8. A row is 20 words from the next, so that the
/// eight rows of a fragment lie in different banks. Then their scales and mins, a vector a group.
/// Float weights are multiplied as they lie.
inline constexpr int unpacked_groups = 2;
inline constexpr int unpacked_row_bytes = unpacked_groups * 32 + 16;
inline constexpr int unpacked_scale_bytes = unpacked_groups * 16;
constexpr int unpacked_bytes(const matmul_policy& p, format_set weights) {
    const bool none = has_float_weights(weights) || by_warpgroups(p);
    return none ? 0 : p.rows * (unpacked_row_bytes + unpacked_scale_bytes);
}

/// Finished products of a tile, column by column, of each slice; 4 floats between columns keep the
/// lanes of an mma in different banks. They take the place of the stages.
constexpr int finished_stride(const matmul_policy& p) { return tile_rows(p) + 4; }
constexpr int finished_floats(const matmul_policy& p) { return p.columns * finished_stride(p); }

constexpr std::int64_t tile_ring_bytes(const matmul_policy& p, format_set weights) {
    const std::int64_t stages =
        std::int64_t{p.stages} * tile_stage_bytes(p, weights) + tile_decoding_bytes(p, weights);
    const std::int64_t finished = std::int64_t{tile_slices(p)} * finished_floats(p) * 4;
    const std::int64_t own = stages > finished ? stages : finished;
    const int others = p.cluster > 1 ? p.cluster - 1 : 0;  // blocks whose sums meet in the first
    const std::int64_t met = std::int64_t{others} * tile_rows(p) * p.columns * 4;
    return own > met ? own : met;
}

constexpr std::int64_t matmul_shared_bytes(const matmul_policy& p, format_set weights) {
    const std::int64_t warps = p.threads / warp_size, barrier = 8;
    const std::int64_t lists = 2 * round_up(p.columns * 4, 16) + round_up(warps * 4, 16);
    return round_up(tile_ring_bytes(p, weights), 16) + warps * unpacked_bytes(p, weights) + lists +
           round_up(warps * p.stages * barrier, 16);
}

/// Dynamic shared memory of a launch, in bytes. `finished`: how many results of each column or slot
/// meet there.
constexpr std::int64_t row_shared_bytes(const row_computation& c, const row_policy& p) {
    if (convolves(c.stages) || recalls(c.stages) || scans(c.stages) || attends(c.stages)) return 0;
    // Heads are turned there, where lanes find the other elements of their pairs.
    if (has_heads(c.stages))
        return std::int64_t{4} * (rows_of_block(p) * head_values(p) + quarters);
    if (routes(c.stages)) return route_shared_bytes(routed_experts(p));
    return std::int64_t{p.threads / warp_size} * 4 * row_meetings;
}
constexpr std::int64_t matvec_shared_bytes(const matvec_policy& p, format_set weights,
                                           std::int64_t k, std::int64_t columns,
                                           std::int64_t finished) {
    const std::int64_t warps = p.threads / warp_size, barrier = 8;
    const int teams = warp_teams(p, static_cast<int>(warps));
    std::int64_t bytes = p.stages * (teams * stage_bytes(p, weights) + warps * barrier);
    if (p.activation == activation_source::shared)
        bytes += columns * shared_column_bytes(p.product, k);
    if (p.placement == norm_placement::deferred) bytes += norm_bytes(p, columns);
    if (ends_norms(p)) bytes += round_up(columns * 4, 16);  // 1 / rms of each
    return round_up(bytes + columns * finished * 4, 16);
}
constexpr std::int64_t shared_bytes(const computation& c, const policy& p, std::int64_t k,
                                    std::int64_t columns, std::int64_t finished = 0) {
    switch (p.kind()) {
        case skeleton::row:
            return row_shared_bytes(c.row(), p.row());
        case skeleton::matvec:
            return matvec_shared_bytes(p.matvec(), c.product().weights, k, columns, finished);
        case skeleton::matmul:
            break;
    }
    return matmul_shared_bytes(p.matmul(), c.product().weights);
}

/// The accumulation order of an instance. A row's sums depend on how its elements are dealt to
/// threads.
constexpr std::uint32_t order_of(const row_policy& p) {
    return static_cast<std::uint32_t>(p.threads / rows_of_block(p));
}
/// A matvec's dot depends on the inner product alone, on how warps share K, and on the norm if it
/// makes that.
constexpr std::uint32_t order_of(const matvec_policy& p) {
    const std::uint32_t product = 1 + static_cast<std::uint32_t>(p.product);
    if (p.slices > 1)
        return product + (static_cast<std::uint32_t>(p.slices) << 8) +
               (static_cast<std::uint32_t>(p.piece) << 16);
    if (p.placement == norm_placement::producer) return product;
    return product + 16 * static_cast<std::uint32_t>(p.placement) +
           (static_cast<std::uint32_t>(p.threads) << 8);
}
/// A matmul adds the groups of a row one after the other, or those of a slice, then the slices; a
/// warpgroup's tensor cores may add otherwise than a warp's, and blocks of a cluster, as many as a
/// problem gets, add up their parts of K.
constexpr std::uint32_t order_of(const matmul_policy& p) {
    if (by_warpgroups(p)) return 5 + (static_cast<std::uint32_t>(p.cluster) << 8);
    const auto slices = static_cast<std::uint32_t>(p.slices);
    return slices < 2 ? 4 : 4 + (slices << 8) + (static_cast<std::uint32_t>(p.piece) << 16);
}
constexpr std::uint32_t order_of(const policy& p) {
    return p.visit([](const auto& own) { return order_of(own); });
}

/// Are a row's bits those of a GPU's tensor cores? They add floating-point products in an order and
/// with a precision that no standard states, each generation its own: such rows give the same bits
/// run after run, and agree with the host executor to a tolerance.
constexpr bool bits_of_device(const computation& c) {
    if (c.kind() == skeleton::row) return attends(c.row().stages);
    if (c.kind() != skeleton::matmul) return false;
    return has_float_weights(c.product().weights) || c.product().activation == format::bf16_mma;
}

}  // namespace CATENA_NAMESPACE
