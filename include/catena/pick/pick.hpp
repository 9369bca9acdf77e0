// Picking: the row of a table that a problem gets. A pure function of problem, table and
// preference, but for a table of a device at hand, which is asked whether its clusters fit. The
// planner and the launcher use no other.
#pragma once

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/row_index.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace catena {

struct preference {
    bool same_bits = false;      ///< one accumulation order for all column counts: results do not
                                 ///< depend on the batch
    bool measured_only = false;  ///< rows without a measurement are not picked
    /// Matvecs and matmuls with more columns (of experts: tokens) have no row; 0: any number. An
    /// engine that wants decode steps alone says 8.
    std::int64_t max_columns = 0;
    /// Kernels may start before the one before them is done, where the GPU can do so.
    bool dependent_launch = true;
};

namespace detail {

constexpr bool too_wide(const problem& p, const preference& want) {
    const std::int64_t columns = p.expert ? p.tokens : p.columns;
    return p.needs.kind != skeleton::row && want.max_columns > 0 && columns > want.max_columns;
}

/// The rejection of every row, of a problem that is too wide.
constexpr rejection width_rejection(int row, const problem& p, const preference& want) {
    return {row, limit::max_columns, p.expert ? p.tokens : p.columns, want.max_columns};
}

/// Did a row come closer to serving? It fell to a later limit, or to the same by less.
constexpr bool closer(const rejection& a, const rejection& b) {
    const auto gap = [](const rejection& r) {
        return r.have > r.need ? r.have - r.need : r.need - r.have;
    };
    return a.why != b.why ? a.why > b.why : gap(a) < gap(b);
}

/// What a row should take. A median of the same problem counts for more than any prediction.
/// What the set prefers counts for more than either.
struct expectation {
    bool preferred = false;
    bool measured = false;
    double us = 0;
};
constexpr bool better(const expectation& a, const expectation& b) {
    if (a.preferred != b.preferred) return a.preferred;
    return a.measured != b.measured ? a.measured : a.us < b.us;
}

constexpr rejection worse(int row, const expectation& e) {
    return {row, e.measured ? limit::measured_slower : limit::slower,
            static_cast<std::int64_t>(e.us * 1000), 0};
}

/// Does the set prefer its row `i` for problems of this shape?
constexpr bool preferred(const table& t, const problem& p, std::int32_t i) {
    const auto fits = [](std::int64_t asked, std::int64_t has) {
        return asked == 0 || asked == has;
    };
    for (int n = 0; n < t.preferred_count; ++n) {
        const preferred_row& one = t.preferred[n];
        if (one.row == i && fits(one.of.k, p.k) && fits(one.of.rows, rows_of(p)) &&
            fits(one.of.columns, p.columns))
            return true;
    }
    return false;
}

/// A row that was held against the limits.
struct contender {
    rejection barred;           ///< why it cannot be, or limit::none
    std::int32_t resident = 0;  ///< its blocks that an SM holds
    double median_us = -1;      ///< negative: not measured
};

/// Holds each row that computes what is needed against the limits and tells `f`, in the table's
/// order, until that says false.
template <class F>
void each_contender(const problem& p, const row_index& index, const arch& a, bool measured_only,
                    std::int64_t order, F&& f) {
    const table& t = index.rows();
    const measured_rows medians(t, p);
    const auto judge = [&](std::int32_t i, const row& r) {
        contender c;
        c.barred = index.fits_arch(i);
        if (c.barred.why == limit::none) c.barred = fits_shape(r, p);
        std::int64_t shared = 0;
        if (c.barred.why == limit::none) c.barred = fits_memory(shared = shared_bytes(r, p), a);
        c.barred.row = i;
        if (c.barred.why != limit::none) return c;
        c.median_us = medians.median_us(i);
        c.resident = blocks_per_sm(r, a, shared);
        if (measured_only && c.median_us < 0 && r.evidence.kind != provenance_kind::measured)
            c.barred.why = limit::switched_off;
        else if (c.resident < 1)
            c.barred = {i, limit::registers, std::int64_t{registers_of(r, a)} * r.policy.threads(),
                        a.registers_per_sm};
        else if (order >= 0 && r.order != order)
            c.barred = {i, limit::order, r.order, order};
        return c;
    };
    for (const row_run& run : index.candidates(p)) {
        if (!serves(run.computes, p.needs)) continue;
        for (std::int32_t i = run.first; i < run.last; ++i)
            if (!f(i, judge(i, t.rows[i]))) return;
    }
}

/// Walks the rows that compute what is needed, on a GPU with the limits `a`. Each of them that is
/// not picked goes to `reject`; of equals the first wins.
template <class Reject>
picked walk_on(const arch& a, const problem& p, const row_index& index, bool measured_only,
               std::int64_t order, Reject&& reject) {
    picked best;
    const table& t = index.rows();
    if (t.row_count > 0) best.nearest = {0, limit::computes};
    each_contender(p, index, a, measured_only, order, [&](std::int32_t i, const contender& c) {
        const row& r = t.rows[i];
        if (c.barred.why != limit::none) {
            if (closer(c.barred, best.nearest)) best.nearest = c.barred;
            reject(c.barred);
            return true;
        }
        const std::int32_t band =
            p.needs.kind == skeleton::row ? 0 : band_rows(r, p, a, c.resident);
        const bool asked_for = preferred(t, p, i);
        const expectation is =
            c.median_us >= 0
                ? expectation{asked_for, true, c.median_us}
                : expectation{asked_for, false, predicted_us(r, p, a, band, c.resident)};
        const expectation of_best = {best.preferred, best.measured, best.predicted_us};
        if (best.row >= 0 && !better(is, of_best)) {
            reject(worse(i, is));
            return true;
        }
        if (best.row >= 0) reject(worse(best.row, of_best));
        best.preferred = asked_for;
        best.row = i;
        best.band_rows = band;
        best.predicted_us = is.us;
        best.measured = is.measured;
        return true;
    });
    if (best.row >= 0) {
        best.config = config_of(t.rows[best.row], p, a, best.band_rows);
        if (!t.target->dependent_launch) best.config.dependent = false;  // its code does not wait
        best.bytes = bytes_of(p);
        if (t.engine_count > 0) best.key = problem_key(p);
        best.nearest = {};
    }
    return best;
}

/// Has the table's device room for the clusters of this launch? A part of a GPU may have none.
inline bool has_room(const table& t, const picked& p) {
    if (p.config.cluster < 2 || t.prepare == nullptr || t.kernels == nullptr) return true;
    const void* const kernel = t.kernels[p.row];
    return kernel == nullptr ||
           t.prepare(kernel, p.config, t.device_number).code != status_code::no_clusters;
}

/// Walks on the table's GPU; if that has no room for the clusters of what is picked, walks again
/// as on a GPU without clusters.
template <class Reject>
picked walk(const problem& p, const row_index& index, bool measured_only, std::int64_t order,
            Reject&& reject) {
    const table& t = index.rows();
    const picked best = walk_on(t.limits(), p, index, measured_only, order, reject);
    if (has_room(t, best)) return best;
    arch alone = t.limits();
    alone.cluster_blocks = 1;
    picked out = walk_on(alone, p, index, measured_only, order, reject);
    out.clusters_refused = true;
    return out;
}

inline constexpr auto ignore = [](const rejection&) {};

/// Columns of a matmul that leave no SM without a tile.
inline constexpr std::int64_t many_columns = 4096;

/// The accumulation order in which the problem would run if its size did not matter: aligned, with
/// one column or, for a matmul, many. For matmuls it is the order of the tiles that take any
/// alignment, if there are some.
inline std::int64_t common_order(const problem& p, const row_index& index, const preference& want) {
    if (!want.same_bits) return -1;
    problem one = p;
    one.rows = p.quant_k > p.k ? p.quant_k / p.k : 1;
    one.columns = one.tokens = p.needs.kind == skeleton::matmul ? many_columns : 1;
    one.alignment = p.needs.kind == skeleton::matmul ? 2 : 16;
    picked twin = walk(one, index, want.measured_only, -1, ignore);
    if (twin.row < 0) {
        one.alignment = 16;
        twin = walk(one, index, want.measured_only, -1, ignore);
    }
    return twin.row < 0 ? -1 : std::int64_t{index.rows().rows[twin.row].order};
}

}  // namespace detail

/// The row for a problem; row -1 with the nearest rejection when none serves it.
inline picked pick(const problem& p, const row_index& index, const preference& want = {}) {
    picked out;
    if (detail::too_wide(p, want)) {
        out.nearest = detail::width_rejection(0, p, want);
        return out;
    }
    out = detail::walk(p, index, want.measured_only, detail::common_order(p, index, want),
                       detail::ignore);
    out.config.dependent = out.config.dependent && want.dependent_launch;
    return out;
}
inline picked pick(const problem& p, const table& t, const preference& want = {}) {
    return pick(p, row_index(t), want);
}

/// Does any row serve the problem? limit::none, or the nearest rejection.
inline rejection served(const problem& p, const row_index& index, const preference& want = {}) {
    if (detail::too_wide(p, want)) return detail::width_rejection(0, p, want);
    rejection nearest{0, limit::computes};
    detail::each_contender(p, index, index.rows().limits(), want.measured_only,
                           detail::common_order(p, index, want),
                           [&nearest](std::int32_t, const detail::contender& c) {
                               const bool serves = c.barred.why == limit::none;
                               if (serves || detail::closer(c.barred, nearest)) nearest = c.barred;
                               return !serves;
                           });
    return nearest;
}

/// The row for a problem, as pick gives it, with every rejection.
inline choice choose(const problem& p, const row_index& index, const preference& want = {}) {
    choice out;
    std::vector<rejection> by_row;
    for (std::int32_t i = 0; i < index.rows().row_count; ++i)
        by_row.push_back({i, limit::computes});
    if (detail::too_wide(p, want)) {
        for (rejection& r : by_row) r = detail::width_rejection(r.row, p, want);
        out.rejected = std::move(by_row);
        out.best.nearest = detail::width_rejection(0, p, want);
        return out;
    }
    out.best = detail::walk(
        p, index, want.measured_only, detail::common_order(p, index, want),
        [&by_row](const rejection& r) { by_row[static_cast<std::size_t>(r.row)] = r; });
    out.best.config.dependent = out.best.config.dependent && want.dependent_launch;
    if (out.best.row >= 0) by_row[static_cast<std::size_t>(out.best.row)].why = limit::none;
    for (rejection& r : by_row) {
        if (r.why == limit::slower && out.best.measured) r.why = limit::unmeasured;
        if (r.why >= limit::slower && out.best.preferred &&
            !detail::preferred(index.rows(), p, r.row))
            r.why = limit::not_preferred;
        if (r.why >= limit::unmeasured)
            r.need = static_cast<std::int64_t>(out.best.predicted_us * 1000);
        if (r.why != limit::none) out.rejected.push_back(r);
    }
    return out;
}
inline choice choose(const problem& p, const table& t, const preference& want = {}) {
    return choose(p, row_index(t), want);
}

}  // namespace catena
