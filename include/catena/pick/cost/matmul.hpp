// The time of a matmul's launch: its bytes, those that tiles read again, and its instructions.
#pragma once

#include "catena/pick/cost/terms.hpp"

namespace CATENA_NAMESPACE::detail {

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
/// Instructions of a warp for a step: a fixed part, a part for each 16 rows that are copied, and
/// one for each 16 blocks of columns. Tiles of q4_K and q6_K take 73 to 158 % of it.
struct step_issues {
    double fixed, rows, blocks;
};
inline constexpr step_issues integer_step = {50, 45, 55};

/// The counts for float weights, with two mma of f16, four of tf32 or one of fp8 in a group. An
/// SM's tensor cores take the time of eight issues for each mma. For fp8, f32 takes over the sums
/// after every fourth mma; by halves an mma of fp8 is two of f16 and five conversions.
constexpr group_issues float_issues(format weights, const arch& a) {
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
inline constexpr double issues_per_cycle = 2.02;  ///< instructions of an SM in a cycle, 4 at best

/// Columns that a matrix of the tensor meets. For experts, this assumes that the ids spread evenly.
constexpr double columns_of_matrix(const product_problem& p) {
    const double columns = static_cast<double>(p.columns);
    if (!p.expert) return columns;
    const double used = columns < matrices_of(p) ? columns : static_cast<double>(matrices_of(p));
    return columns / used;
}

constexpr launch_time matmul_time(const row& r, const product_problem& p, const arch& a,
                                  const launch_shape& shape) {
    const matmul_policy& n = r.policy.matmul();
    const double columns = columns_of_matrix(p), tiles = units(columns, n.columns);
    const int parts = shape.share.cluster, per_sm = shape.resident;
    const double values = static_cast<double>(share_of_k(r, p, parts));  // of K, a block's
    const double groups = values / 32;
    const int warps = n.threads / warp_size, fragments = n.rows / mma_rows;

    // A block's warps share its SM with those of other blocks; too few of them leave it idle.
    const bool warpgroups = by_warpgroups(n), float_weights = has_float_weights(p.needs.weights);
    const group_issues of = warpgroups      ? wgmma_issues(p.needs.weights)
                            : float_weights ? float_issues(*p.needs.weights.begin(), a)
                                            : integer_issues;
    // Warpgroups multiply all columns of a tile, even those that the launch does not have.
    const double eights =
        warpgroups ? tiles * n.columns / mma_columns : units(columns, mma_columns);
    const double per_tile = fragments * of.rows;
    const double per_column = of.columns + fragments * of.mma;
    const double multiplying = tiles * per_tile + eights * per_column;
    const double decoding = decodes(n, p.needs.weights) ? tiles * fragments * decoding_issues : 0;
    const double steps_of_tile = units(values, step_values(n, p.needs.weights));
    const double copying =
        warpgroups || float_weights
            ? 0
            : tiles * steps_of_tile *
                  (integer_step.fixed + fragments * integer_step.rows +
                   units(n.columns * step_values(n, p.needs.weights) / mmq_values / warps, 16) *
                       integer_step.blocks);
    const double block =
        warps *
        (groups * (multiplying > decoding ? multiplying : decoding) / tile_slices(n) + copying) /
        (p.expert ? 1 : tiles);
    double blocks = static_cast<double>(blocks_of(r, p, shape.band)) * parts;
    if (p.expert && p.columns < experts_of(p))
        blocks *= static_cast<double>(p.columns) / experts_of(p);
    const double on_busiest = units(blocks, sms_of_clusters(a, parts));
    const double at_once = on_busiest < per_sm ? on_busiest : per_sm;
    const double busy = at_once * warps < 8 ? at_once * warps / 8 : 1.0;
    const double handed = (parts - 1) * values_of_handing(r) / values;  // in the time of a block
    const double multiplied =
        (on_busiest + handed) * block / (issues_per_cycle * a.cycles_per_us * busy);

    // Steps arrive one latency apart, divided by those that are ahead; plain copies are waited for.
    const double steps = steps_of_tile * (p.expert ? tiles : 1);
    const double waits = units(on_busiest, per_sm) * steps * memory_latency_us;
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
    again += static_cast<double>(bands_of(p, shape.band)) * columns *
             static_cast<double>(activation_row_bytes(p.needs.activation, p.k));
    launch_time out;
    out.bytes =
        static_cast<double>(bytes_of(p)) / a.bytes_per_us + again / (a.bytes_per_us * l2_speedup);
    out.warps = memory_latency_us + (issue > out.bytes ? issue - out.bytes : 0);
    out.results = parts > 1 ? cluster_us : 0;
    return out;
}

}  // namespace CATENA_NAMESPACE::detail
