// The shape of the launches that the records of 2026-11-26 timed, which do not say it. Launches
// have other shapes since: a block has the warps of several also where there are more bands than
// SMs, bands have fewer rows than a block's warps take where that fills more SMs, quantized results
// come in bands for one block on an SM where several leave its warps idle, and these are longer.
#pragma once

#include "catena/pick/config.hpp"

#include <algorithm>

namespace catena::generator {

inline constexpr const char* last_date_without_shapes = "2026-11-26";

/// Results of a column that met in a block, at most, for which each block had room.
inline constexpr std::int64_t most_timed_results = 128;

/// Weight rows of a band: all warps of a block have rows, and all blocks fill the GPU once.
inline std::int32_t timed_band(const row& r, const product_problem& p, const arch& a,
                               int resident) {
    const matvec_policy& n = r.policy.matvec();
    std::int64_t unit = std::int64_t{warp_teams(n, n.threads / warp_size)} * n.rows;
    std::int64_t rows = 0, most = 1 << 30;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        rows += times_of(p, m) * m.rows * weight_rows(m);
        if (!m.epilogue.has(epilogue_part::quantize)) continue;
        unit = round_up(unit, info(format::q8_1).block_elements * weight_rows(m));
        most = std::min<std::int64_t>(most, most_timed_results * weight_rows(m));
    }
    const bool alone = resident < 1 || combined(p) || one_block_keeps_up(r, a);
    const std::int64_t blocks = std::int64_t{a.sms} * (alone ? 1 : resident);
    const std::int64_t filling = std::max<std::int64_t>((rows + blocks - 1) / blocks, 1);
    return static_cast<std::int32_t>(std::min(round_up(filling, unit), most));
}

inline band_share timed_share(const row& r, const product_problem& p, const arch& a,
                              std::int32_t band, int resident) {
    const matvec_policy& n = r.policy.matvec();
    band_share out;
    if (n.placement != norm_placement::producer || blocks_of(r, p, band) > a.sms) return out;
    out = share_of(r, p, a, band, resident);
    const int turns = band / (warp_teams(n, n.threads / warp_size) * n.rows) / out.cluster;
    int width = n.min_blocks;
    for (const int most : {resident, turns, a.max_threads_per_block / n.threads})
        if (most < width) width = most;
    out.width = width < 1 ? 1 : width;
    return out;
}

inline launch_shape timed_shape(const row& r, const problem& p, const arch& a) {
    if (p.kind() != skeleton::matvec) return shape_of_launch(r, p, a, blocks_per_sm(r, p, a));
    const product_problem& what = p.product();
    const std::int64_t results = results_meet(what) ? most_timed_results : 0;
    const int resident = blocks_per_sm(
        r, a, shared_bytes(r.computes, r.policy, what.k, block_columns(what), results));
    const std::int32_t band = timed_band(r, what, a, resident);
    return {band, resident, timed_share(r, what, a, band, resident)};
}

}  // namespace catena::generator
