// The declared domain, walked: every problem has a row that is legal for it, and no row is there
// for nothing.
#include "catena/instances/all.hpp"
#include "catena/pick/domain.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <set>
#include <vector>

using namespace catena;

namespace {

/// Every format of the registry that weights may have, and the mixed sets of a table's matvecs.
std::vector<format_set> served_sets(const table& t) {
    std::vector<format_set> sets;
    for (int i = 0; i < format_count; ++i) {
        const auto f = static_cast<format>(i);
        if (info(f).role == format_role::weight || is_float(f)) sets.push_back(format_set::of(f));
    }
    for (int i = 0; i < t.row_count; ++i) {
        if (t.rows[i].computes.kind() != skeleton::matvec) continue;
        const product_computation& c = t.rows[i].computes.product();
        if (c.weights.size() > 1 && sets.back() != c.weights) sets.push_back(c.weights);
    }
    return sets;
}

/// The rows of one format, which are all that a build of that format alone has (CATENA_WEIGHTS),
/// and the plain row of its pair where it has none.
struct single_formats {
    std::vector<row> rows;
    std::vector<int> place;  ///< in the whole table
    row_index index;

    explicit single_formats(const table& t) : index(only(t)) {}

    int pick_of(const product_problem& p) const {
        const int row = pick(p, index).row;
        return row < 0 ? row : place[static_cast<std::size_t>(row)];
    }

  private:
    table only(table t) {
        for (int i = 0; i < t.row_count; ++i) {
            const computation& c = t.rows[i].computes;
            if (c.kind() == skeleton::row || c.product().weights.size() > 1) continue;
            rows.push_back(t.rows[i]);
            place.push_back(i);
        }
        t.rows = rows.data();
        t.row_count = static_cast<int>(rows.size());
        t.kernels = nullptr;
        return t;
    }
};

/// What the bodies ask of a launch.
bool legal(const picked& best, const row& r, const product_problem& p, const arch& a) {
    const launch_config& c = best.config;
    bool good = c.blocks > 0 && static_cast<int>(c.shared_bytes) <= a.shared_per_block &&
                static_cast<int>(c.threads) <= a.max_threads_per_block;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const int results = best.band_rows / weight_rows(m);
        good = good && results > 0 && results * weight_rows(m) == best.band_rows;
        if (m.epilogue.has(epilogue_part::glu))
            good = good && r.policy.visit([](const auto& n) { return n.rows % 2 == 0; });
        const bool quantizes = m.epilogue.has(epilogue_part::quantize);
        if (quantizes) good = good && results % 32 == 0;
        if ((quantizes || combined(p)) && p.needs.kind == skeleton::matvec)
            good = good && results <= max_finished_rows;
    }
    return good;
}

/// The same where the launch makes the norm of its activation, too: an option that a table may
/// have.
product_problem with_norm(product_problem p) {
    p.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
    return p;
}

/// The same where the launch finds the experts of its token.
product_problem with_routing(product_problem p) {
    p.needs.stages = stage_kind::score | stage_kind::choose | stage_kind::weigh;
    return p;
}

/// The same where the launch adds up the slots of a token, whose rows may be short.
product_problem with_sum(product_problem p, std::int64_t k) {
    p.k = k;
    p.needs.epilogue = epilogue_set::of(epilogue_part::combine);
    for (int i = 0; i < p.member_count; ++i) p.member[i].epilogue = p.needs.epilogue;
    return p;
}

/// With a norm where the launch also turns its results.
product_problem with_heads(product_problem p) {
    p = with_norm(p);
    p.needs.epilogue = epilogue_set::of(epilogue_part::heads);
    for (int i = 0; i < p.member_count; ++i) {
        p.member[i].epilogue = p.needs.epilogue;
        p.member[i].rows += p.member[i].rows % 2;  // pairs
    }
    return p;
}

/// The same by warpgroups, of all one layout: another.
product_problem by_warpgroups(product_problem p) {
    p.needs.activation = warpgroup_layout(p.member[0].type);
    return p;
}

}  // namespace

TEST_CASE(
    "Every problem of the domain that no absence is declared for has a row, and every row of a "
    "group a problem") {
    for (const arch& a : arch_registry) {
        INFO(a.name);
        const table t = instances::table_named(a.name);
        const row_index index(t);
        const single_formats singles(t);
        std::set<int> used;
        for (const format_set formats : served_sets(t))
            for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 512, 4096}) {
                if (n > max_matvec_columns && formats.size() > 1) continue;  // a launch for each
                if (absence_of(*formats.begin(), n, a) != nullptr) continue;
                each_group_problem(formats, n, [&](const product_problem& p) {
                    const picked best = pick(p, index);
                    used.insert(best.row);
                    if (best.row >= 0 && t.rows[best.row].computes.product().weights.size() > 1 &&
                        formats.size() == 1)
                        used.insert(singles.pick_of(p));
                    const auto may_have = [&](const product_problem& other) {
                        const picked row = pick(other, index);
                        if (row.row < 0) return;
                        used.insert(row.row);
                        CHECK(legal(row, t.rows[row.row], other, a));
                    };
                    if (!p.expert && n == 1) may_have(with_norm(p)), may_have(with_heads(p));
                    if (p.expert && p.tokens == 1) may_have(with_routing(p));
                    if (p.expert && n <= max_matvec_columns)
                        may_have(with_sum(p, 512)), may_have(with_sum(p, 768)),
                            may_have(with_sum(p, p.k));
                    if (n > max_matvec_columns) may_have(by_warpgroups(p));
                    if (best.row >= 0 && legal(best, t.rows[best.row], p, a)) return;
                    INFO(formats_part(formats)
                         << ": k " << p.k << ", rows " << p.member[0].rows << ", columns "
                         << p.columns << ", expert " << p.expert << ", alignment " << p.alignment
                         << ", epilogue " << int{p.needs.epilogue.bits} << ": "
                         << sentence(best.nearest));
                    FAIL_CHECK("no row, or no legal launch: " << row_name(t, best.row));
                });
            }
        if (a.compute_capability == 0) continue;  // the host has the rows of sm_90, not its speed
        for (int i = 0; i < t.row_count; ++i) {
            INFO(row_name(t, i));
            if (t.rows[i].evidence.by_medians) {  // of problems that were measured
                CHECK(std::any_of(t.measured, t.measured + t.measured_count,
                                  [i](const measurement& m) { return m.row == i; }));
                continue;
            }
            if (t.rows[i].computes.kind() != skeleton::row) CHECK(used.count(i) == 1);
        }
    }
}
