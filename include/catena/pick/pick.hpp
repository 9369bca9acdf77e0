// Picking: the row of a table that a problem gets. A pure function of problem, table and
// preference, but for a table of a device at hand, which is asked whether its clusters fit. The
// planner and the launcher use no other.
#pragma once

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/preference.hpp"
#include "catena/pick/row_index.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

/// The rejection of every row for a problem that has too many columns; limit::none for others.
constexpr rejection width_rejection(const row_problem&, const preference&) { return {}; }
constexpr rejection width_rejection(const product_problem& p, const preference& want) {
    const bool too_wide = want.max_columns > 0 && tokens_of(p) > want.max_columns;
    if (!too_wide) return {};
    return {0, limit::max_columns, tokens_of(p), want.max_columns};
}

/// Did the row of `a` come closer to serving than that of `b`? A later limit rejected it, or the
/// same limit by less.
constexpr bool closer(const rejection& a, const rejection& b) {
    const auto gap = [](const rejection& r) {
        return r.have > r.need ? r.have - r.need : r.need - r.have;
    };
    return a.why != b.why ? a.why > b.why : gap(a) < gap(b);
}

/// The expected time of a row: a median of the same problem, or a prediction. A preference of the
/// set counts for more than either.
struct expectation {
    bool preferred = false;
    bool measured = false;
    double us = 0;
};
constexpr bool better(const expectation& a, const expectation& b) {
    return a.preferred != b.preferred ? a.preferred : a.us < b.us;
}

constexpr rejection worse(int row, const expectation& e) {
    return {row, e.measured ? limit::measured_slower : limit::slower,
            static_cast<std::int64_t>(e.us * 1000), 0};
}

constexpr problem_shape shape_of(const row_problem& p) { return {p.k, p.rows, 0}; }
constexpr problem_shape shape_of(const product_problem& p) { return {p.k, rows_of(p), p.columns}; }

/// Does the set prefer its row `i` for problems of this shape?
constexpr bool preferred(const table& t, const problem_shape& shape, std::int32_t i) {
    const auto fits = [](std::int64_t asked, std::int64_t has) {
        return asked == 0 || asked == has;
    };
    for (int n = 0; n < t.preferred_count; ++n) {
        const preferred_row& one = t.preferred[n];
        if (one.row == i && fits(one.of.k, shape.k) && fits(one.of.rows, shape.rows) &&
            fits(one.of.columns, shape.columns))
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

/// The accumulation orders that a row must have, each of them: none asks for nothing, and no row
/// has two.
struct needed_orders {
    std::int64_t one = -1, other = -1;

    constexpr void add(std::int64_t order) {
        if (one < 0)
            one = order;
        else if (order >= 0 && order != one)
            other = order;
    }
    /// The order that a row of the order `has` does not have; negative: it has what is needed.
    constexpr std::int64_t missed_by(std::int64_t has) const {
        return one >= 0 && has != one ? one : has != other ? other : -1;
    }
};

/// The medians of a problem's rows. If it has none, those of the launch that was raced, carried
/// over by the cost model.
template <class Problem>
class raced_rows {
  public:
    raced_rows(const table& t, const Problem& p, const arch& a) : p_(p), a_(a), medians_(t, p) {
        if (!medians_.empty()) return;
        was_ = raced(p);
        carries_ = was_ != p;
        if (carries_) medians_ = measured_rows(t, was_);
    }

    /// Microseconds of a launch of the row; negative: none are known.
    double median_us(std::int32_t number, const row& r) const {
        const double us = medians_.median_us(number);
        if (us < 0 || !carries_) return us;
        const auto model_us = [&](const Problem& q) {
            return predicted_us(r, q, a_, shape_of_launch(r, q, a_, blocks_per_sm(r, q, a_)));
        };
        return us * model_us(p_) / model_us(was_);
    }

  private:
    const Problem& p_;
    const arch& a_;
    measured_rows medians_;
    Problem was_;
    bool carries_ = false;
};

/// Holds each row that computes what is needed against the limits and tells `f`, in the table's
/// order, until that says false.
template <class Problem, class F>
void each_contender(const Problem& p, const row_index& index, const arch& a, bool measured_only,
                    const needed_orders& orders, F&& f) {
    const table& t = index.rows();
    const raced_rows<Problem> medians(t, p, a);
    const auto judge = [&](std::int32_t i, const row& r) {
        contender c;
        c.barred = index.fits_arch(i);
        if (c.barred.why == limit::none) c.barred = fits_shape(r, p, a);
        std::int64_t shared = 0;
        if (c.barred.why == limit::none) c.barred = fits_memory(shared = shared_bytes(r, p, a), a);
        c.barred.row = i;
        if (c.barred.why != limit::none) return c;
        c.resident = blocks_per_sm(r, a, shared);
        if (c.resident > 0) c.median_us = medians.median_us(i, r);
        if (measured_only && c.median_us < 0 && r.evidence.kind != provenance_kind::measured)
            c.barred.why = limit::switched_off;
        else if (c.resident < 1)
            c.barred = {i, limit::registers, std::int64_t{registers_of(r, a)} * r.policy.threads(),
                        a.registers_per_sm};
        else if (const std::int64_t need = orders.missed_by(r.order); need >= 0)
            c.barred = {i, limit::order, r.order, need};
        else if (c.median_us < 0 && r.evidence.by_medians)
            c.barred.why = limit::medians_alone;
        return c;
    };
    for (const row_run& run : index.candidates(p)) {
        if (!serves(run.computes, p.needs)) continue;
        for (std::int32_t i = run.first; i < run.last; ++i)
            if (!f(i, judge(i, t.rows[i]))) return;
    }
}

/// A race says nothing of rows that were not in it, and listed rows may be newer than a record. So
/// the prediction of such a row displaces the fastest median, if that and the prediction of its row
/// are both so many times as long. With each candidate of an H100's record left out in turn, and
/// predicted with constants fitted to other problems, none that displaced another was slower
/// (tests/tune/model.cpp); with 1.1, 5 of 33 were.
inline constexpr double sure_gain = 1.25;
constexpr bool displaces(double us, double median_us, double model_us) {
    return sure_gain * us < median_us && sure_gain * us < model_us;
}

/// A row that may run, with its launch.
struct candidate {
    std::int32_t row = -1;
    launch_shape launch;
    expectation is;
    double model_us = 0;
};

/// Is the best row without a median picked, not the best of those that have one?
constexpr bool by_prediction(const candidate& untimed, const candidate& timed) {
    if (untimed.row < 0 || timed.row < 0) return timed.row < 0;
    if (untimed.is.preferred != timed.is.preferred) return untimed.is.preferred;
    return displaces(untimed.model_us, timed.is.us, timed.model_us);
}

/// Walks the rows that compute what is needed, on a GPU with the limits `a`. Each of them that is
/// not picked goes to `reject`; of equals the first wins.
template <class Problem, class Reject>
picked walk_on(const arch& a, const Problem& p, const row_index& index, bool measured_only,
               const needed_orders& orders, Reject&& reject) {
    picked best;
    candidate timed, untimed;
    struct {
        std::int32_t row = -1;
        expectation is;
    } model;  // alone, without medians
    const table& t = index.rows();
    const problem_shape shape = shape_of(p);
    if (t.row_count > 0) best.nearest = {0, limit::computes};
    each_contender(p, index, a, measured_only, orders, [&](std::int32_t i, const contender& c) {
        const row& r = t.rows[i];
        if (c.barred.why != limit::none) {
            if (closer(c.barred, best.nearest)) best.nearest = c.barred;
            reject(c.barred);
            return true;
        }
        const launch_shape launch = shape_of_launch(r, p, a, c.resident);
        const expectation by_model = {preferred(t, shape, i), false, predicted_us(r, p, a, launch)};
        if (!r.evidence.by_medians && (model.row < 0 || better(by_model, model.is)))
            model = {i, by_model};
        const bool has_median = c.median_us >= 0;
        const expectation is =
            has_median ? expectation{by_model.preferred, true, c.median_us} : by_model;
        candidate& first = has_median ? timed : untimed;
        if (first.row >= 0 && !better(is, first.is)) {
            reject(worse(i, is));
            return true;
        }
        if (first.row >= 0) reject(worse(first.row, first.is));
        first = {i, launch, is, by_model.us};
        return true;
    });
    const bool foretold = by_prediction(untimed, timed);
    const candidate& first = foretold ? untimed : timed;
    const candidate& other = foretold ? timed : untimed;
    if (other.row >= 0) reject(worse(other.row, other.is));
    if (first.row >= 0) {
        best.row = first.row;
        best.preferred = first.is.preferred;
        best.predicted_us = first.is.us;
        best.measured = first.is.measured;
        best.config = config_of(t.rows[best.row], p, a, first.launch);
        best.band_rows = first.launch.band;
        if (!t.target->dependent_launch) best.config.dependent = false;  // its code does not wait
        best.bytes = bytes_of(p);
        if (t.engine_count > 0) best.key = problem_key(p);
        best.model_row = model.row;
        if (model.row >= 0) best.model_us = model.is.us;
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
template <class Problem, class Reject>
picked walk(const Problem& p, const row_index& index, bool measured_only,
            const needed_orders& orders, Reject&& reject) {
    const table& t = index.rows();
    const picked best = walk_on(t.limits(), p, index, measured_only, orders, reject);
    if (has_room(t, best)) return best;
    arch alone = t.limits();
    alone.cluster_blocks = 1;
    picked out = walk_on(alone, p, index, measured_only, orders, reject);
    out.clusters_refused = true;
    return out;
}

inline constexpr auto ignore = [](const rejection&) {};

/// The order in which a problem runs by itself, or -1. Medians do not count: a row that is the
/// fastest for one size may have no other of its order for the next.
template <class Problem>
std::int64_t own_order(const Problem& p, const row_index& index, const preference& want) {
    const picked found = walk(p, index, want.measured_only, {}, ignore);
    const std::int32_t row = found.model_row >= 0 ? found.model_row : found.row;
    if (row < 0) return -1;
    return index.rows().rows[row].order;
}

/// The order of a norm is that of one row, aligned; that of attention is that of one token. What
/// sums up nothing has none.
inline needed_orders same_orders(const row_problem& p, const row_index& index,
                                 const preference& want) {
    if (attends(p.needs.stages)) return {own_order(of_one_token(p), index, want)};
    if (!has_norm(p.needs.stages)) return {};
    row_problem one = p;
    one.rows = p.quant_k > p.k ? p.quant_k / p.k : 1;
    one.alignment = 16;
    return {own_order(one, index, want)};
}

/// Columns of a matmul that leave no SM without a tile, and rows as a common matrix has them.
inline constexpr std::int64_t many_columns = 4096;
inline constexpr std::int32_t common_rows = 4096;

/// A matrix by itself, of so many columns.
inline product_problem matrix_alone(const product_problem& p, const problem_member& m,
                                    std::int64_t columns, int alignment) {
    product_problem one;
    one.needs = p.needs;
    one.needs.weights = format_set::of(m.type);
    one.needs.epilogue = {};
    one.needs.own = false;
    one.expert = by_ids(p, m);
    one.k = p.k;
    one.columns = one.tokens = columns;
    one.alignment = alignment;
    one.member[one.member_count++] = {m.type, common_rows, one.expert ? m.experts : 0};
    return one;
}

/// The order of a product is that of each of its matrices alone, with as many columns as a matvec
/// serves (a block of experts: one) or, for a matmul, many. So it depends neither on the columns
/// nor on what else the launch computes. A matrix may be aligned where its launch is not; matmuls
/// have one order for tiles of any alignment.
inline needed_orders same_orders(const product_problem& p, const row_index& index,
                                 const preference& want) {
    const bool matmul = p.needs.kind == skeleton::matmul;
    const bool several = p.member_count > 1 || p.needs.epilogue.has(epilogue_part::glu);
    const auto order = [&](const problem_member& m, int alignment) {
        const std::int64_t most = by_ids(p, m) ? 1 : min_matmul_columns - 1;
        for (const std::int64_t columns : {matmul ? many_columns : most, std::int64_t{1}}) {
            const std::int64_t found =
                own_order(matrix_alone(p, m, columns, alignment), index, want);
            if (found >= 0) return found;
        }
        return std::int64_t{-1};
    };
    needed_orders out;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const std::int64_t any = order(m, matmul ? 2 : p.alignment);
        out.add(any >= 0 ? any : order(m, 16));
        if (several && !matmul) out.add(order(m, 16));
    }
    return out;
}

/// The orders that a row must have for what is wanted.
template <class Problem>
needed_orders orders_for(const Problem& p, const row_index& index, const preference& want) {
    return want.same_bits ? same_orders(p, index, want) : needed_orders{};
}

/// What `pick`, `served` and `choose` return, for the problem of a row step or of a product.
template <class Problem>
picked pick_for(const Problem& p, const row_index& index, const preference& want) {
    picked out;
    out.nearest = width_rejection(p, want);
    if (out.nearest.why != limit::none) return out;
    out = walk(p, index, want.measured_only, orders_for(p, index, want), ignore);
    out.config.dependent = out.config.dependent && want.dependent_launch;
    return out;
}

template <class Problem>
rejection served_for(const Problem& p, const row_index& index, const preference& want) {
    if (const rejection wide = width_rejection(p, want); wide.why != limit::none) return wide;
    rejection nearest{0, limit::computes};
    each_contender(p, index, index.rows().limits(), want.measured_only, orders_for(p, index, want),
                   [&nearest](std::int32_t, const contender& c) {
                       const bool serves = c.barred.why == limit::none;
                       if (serves || closer(c.barred, nearest)) nearest = c.barred;
                       return !serves;
                   });
    return nearest;
}

template <class Problem>
choice choose_for(const Problem& p, const row_index& index, const preference& want) {
    choice out;
    std::vector<rejection> by_row;
    for (std::int32_t i = 0; i < index.rows().row_count; ++i)
        by_row.push_back({i, limit::computes});
    if (const rejection wide = width_rejection(p, want); wide.why != limit::none) {
        for (rejection& r : by_row) r = {r.row, wide.why, wide.have, wide.need};
        out.rejected = std::move(by_row);
        out.best.nearest = wide;
        return out;
    }
    out.best = walk(p, index, want.measured_only, orders_for(p, index, want),
                    [&by_row](const rejection& r) { by_row[static_cast<std::size_t>(r.row)] = r; });
    out.best.config.dependent = out.best.config.dependent && want.dependent_launch;
    if (out.best.row >= 0) by_row[static_cast<std::size_t>(out.best.row)].why = limit::none;
    for (rejection& r : by_row) {
        if (r.why == limit::slower && out.best.measured) r.why = limit::unmeasured;
        if (r.why >= limit::slower && out.best.preferred &&
            !preferred(index.rows(), shape_of(p), r.row))
            r.why = limit::not_preferred;
        if (r.why >= limit::unmeasured)
            r.need = static_cast<std::int64_t>(out.best.predicted_us * 1000);
        if (r.why != limit::none) out.rejected.push_back(r);
    }
    return out;
}

}  // namespace detail

/// The row for a problem; row -1 with the nearest rejection when none serves it.
inline picked pick(const problem& p, const row_index& index, const preference& want = {}) {
    return p.visit([&](const auto& own) { return detail::pick_for(own, index, want); });
}
inline picked pick(const problem& p, const table& t, const preference& want = {}) {
    return pick(p, row_index(t), want);
}

/// Does any row serve the problem? limit::none, or the nearest rejection.
inline rejection served(const problem& p, const row_index& index, const preference& want = {}) {
    return p.visit([&](const auto& own) { return detail::served_for(own, index, want); });
}

/// The row for a problem, as pick gives it, with every rejection.
inline choice choose(const problem& p, const row_index& index, const preference& want = {}) {
    return p.visit([&](const auto& own) { return detail::choose_for(own, index, want); });
}
inline choice choose(const problem& p, const table& t, const preference& want = {}) {
    return choose(p, row_index(t), want);
}

}  // namespace CATENA_NAMESPACE
