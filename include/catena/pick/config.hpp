// From a row and a problem to a launch: how many weight rows a block takes, how many blocks there
// are, and what they ask of an SM.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/exec/launch.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/attention_share.hpp"
#include "catena/pick/occupancy.hpp"
#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>
#include <iterator>

namespace CATENA_NAMESPACE {

/// Slots of a token whose results a launch adds up.
constexpr std::int64_t slots_summed(const product_problem& p) {
    return combined(p) ? slots_of(p) : 1;
}

/// Columns whose activation a block holds: an expert block works on one, or on those of all slots.
constexpr std::int64_t block_columns(const product_problem& p) {
    return p.expert ? slots_summed(p) : p.columns;
}

/// Do results meet in a block's shared memory, to be quantized or added up?
constexpr bool results_meet(const product_problem& p) {
    return combined(p) || p.needs.epilogue.has(epilogue_part::quantize);
}

/// What the weight rows of a band are a multiple of, and how many they are at least and at most.
struct band_limits {
    std::int64_t unit = 1, least = 1, most = 1 << 30;
};

/// Does each block make what its warps multiply, so that an SM gets one block?
constexpr bool makes_columns_first(const matvec_policy& n, const product_problem& p) {
    return n.placement == norm_placement::deferred && (makes_norm(p) || quantizes_inside(p.needs));
}

/// Results of a column or slot that may meet in a block's shared memory: half of the most where
/// room for the most would take a block from an SM.
constexpr std::int64_t results_that_meet(const row& r, const product_problem& p, const arch& a) {
    const auto blocks = [&](std::int64_t results) {
        const std::int64_t columns = block_columns(p);
        return blocks_per_sm(r, a, shared_bytes(r.computes, r.policy, p.k, columns, results));
    };
    const std::int64_t half = max_finished_rows / 2;
    return blocks(max_finished_rows) < blocks(half) ? half : max_finished_rows;
}

/// A band is whole turns of a block's warps. But an SM has one block where that adds up slots or
/// makes its columns: there the last turn may be short, so that no SM is idle, and the only turn,
/// too, unless columns are made without a norm of all of x. A block that norms columns of floats
/// has as many weight rows, which are as long: all blocks read these columns at once. Results that
/// are quantized come in whole blocks. These and those that are added up fit where they meet.
constexpr band_limits band_limits_of(const row& r, const product_problem& p, const arch& a) {
    const matvec_policy& n = r.policy.matvec();
    band_limits out;
    const std::int64_t turn = std::int64_t{n.rows} * warp_teams(n, n.threads / warp_size);
    const bool alone = combined(p) || makes_columns_first(n, p);
    if (turn > 0) out.unit = alone ? n.rows : turn;
    if (turn > 0) out.least = combined(p) || makes_norm(p) ? out.unit : turn;
    if (makes_columns_first(n, p) && n.product == inner_product::fma)
        out.least = p.columns < turn ? p.columns : turn;
    if (n.turns) out.most = most_groups(n) * turn;
    if (!results_meet(p)) return out;
    const std::int64_t results = results_that_meet(r, p, a);
    const int block = info(format::q8_1).block_elements;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const bool quantizes = m.epilogue.has(epilogue_part::quantize);
        if (!quantizes && !combined(p)) continue;
        if (quantizes) out.unit = round_up(out.unit, block * weight_rows(m));
        const std::int64_t most = results * weight_rows(m);
        if (most < out.most) out.most = most;
    }
    return out;
}

/// How many times the bands of a member occur in a launch: once if all of it is dense. In a launch
/// of experts once for each column of the result.
constexpr std::int64_t times_of(const product_problem& p, const problem_member& m) {
    return p.expert ? columns_of(p, m) : 1;
}

/// Do the warps of one block, which share rows, multiply as fast as an SM's part of the memory
/// reads? By the counts of their machine code; without counts nobody knows.
constexpr bool one_block_keeps_up(const row& r, const arch& a) {
    const matvec_policy& n = r.policy.matvec();
    if (n.slices < 2) return false;
    const double bytes_in_cycle = a.bytes_per_us / (a.sms * a.cycles_per_us);  // of an SM
    const warp_code* code = r.code.of;
    for (const format f : r.computes.product().weights) {
        if (code == std::end(r.code.of) || code->stage_cycles == 0) return false;
        const int rows = n.threads / warp_size * n.rows;
        const double bytes = rows * static_cast<double>(row_bytes(f, n.piece));
        if (code->stage_cycles * bytes_in_cycle > bytes) return false;
        ++code;
    }
    return true;
}

/// Bands of one member.
constexpr std::int32_t bands_of(const problem_member& m, std::int32_t band) {
    const std::int64_t results = band / weight_rows(m);
    return static_cast<std::int32_t>(quotient(m.rows + results - 1, results));
}

/// Bands of all members. Those of experts count for each column, with the matrix that its id picks.
constexpr std::int32_t bands_of(const product_problem& p, std::int32_t band) {
    std::int32_t bands = 0;
    for (int i = 0; i < p.member_count; ++i)
        if (!p.expert || by_ids(p, p.member[i])) bands += bands_of(p.member[i], band);
    return bands;
}

/// Bands of a token in the dense members of a launch of experts.
constexpr std::int32_t dense_bands_of(const product_problem& p, std::int32_t band) {
    std::int32_t bands = 0;
    for (int i = 0; i < p.member_count; ++i)
        if (p.expert && !by_ids(p, p.member[i])) bands += bands_of(p.member[i], band);
    return bands;
}

/// The most matrices that a member has.
constexpr std::int32_t experts_of(const product_problem& p) {
    std::int32_t most = 0;
    for (int i = 0; i < p.member_count; ++i)
        if (p.member[i].experts > most) most = p.member[i].experts;
    return most;
}

/// The matrices that a launch of a matmul goes through: those that ids may pick, or one for each
/// part of the activation, though parts may share it.
constexpr std::int32_t matrices_of(const product_problem& p) {
    const std::int64_t parts = slots_of(p);
    return parts > experts_of(p) ? static_cast<std::int32_t>(parts) : experts_of(p);
}

/// Blocks of a launch that does not attend.
constexpr std::int64_t blocks_of(const row& r, const row_problem& p) {
    const int rows = rows_of_block(r.policy.row(), static_cast<int>(p.sequences));
    return quotient(p.rows + rows - 1, rows);
}
/// All blocks of a launch of a row.
constexpr std::int64_t blocks_of(const row& r, const row_problem& p, const arch& a) {
    if (!attends(p.needs.stages)) return blocks_of(r, p);
    const attention_share share = share_of_attention(r, p, a);
    return key_heads_of(p) * share.clusters * share.blocks;
}
constexpr std::int64_t blocks_of(const row& r, const product_problem& p, std::int32_t band) {
    if (p.needs.kind == skeleton::matvec) {
        std::int64_t blocks = 0;
        for (int i = 0; i < p.member_count; ++i)
            blocks += bands_of(p.member[i], band) * times_of(p, p.member[i]);
        return blocks;
    }
    const std::int64_t rows = bands_of(p, band);
    const int tile = r.policy.matmul().columns;
    return rows * (p.expert ? matrices_of(p) : quotient(p.columns + tile - 1, tile));
}

/// How the work of a band or of a tile is shared out, where they leave SMs without a block.
struct band_share {
    int cluster = 1;  ///< blocks that have it together
    int width = 1;    ///< times its policy's warps a block has
};

/// How many values of K a block multiplies, in four steps, while another block could hand it the
/// sums of its tile. The sums of 128 x 128 are 64 KB, for which an SM is assumed to need 2.6 us.
constexpr int values_of_handing(const row& r) {
    return 4 * step_values(r.policy.matmul(), r.computes.product().weights);
}

/// How many values of K of a tile each block of a cluster has.
constexpr std::int64_t share_of_k(const row& r, const product_problem& p, int cluster) {
    const std::int64_t piece = r.policy.matmul().piece, pieces = (p.k + piece - 1) / piece;
    const std::int64_t share = (pieces + cluster - 1) / cluster * piece;
    return share < p.k ? share : p.k;
}

/// SMs that clusters of this many blocks can fill, with one block on an SM. A cluster does not
/// reach over a GPC, which has 16 or 18 SMs. So clusters of more than two blocks leave up to four
/// SMs idle.
constexpr int sms_of_clusters(const arch& a, int blocks) {
    return blocks > 2 && a.sms > 16 ? a.sms - 4 : a.sms;
}

/// How many blocks share a tile: the smallest number with which an SM multiplies the fewest values
/// of K one after the other. Handing over sums counts as values, too.
constexpr int blocks_of_tile(const row& r, const product_problem& p, const arch& a,
                             std::int32_t band) {
    const int wanted = r.policy.matmul().cluster;
    const int most = wanted < a.cluster_blocks ? wanted : a.cluster_blocks;
    if (p.expert || most < 2) return 1;
    const std::int64_t tiles = blocks_of(r, p, band);
    int best = 1;
    std::int64_t least = 0;
    for (int n = 1; n <= most; ++n) {
        const std::int64_t share = share_of_k(r, p, n), sms = sms_of_clusters(a, n);
        if (n > 1 && (n - 1) * share >= p.k) continue;  // the last would have none
        const std::int64_t values =
            (tiles * n + sms - 1) / sms * share + (n - 1) * values_of_handing(r);
        if (n > 1 && values >= least) continue;
        best = n, least = values;
    }
    return best;
}

/// How blocks share bands. Quantized results come in bands of 32, so there may be few, and SMs
/// without a band keep no bytes in flight. If GPU and policy have clusters, the blocks of a cluster
/// share a band, as many as there are SMs for. Then the blocks of an SM get the warps of all blocks
/// that it could hold. One warp sums a whole row, so the bits do not change.
constexpr band_share share_of(const row& r, const product_problem& p, const arch& a,
                              std::int32_t band, int resident) {
    band_share out;
    if (p.needs.kind == skeleton::matmul) {
        out.cluster = blocks_of_tile(r, p, a, band);
        return out;
    }
    const matvec_policy& n = r.policy.matvec();
    if (n.placement != norm_placement::producer) return out;
    const std::int64_t bands = blocks_of(r, p, band);
    if (bands < 1) return out;
    const int teams = warp_teams(n, n.threads / warp_size);
    const int groups = band / n.rows, of_block = combined(p) ? 1 : teams;
    const int most = n.cluster < a.cluster_blocks ? n.cluster : a.cluster_blocks;
    int cluster = 1;
    while (2 * cluster <= most && groups % (2 * cluster * of_block) == 0 &&
           2 * cluster * bands <= a.sms)
        cluster *= 2;
    // A cluster of two gains less than its barriers take.
    if (cluster > 2 && p.needs.epilogue.has(epilogue_part::quantize)) out.cluster = cluster;
    const auto at_most = [&out](std::int64_t width) {
        if (width < out.width) out.width = static_cast<int>(width);
    };
    const std::int64_t blocks = bands * out.cluster + (routes(p) ? p.tokens : 0);
    const std::int64_t of_sm = quotient(blocks + a.sms - 1, a.sms);
    out.width = n.min_blocks;  // the launch bounds hold these
    at_most(quotient(resident, of_sm));
    at_most(quotient(groups / out.cluster * slots_summed(p) + teams - 1, teams));
    at_most(a.max_threads_per_block / n.threads);
    if (out.width < 1) out.width = 1;
    return out;
}

/// The shape of a launch: the weight rows of a band, the blocks that an SM holds, and how blocks
/// share bands. Limits, cost and configuration of a launch go by it.
struct launch_shape {
    std::int32_t band = 0;
    int resident = 0;
    band_share share = {};
};

/// With bands of so many rows, whatever band_rows says.
constexpr launch_shape shape_with_bands(const row& r, const product_problem& p, const arch& a,
                                        int resident, std::int32_t band) {
    return {band, resident, share_of(r, p, a, band, resident)};
}
constexpr launch_shape shape_with_bands(const row& r, const row_problem& p, const arch& a,
                                        int resident, std::int32_t band) {
    if (!attends(p.needs.stages)) return {band, resident};
    return {band, resident, {share_of_attention(r, p, a).blocks}};
}

/// The longest band that is allowed with which the busiest SM has at most an eighth more weight
/// rows than with the best one: each block reads the columns.
constexpr std::int64_t even_band(const row& r, const product_problem& p, const arch& a,
                                 const band_limits& limits) {
    const auto busiest = [&](std::int64_t band) {
        const std::int64_t blocks = blocks_of(r, p, static_cast<std::int32_t>(band));
        return quotient(blocks + a.sms - 1, a.sms) * band;
    };
    const std::int64_t units = quotient(limits.most, limits.unit);
    const std::int64_t longest = units < 1 ? limits.most : units * limits.unit;
    std::int64_t shortest = round_up(limits.least, limits.unit);
    if (shortest > longest) shortest = longest;
    std::int64_t band = longest, least = busiest(longest);
    for (std::int64_t other = shortest; other < longest; other += limits.unit)
        if (busiest(other) < least) least = busiest(other);
    while (band > shortest && busiest(band) > least + least / 8) band -= limits.unit;
    return band;
}

/// Weight rows of a band with which the bands of all members together fill the GPU once, with so
/// many blocks on an SM; at least one unit, whatever is allowed.
constexpr std::int64_t filling_rows(const row& r, const product_problem& p, const arch& a,
                                    const band_limits& limits, int of_sm) {
    std::int64_t rows = 0;
    for (int i = 0; i < p.member_count; ++i)
        rows += times_of(p, p.member[i]) * p.member[i].rows * weight_rows(p.member[i]);
    const std::int64_t blocks = std::int64_t{a.sms} * of_sm;
    std::int64_t band = round_up(quotient(rows + blocks - 1, blocks), limits.unit);
    if (const std::int64_t least = round_up(limits.least, limits.unit); band < least) band = least;
    // A block more than there are SMs would begin when all others end, and there may be more bands
    // than rows fill, since the last one of a matrix may be short.
    const auto exceeds = [&] { return blocks_of(r, p, static_cast<std::int32_t>(band)) > blocks; };
    if (makes_columns_first(r.policy.matvec(), p))
        while (band + limits.unit <= limits.most && band < rows && exceeds()) band += limits.unit;
    return band;
}

/// The same, or as even as bands that are allowed can be.
constexpr std::int32_t filling_band(const row& r, const product_problem& p, const arch& a,
                                    int of_sm) {
    const band_limits limits = band_limits_of(r, p, a);
    const std::int64_t band = filling_rows(r, p, a, limits, of_sm);
    const bool allowed = band <= limits.most;
    return static_cast<std::int32_t>(allowed ? band : even_band(r, p, a, limits));
}

/// Results of each column or slot that meet in a block's shared memory, with bands of so many
/// weight rows.
constexpr std::int64_t finished_results(const product_problem& p, std::int64_t band) {
    std::int64_t most = 0;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        if (!combined(p) && !m.epilogue.has(epilogue_part::quantize)) continue;
        if (const std::int64_t own = band / weight_rows(m); own > most) most = own;
    }
    return most;
}

/// Dynamic shared memory of a block with bands of so many weight rows.
constexpr std::int64_t shared_bytes(const row& r, const product_problem& p, std::int64_t band) {
    return shared_bytes(r.computes, r.policy, p.k, block_columns(p), finished_results(p, band));
}

/// No band is longer where results meet; else 0. How many blocks an SM holds goes by it: bands go
/// by that number, and are longest where it is one.
constexpr std::int64_t longest_band(const row& r, const product_problem& p, const arch& a) {
    if (r.computes.kind() == skeleton::matmul || !results_meet(p)) return 0;
    const band_limits limits = band_limits_of(r, p, a);
    const std::int64_t band = filling_rows(r, p, a, limits, 1);
    return band < limits.most ? band : limits.most;
}

/// The most that a block may take.
constexpr std::int64_t shared_bytes(const row& r, const product_problem& p, const arch& a) {
    return shared_bytes(r, p, longest_band(r, p, a));
}
constexpr std::int64_t shared_bytes(const row& r, const row_problem& p, const arch& a) {
    if (!attends(p.needs.stages)) return row_shared_bytes(r.computes.row(), r.policy.row());
    return attention_bytes(r, p, share_of_attention(r, p, a));
}
constexpr std::int64_t shared_bytes(const row& r, const problem& asked, const arch& a) {
    return asked.visit([&](const auto& p) { return shared_bytes(r, p, a); });
}

template <class Problem>
constexpr int blocks_per_sm(const row& r, const Problem& p, const arch& a) {
    return blocks_per_sm(r, a, shared_bytes(r, p, a));
}

/// Weight rows that the busiest SM goes over, and groups of rows that its busiest warp goes over
/// one after the other.
struct busiest_share {
    std::int64_t rows = 0, groups = 0;
};

constexpr busiest_share busiest_of(const row& r, const product_problem& p, const arch& a,
                                   int resident, std::int32_t band) {
    const matvec_policy& n = r.policy.matvec();
    const band_share share = share_of(r, p, a, band, resident);
    const std::int64_t blocks = blocks_of(r, p, band) * share.cluster;
    const std::int64_t of_sm = quotient(blocks + a.sms - 1, a.sms);
    const std::int64_t rows = band / share.cluster;
    const std::int64_t teams = std::int64_t{warp_teams(n, n.threads / warp_size)} * share.width;
    const std::int64_t waves = quotient(of_sm * share.width + resident - 1, resident);
    return {of_sm * rows, waves * quotient(quotient(rows, n.rows) + teams - 1, teams)};
}

/// Weight rows of a band, the work of one block or of a cluster. All bands of all members together
/// fill the GPU once: an SM holds `resident` blocks, but only one block that holds the columns of
/// all slots, or whose warps keep up with memory: each block reads the columns from L2. Bands of
/// quantized results are long, so they may leave part of an SM without warps that one block would
/// have: an SM has one where no other shape has as few rows for its warps. The band of a matmul is
/// the rows of a tile.
constexpr std::int32_t band_rows(const row& r, const product_problem& p, const arch& a,
                                 int resident) {
    if (r.computes.kind() == skeleton::matmul) return tile_rows(r.policy.matmul());
    const std::int32_t alone = filling_band(r, p, a, 1);
    if (resident < 2 || combined(p) || one_block_keeps_up(r, a)) return alone;
    const std::int32_t several = filling_band(r, p, a, resident);
    const busiest_share one = busiest_of(r, p, a, resident, alone);
    const busiest_share now = busiest_of(r, p, a, resident, several);
    return one.rows <= now.rows && one.groups < now.groups ? alone : several;
}
/// A row step has no bands.
constexpr std::int32_t band_rows(const row&, const row_problem&, const arch&, int) { return 0; }
constexpr std::int32_t band_rows(const row& r, const problem& p, const arch& a, int resident) {
    return p.visit([&](const auto& own) { return band_rows(r, own, a, resident); });
}

template <class Problem>
constexpr launch_shape shape_of_launch(const row& r, const Problem& p, const arch& a,
                                       int resident) {
    return shape_with_bands(r, p, a, resident, band_rows(r, p, a, resident));
}
constexpr launch_shape shape_of_launch(const row& r, const problem& p, const arch& a,
                                       int resident) {
    return p.visit([&](const auto& own) { return shape_of_launch(r, own, a, resident); });
}
constexpr launch_shape shape_with_bands(const row& r, const problem& p, const arch& a, int resident,
                                        std::int32_t band) {
    return p.visit([&](const auto& own) { return shape_with_bands(r, own, a, resident, band); });
}

inline launch_config config_of(const row& r, const row_problem& p, const arch& a,
                               const launch_shape& shape) {
    launch_config out;
    out.cluster = static_cast<std::uint32_t>(shape.share.cluster);
    out.blocks = static_cast<std::uint32_t>(blocks_of(r, p, a));
    out.threads = static_cast<std::uint32_t>(r.policy.threads());
    out.shared_bytes = static_cast<std::uint32_t>(shared_bytes(r, p, a));
    out.dependent = a.dependent_launch;
    return out;
}
inline launch_config config_of(const row& r, const product_problem& p, const arch& a,
                               const launch_shape& shape) {
    row wide = r;
    if (shape.share.width > 1) wide.policy.matvec().threads *= shape.share.width;
    launch_config out;
    out.cluster = static_cast<std::uint32_t>(shape.share.cluster);
    out.blocks = static_cast<std::uint32_t>(blocks_of(r, p, shape.band)) * out.cluster;
    const bool writes_norm = p.needs.kind == skeleton::matvec && !p.needs.emits.empty();
    if (writes_norm)
        out.blocks += static_cast<std::uint32_t>(
            p.columns * blocks_that_write(r.policy.matvec(), static_cast<int>(p.k)));
    if (routes(p)) out.blocks += static_cast<std::uint32_t>(p.tokens);
    out.threads = static_cast<std::uint32_t>(wide.policy.threads());
    out.shared_bytes = static_cast<std::uint32_t>(shared_bytes(wide, p, shape.band));
    out.dependent = a.dependent_launch;
    return out;
}

inline launch_config config_of(const row& r, const problem& p, const arch& a,
                               const launch_shape& shape) {
    return p.visit([&](const auto& own) { return config_of(r, own, a, shape); });
}

}  // namespace CATENA_NAMESPACE
