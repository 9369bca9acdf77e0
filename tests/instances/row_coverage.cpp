// The declared domain of the row sets, walked: every problem has a row that is legal for it, and no
// row is there for nothing.
#include "catena/instances/all.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena_test/catch.hpp"

#include <set>

using namespace catena;

namespace {

template <class Visit>
void each_problem(const Visit& visit) {
    problem p;
    p.needs.kind = skeleton::row;
    for (const value_kind value : {value_kind::plain, value_kind::rms_norm, value_kind::glu})
        for (const bool quantizes : {false, true})
            for (const std::int64_t k :
                 {1, 37, 64, 480, 1024, 2048, 4096, 5120, 8192, 16384, 28672})
                for (const std::int64_t rows : {1, 8, 512})
                    for (const int alignment : {16, 4}) {
                        if (quantizes && k % 32 != 0) continue;
                        if (value == value_kind::plain && !quantizes) continue;  // nothing to do
                        p.needs.value = value;
                        p.needs.emits = quantizes ? format_set::of(format::q8_1) |
                                                        format::q8_1_mmq_d4 | format::q8_1_mmq_ds4
                                                  : format_set::of(format::f32);
                        p.quant_k = quantizes ? k : 0;
                        p.k = k;
                        p.rows = rows;
                        p.alignment = alignment;
                        visit(p);
                    }
}

/// What the body asks of a launch.
bool legal(const picked& best, const row& r, const problem& p) {
    const policy& n = r.numbers;
    const int rows = rows_of_block(n);
    return best.config.blocks == (p.rows + rows - 1) / rows && (n.values == 0 || p.k <= n.threads * n.values) &&
           (!n.vector || (p.k % 4 == 0 && p.alignment == 16));
}

}  // namespace

TEST_CASE("Every row problem of the domain has a row, and every row of a row set a problem") {
    for (const arch& a : arch_registry) {
        INFO(a.name);
        const table t = instances::table_named(a.name);
        std::set<int> used;
        each_problem([&](const problem& p) {
            const picked best = pick(p, t);
            used.insert(best.row);
            if (best.row >= 0 && legal(best, t.rows[best.row], p)) return;
            INFO(name(p.needs.value) << ": k " << p.k << ", rows " << p.rows << ", alignment "
                                     << p.alignment << ": " << sentence(best.nearest));
            FAIL_CHECK("no row, or no legal launch: " << row_name(t, best.row));
        });
        if (a.compute_capability == 0) continue;  // the host has the rows of sm_90, not its speed
        for (int i = 0; i < t.row_count; ++i) {
            INFO(row_name(t, i));
            if (t.rows[i].computes.kind == skeleton::row) CHECK(used.count(i) == 1);
        }
    }
}
