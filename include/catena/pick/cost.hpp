// Preference: what a row should take for a problem, from bytes, bytes in flight, waves and
// instructions. It only orders rows that may all run; a measured median of the same problem would
// replace it.
#pragma once

#include "catena/pick/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

namespace detail {

/// From the issue of a read until its bytes are there, on a GPU that is not busy: pointer chases
/// through an H100's memory that others published take 0.3 to 0.7 us.
inline constexpr double memory_latency_us = 0.7;
/// The same while all SMs read, as in a matvec: an assumption, between 0.8 and 1.5 us. 3.0 TB/s
/// with 16 to 32 KB on the way in each SM are 0.7 to 1.4 us.
inline constexpr double loaded_latency_us = 1.0;
/// The share of the bandwidth at which bytes arrive that no launch has read for a while: others
/// report about 60 % for the first 10 to 30 MB, however many bytes are on their way. No prediction
/// counts that: it slows all kernels, and hardly changes which row is picked. `catena explain` says
/// what a whole graph would take.
inline constexpr double cold_stream_share = 0.6;
inline constexpr double l2_latency_us = 0.15;
inline constexpr double l2_speedup = 2.5;                 ///< L2 against memory, bytes per us
inline constexpr double thread_issues_per_cycle = 114.8;  ///< of an SM's threads: 128 at best
inline constexpr double row_value_us = 0.008;  ///< one value of a thread, through all its steps
inline constexpr double vector_value_us = 0.003;
inline constexpr double spare_share = 0.03;  ///< lost to each column or format that is not there
inline constexpr double cluster_us = 0.5;    ///< blocks of a cluster begin together and meet twice
inline constexpr double warp_sum_us = 0.01;  ///< one warp's part of a block's sum

/// The share of the bandwidth that `bytes` on their way keep busy.
constexpr double share_in_flight(double bytes, double latency_us, const arch& a) {
    const double enough = a.bytes_per_us * latency_us;
    return bytes < enough ? bytes / enough : 1.0;
}

/// How often x is read if registers do not keep it: for each sum over the row, for the scale of a
/// row, and to write.
constexpr int row_passes(const row_computation& c) {
    const bool scales = c.emits.has(format::int8_token) || c.emits.has(format::fp8_token);
    return 1 + (has_norm(c.stages) ? 1 : 0) + (c.stages.has(stage_kind::layer_norm) ? 1 : 0) +
           (c.stages.has(stage_kind::next_norm) ? 1 : 0) + (scales ? 1 : 0);
}

constexpr double row_us(const row& r, const row_problem& p, const arch& a, int per_sm) {
    const row_policy& n = r.policy.row();
    const int rows = rows_of_block(n), team = n.threads / rows;
    const std::int64_t resident = std::int64_t{a.sms} * per_sm * rows;
    const std::int64_t at_once = p.rows < resident ? p.rows : resident;
    const std::int64_t waves = quotient(p.rows + resident - 1, resident);
    const double per_thread = static_cast<double>(quotient(p.k + team - 1, team));
    const double passes = n.values == 0 ? row_passes(p.needs) : 1;
    const int abreast = slots_abreast(n), sums = p.needs.stages.has(stage_kind::next_norm) ? 2 : 1;
    const auto turns = static_cast<double>(quotient(p.slots + abreast - 1, abreast));
    const double block = passes * per_thread * (n.vector ? vector_value_us : row_value_us) +
                         warp_sum_us * sums * (team / warp_size) +
                         passes * (memory_latency_us + turns * l2_latency_us);
    // All operands of a row are on their way at once; nobody waits for what is written.
    const bool gated = gates(p.needs.stages);
    const auto operands = static_cast<double>(
        (p.slots > 0 ? p.slots : 1) + (adds_residual(p.needs.stages) ? 1 : 0) + (gated ? 1 : 0));
    const double operand = 4 * static_cast<double>(p.rows * p.k);
    const double in_flight = 4 * static_cast<double>(at_once * p.k) * operands;
    const double again = (passes - 1) * operand * (p.slots > 0 ? static_cast<double>(p.slots) : 1);
    const double read = (operands * operand + again) /
                        (a.bytes_per_us * share_in_flight(in_flight, memory_latency_us, a));
    const double moved = (static_cast<double>(bytes_of(p)) + again) / a.bytes_per_us;
    const double memory = read > moved ? read : moved;
    const double blocks = static_cast<double>(waves) * block;
    return memory > blocks ? memory : blocks;
}

/// Thread instructions per weight byte of a row that is not on record: a usual number of the
/// formats that most models have (docs/kernels/compiled.md). dp4a and fma take more for each
/// column.
constexpr double issues_of(inner_product product, double columns, format_set weights) {
    switch (product) {
        case inner_product::dp4a:
            return 5.5 + 1.2 * columns;
        case inner_product::mma:
            return 7.5;
        case inner_product::fma:
            return weights.has(format::fp8_e4m3) ? 5.5 + 2.0 * columns : 2.3 + 0.95 * columns;
    }
    return 0;
}

/// How often a block goes over x and the weight of a norm: once if it computes its activation
/// before it multiplies, twice if it also writes the norm for later readers.
constexpr int norm_passes(norm_placement placement) {
    return placement == norm_placement::producer   ? 0
           : placement == norm_placement::deferred ? 1
                                                   : 2;
}
constexpr double norm_us(const matvec_policy& n, const product_problem& p) {
    if (n.placement == norm_placement::producer) return 0;
    const std::int64_t at_once = std::int64_t{n.threads} * 4 * norm_quads_ahead;
    const double turns = static_cast<double>((p.k + at_once - 1) / at_once);
    const double turn = memory_latency_us + 4 * norm_quads_ahead * vector_value_us;
    const double sum = makes_norm(p) ? warp_sum_us * (n.threads / warp_size) : 0;
    return static_cast<double>(p.columns) * (norm_passes(n.placement) * turns * turn + sum);
}

/// Weight rows of a member that a launch goes over: a band takes its full time, even if its matrix
/// does not fill it.
constexpr double filled_rows(const product_problem& p, int member, std::int32_t band) {
    const problem_member& m = p.member[member];
    const std::int64_t times = times_of(p, m) * (combined(p) ? slots_of(p) : 1);
    return static_cast<double>(bands_of(m, band)) * band * static_cast<double>(times);
}

/// What the SM with the most bands issues instructions for.
struct sm_share {
    double of_weights;  ///< 1: all of the launch's
    double columns;     ///< that a weight meets
    double warps;       ///< that it holds at once
};

/// The counts of a row's code for weights of a format. A third one counts as the first.
constexpr const warp_code& code_for(const row& r, format weights) {
    int i = 0;
    for (const format f : r.computes.product().weights) {
        if (f == weights) break;
        ++i;
    }
    return r.code.of[i == 1 ? 1 : 0];
}

/// Values of a row that a warp multiplies at a step of its product, whether they are there or not.
constexpr std::int64_t product_values(const matvec_policy& n) {
    return n.product == inner_product::dp4a  ? warp_values
           : n.product == inner_product::fma ? 8 * warp_size
                                             : 4 * 32;
}

/// What a warp issues for the pieces of a row, in instructions or in cycles: a last piece has the
/// product's steps for the values that are there, and all else.
constexpr double of_pieces(const matvec_policy& n, std::int64_t k, double stage, double product) {
    const std::int64_t pieces = quotient(k + n.piece - 1, n.piece);
    const std::int64_t step = product_values(n), steps = quotient(k + step - 1, step);
    return static_cast<double>(pieces) * (stage - product) +
           static_cast<double>(steps * step) / n.piece * product;
}

/// How long an SM issues: at the rate of its schedulers, or, if its warps are too few, at that of
/// each alone. The row's machine code is counted; without that, bytes are. Warps that share a row
/// wait for the one with the most pieces, and each of them goes through the code of a result.
constexpr double issue_us(const row& r, const product_problem& p, const arch& a, std::int32_t band,
                          const sm_share& has) {
    const matvec_policy& n = r.policy.matvec();
    const double of_columns = issues_of(n.product, has.columns, r.computes.product().weights);
    const double there = of_columns / issues_of(n.product, n.columns, r.computes.product().weights);
    const int slices = warp_slices(n);
    const std::int64_t team = std::int64_t{slices} * n.piece;
    const auto turns = static_cast<double>(quotient(p.k + team - 1, team));
    double issues = 0, waits = 0;  // of threads; of a warp alone
    for (int i = 0; i < p.member_count; ++i) {
        const warp_code& code = code_for(r, p.member[i].type);
        const double rows = filled_rows(p, i, band) * has.of_weights;
        if (code.stage_instructions == 0) {
            issues += rows * static_cast<double>(row_bytes(p.member[i].type, p.k)) * of_columns;
            continue;
        }
        const double groups = rows / n.rows;
        issues += groups * warp_size *
                  (there * of_pieces(n, p.k, code.stage_instructions, code.product_instructions) +
                   slices * code.result_instructions);
        const double waited =
            slices > 1 ? slices * turns * code.stage_cycles
                       : there * of_pieces(n, p.k, code.stage_cycles, code.product_cycles);
        waits += groups * (waited + slices * code.result_cycles);
    }
    const double at_best = issues / thread_issues_per_cycle, alone = waits / has.warps;
    return (at_best > alone ? at_best : alone) / a.cycles_per_us;
}

constexpr double matvec_us(const row& r, const product_problem& p, const arch& a, std::int32_t band,
                           int per_sm) {
    const matvec_policy& n = r.policy.matvec();
    const band_share share = share_of(r, p, a, band, per_sm);
    const std::int64_t blocks = blocks_of(r, p, band) * share.cluster;
    const std::int64_t resident = std::int64_t{a.sms} * per_sm;
    const auto at_once = static_cast<double>(blocks < resident ? blocks : resident);
    const int warps = n.threads / warp_size * share.width;

    double weights = 0;
    double rows = 0;
    double widest = 0;
    for (int i = 0; i < p.member_count; ++i) {
        const double row = static_cast<double>(row_bytes(p.member[i].type, p.k));
        weights += row * filled_rows(p, i, band);
        rows += static_cast<double>(bands_of(p.member[i], band)) * band;
        widest = row > widest ? row : widest;
    }
    const double held =
        n.piece < p.k ? static_cast<double>(n.piece) / static_cast<double>(p.k) : 1.0;
    const double stages = n.copy == copy_method::plain ? 1 : n.stages;
    const double in_flight = warps * stages * n.rows * widest * held;  // of a block
    const double bandwidth =
        a.bytes_per_us * share_in_flight(at_once * in_flight, loaded_latency_us, a);

    // Bands that do not divide evenly: the launch takes as long as the SM with the most of them.
    const std::int64_t most = quotient(blocks + a.sms - 1, a.sms);
    const double longest = weights / static_cast<double>(blocks) * static_cast<double>(most);
    const double streams = static_cast<double>(most < per_sm ? most : per_sm);
    const double alone = longest * loaded_latency_us / (streams * in_flight);
    const double stream = weights / bandwidth > alone ? weights / bandwidth : alone;

    const double held_columns = static_cast<double>(block_columns(p));
    const double columns = combined(p) ? 1.0 : held_columns;  // that a weight meets
    const double row = static_cast<double>(activation_row_bytes(p.needs.activation, p.k));
    const bool passing = n.placement == norm_placement::passing;
    const double normed = (passing ? 1 : norm_passes(n.placement)) * (makes_norm(p) ? 8 : 4) *
                          static_cast<double>(p.k);
    const double activation = held_columns * (normed > 0 ? normed : row);
    const bool shared = n.activation == activation_source::shared;
    // Half of them hit L1.
    const double reads = shared ? static_cast<double>(blocks) : rows / n.rows / 2;

    const double memory = stream + reads * activation / (a.bytes_per_us * l2_speedup);
    const double issue = issue_us(r, p, a, band, {longest / weights, columns, streams * warps});
    // An mma always has eight columns: it repeats the last one.
    const bool free = n.product == inner_product::mma && columns > 1;
    const double spare = (n.columns > columns && !free ? n.columns - columns : 0.0) +
                         (r.computes.product().weights.size() - p.needs.weights.size());
    const double first = n.placement == norm_placement::deferred ? norm_us(n, p) : 0;
    const double all = loaded_latency_us + first + (share.cluster > 1 ? cluster_us : 0) +
                       (memory > issue ? memory : issue) * (1 + spare_share * spare);
    const double beside = passing && !p.needs.emits.empty() ? norm_us(n, p) : 0;
    return all > beside ? all : beside;
}

/// Instructions of a warp for one group of 32 values: to unpack and load 16 rows, to load 8
/// columns, and for each mma with its columns' scales.
struct group_issues {
    double rows, columns, mma;
};
/// Fitted to the machine code of the tiles of q8_0, q4_K, q6_K and mxfp4 for sm_90, which take 79
/// to 126 % of it. mma.sync of int8 does not limit them: an SM's tensor cores take 1 cycle for one
/// at their peak, and 1.6 at the share of it that others published for an H100 (62 %); 14
/// instructions take 7.
inline constexpr group_issues integer_issues = {55, 14, 14};
/// And for a step: what is the same in every step, what 16 rows that are copied take, and as many
/// blocks of columns. Tiles of q4_K and q6_K take 73 to 158 % of it.
struct step_issues {
    double fixed, rows, blocks;
};
inline constexpr step_issues integer_step = {50, 45, 55};

/// The counts for float weights, with two mma of f16, four of tf32 or one of fp8 in a group. An
/// SM's tensor cores take the time of eight issues for each mma. For fp8, f32 takes over the sums
/// after every fourth mma; by halves an mma of fp8 is two of f16 and five conversions.
constexpr group_issues number_issues(format weights, const arch& a) {
    if (weights == format::fp8_e4m3) return {3, 1, fp8_by_halves(a) ? 2 * 8 + 5 + 2.0 : 8 + 2.0};
    const int mma = weights == format::f32 ? 4 : 2;
    return {(weights == format::f32 ? 7.0 : 3.0) * mma, 2.0 * mma, 8.0 * mma};
}

/// The counts for warpgroups: tensor cores take half the time, or a quarter for fp8, and nothing is
/// loaded for them. For fp8, f32 then takes over the sums. While tensor cores multiply quantized
/// weights, a warp decodes 16 rows of a group (kernel/matmul/decoded.hpp).
constexpr group_issues wgmma_issues(format_set weights) {
    return {0, 0, weights.has(format::fp8_e4m3) ? 4.0 : 8.0};
}
inline constexpr double decoding_issues = 150;
inline constexpr double issues_per_cycle = 2.02;  ///< of an SM's warps: four at best

/// Columns that a matrix of the tensor meets. For experts, this assumes that the ids spread evenly.
constexpr double columns_of_matrix(const product_problem& p) {
    const double columns = static_cast<double>(p.columns);
    if (!p.expert) return columns;
    const double used = columns < matrices_of(p) ? columns : static_cast<double>(matrices_of(p));
    return columns / used;
}

constexpr double matmul_us(const row& r, const product_problem& p, const arch& a, std::int32_t band,
                           int per_sm) {
    const matmul_policy& n = r.policy.matmul();
    const auto whole = [](double count, double unit) {
        return static_cast<double>(static_cast<std::int64_t>((count + unit - 1) / unit));
    };
    const double columns = columns_of_matrix(p), tiles = whole(columns, n.columns);
    const int parts = share_of(r, p, a, band, per_sm).cluster;
    const double values = static_cast<double>(share_of_k(r, p, parts));  // of K, a block's
    const double groups = values / 32;
    const int warps = n.threads / warp_size, fragments = n.rows / mma_rows;

    // A block's warps share its SM with those of other blocks; too few of them leave it idle.
    const bool warpgroups = by_warpgroups(n), numbers = has_numbers(p.needs.weights);
    const group_issues of = warpgroups ? wgmma_issues(p.needs.weights)
                            : numbers  ? number_issues(*p.needs.weights.begin(), a)
                                       : integer_issues;
    // Warpgroups multiply all columns of a tile, even those that the launch does not have.
    const double eights =
        warpgroups ? tiles * n.columns / mma_columns : whole(columns, mma_columns);
    const double per_tile = fragments * of.rows;
    const double per_column = of.columns + fragments * of.mma;
    const double multiplying = tiles * per_tile + eights * per_column;
    const double decoding = decodes(n, p.needs.weights) ? tiles * fragments * decoding_issues : 0;
    const double steps_of_tile = whole(values, step_values(n, p.needs.weights));
    const double copying =
        warpgroups || numbers
            ? 0
            : tiles * steps_of_tile *
                  (integer_step.fixed + fragments * integer_step.rows +
                   whole(n.columns * step_values(n, p.needs.weights) / mmq_values / warps, 16) *
                       integer_step.blocks);
    const double block =
        warps *
        (groups * (multiplying > decoding ? multiplying : decoding) / tile_slices(n) + copying) /
        (p.expert ? 1 : tiles);
    double blocks = static_cast<double>(blocks_of(r, p, band)) * parts;
    if (p.expert && p.columns < experts_of(p))
        blocks *= static_cast<double>(p.columns) / experts_of(p);
    const double on_busiest = whole(blocks, sms_of_clusters(a, parts));
    const double at_once = on_busiest < per_sm ? on_busiest : per_sm;
    const double busy = at_once * warps < 8 ? at_once * warps / 8 : 1.0;
    const double handed = (parts - 1) * values_of_handing(r) / values;  // in the time of a block
    const double multiplied =
        (on_busiest + handed) * block / (issues_per_cycle * a.cycles_per_us * busy);

    // Steps arrive one latency apart, divided by those that are ahead; plain copies are waited for.
    const double steps = steps_of_tile * (p.expert ? tiles : 1);
    const double waits = whole(on_busiest, per_sm) * steps * memory_latency_us;
    // What warpgroups read next has come before.
    const int ahead = n.stages - (warpgroups ? 2 : 1);
    const double copied = waits / (ahead > 1 ? ahead : 1);
    const double issue = n.copy == copy_method::plain ? multiplied + waits / at_once
                         : multiplied > copied        ? multiplied
                                                      : copied;

    double again = 0;  // what tiles read after the first has
    for (int i = 0; i < p.member_count; ++i)
        again += (tiles - 1) * weight_rows(p.member[i]) * p.member[i].rows *
                 static_cast<double>(row_bytes(p.member[i].type, p.k));
    again += static_cast<double>(bands_of(p, band)) * columns *
             static_cast<double>(activation_row_bytes(p.needs.activation, p.k));
    const double memory =
        static_cast<double>(bytes_of(p)) / a.bytes_per_us + again / (a.bytes_per_us * l2_speedup);
    return memory_latency_us + (parts > 1 ? cluster_us : 0) + (memory > issue ? memory : issue);
}

}  // namespace detail

/// Predicted time of one launch in a graph. The row must satisfy `constraint`; an SM holds `per_sm`
/// of its blocks.
constexpr double predicted_us(const row& r, const row_problem& p, const arch& a, std::int32_t,
                              int per_sm) {
    return a.node_us + detail::row_us(r, p, a, per_sm);
}
constexpr double predicted_us(const row& r, const product_problem& p, const arch& a,
                              std::int32_t band, int per_sm) {
    return a.node_us + (p.needs.kind == skeleton::matvec
                            ? detail::matvec_us(r, p, a, band, per_sm)
                            : detail::matmul_us(r, p, a, band, per_sm));
}

constexpr double predicted_us(const row& r, const problem& p, const arch& a, std::int32_t band,
                              int per_sm) {
    return p.visit([&](const auto& own) { return predicted_us(r, own, a, band, per_sm); });
}

/// The attainable time, which no launch can beat: an empty node and the bytes at full bandwidth.
constexpr double attainable_us(const problem& p, const arch& a) {
    return a.node_us + static_cast<double>(bytes_of(p)) / a.bytes_per_us;
}

}  // namespace CATENA_NAMESPACE
