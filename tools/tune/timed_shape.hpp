// The shape of the launches that the records of 2026-11-26 timed, which do not say it. Launches
// have other shapes since: a block has the warps of several also where there are more bands than
// SMs, and a band of slots that are added up may have fewer rows than a block's warps take.
#pragma once

#include "catena/pick/config.hpp"

namespace catena::tune {

inline constexpr const char* last_date_without_shapes = "2026-11-26";

/// Weight rows of a band: every warp of a block has rows.
inline std::int32_t timed_band(const row& r, const product_problem& p, const arch& a,
                               int resident) {
    const matvec_policy& n = r.policy.matvec();
    const std::int32_t today = band_rows(r, p, a, resident);
    if (!combined(p)) return today;
    const auto turn = static_cast<std::int32_t>(warp_teams(n, n.threads / warp_size) * n.rows);
    return static_cast<std::int32_t>(round_up(today, turn));
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
    const int resident = blocks_per_sm(r, p, a);
    if (p.kind() != skeleton::matvec) return shape_of_launch(r, p, a, resident);
    const product_problem& what = p.product();
    const std::int32_t band = timed_band(r, what, a, resident);
    return {band, resident, timed_share(r, what, a, band, resident)};
}

}  // namespace catena::tune
