// The declared domain of the matvec sets, walked: every problem has a row that is legal for it, and
// no row is there for nothing.
#include "catena/instances/all.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena_test/catch.hpp"

#include <set>
#include <vector>

using namespace catena;

namespace {

constexpr epilogue_set glu = epilogue_set::of(epilogue_part::glu);
constexpr epilogue_set quantized = epilogue_set::of(epilogue_part::quantize);
constexpr epilogue_set every_part =
    glu | quantized | epilogue_part::scale | epilogue_part::bias | epilogue_part::residual;

/// The format sets of a table's matvecs.
std::vector<format_set> listed_sets(const table& t) {
    std::vector<format_set> sets;
    for (int i = 0; i < t.row_count; ++i) {
        const computation& c = t.rows[i].computes;
        if (c.kind == skeleton::matvec && (sets.empty() || sets.back() != c.weights))
            sets.push_back(c.weights);
    }
    return sets;
}

/// Every format of the set once, through the same parts, and one of them plain.
problem base_problem(format_set formats, std::int32_t rows, epilogue_set parts) {
    problem p;
    p.needs = {.kind = skeleton::matvec,
               .activation = format::q8_1,
               .weights = formats,
               .epilogue = parts};
    for (int f = 1; f < format_count; ++f)
        if (formats.has(static_cast<format>(f)))
            p.member[p.member_count++] = {
                .type = static_cast<format>(f), .rows = rows, .epilogue = parts};
    p.member[p.member_count] = {.type = p.member[0].type, .rows = 7};
    ++p.member_count;
    return p;
}

template <class Visit>
void each_problem(format_set formats, const Visit& visit) {
    for (const epilogue_set parts : {epilogue_set{}, glu, quantized, glu | quantized, every_part})
        for (const std::int32_t rows : {32, 1024, 28672})
            for (const std::int64_t k : {256, 2048, 5120, 18944, 28672})
                for (const int alignment : {16, 2})
                    for (int n = 1; n <= 8; ++n) {
                        problem p = base_problem(formats, rows, parts);
                        p.k = k;
                        p.alignment = alignment;
                        p.columns = n;
                        visit(p);
                        p.expert = true;
                        p.tokens = n;
                        for (problem_member& m : p.member) m.experts = 128;
                        for (const int slots : {1, 8}) {
                            p.columns = n * slots;
                            visit(p);
                        }
                    }
}

/// What the bodies ask of a launch.
bool legal(const picked& best, const row& r, const problem& p, const arch& a) {
    const launch_config& c = best.config;
    bool good = c.blocks > 0 && static_cast<int>(c.shared_bytes) <= a.shared_per_block &&
                static_cast<int>(c.threads) <= a.max_threads_per_block;
    for (int i = 0; i < p.member_count; ++i) {
        const problem_member& m = p.member[i];
        const int results = best.band_rows / weight_rows(m);
        good = good && results > 0 && results * weight_rows(m) == best.band_rows;
        if (m.epilogue.has(epilogue_part::glu)) good = good && r.numbers.rows % 2 == 0;
        if (m.epilogue.has(epilogue_part::quantize))
            good = good && results % 32 == 0 && results <= max_requantized_rows;
    }
    return good;
}

}  // namespace

TEST_CASE("Every problem of the domain has a row, and every matvec row a problem") {
    for (const arch& a : arch_registry) {
        INFO(a.name);
        const table t = instances::table_named(a.name);
        std::set<int> used;
        for (const format_set formats : listed_sets(t))
            each_problem(formats, [&](const problem& p) {
                const picked best = pick(p, t);
                used.insert(best.row);
                if (best.row >= 0 && legal(best, t.rows[best.row], p, a)) return;
                INFO(formats_part(formats)
                     << ": k " << p.k << ", rows " << p.member[0].rows << ", columns " << p.columns
                     << ", expert " << p.expert << ", alignment " << p.alignment << ", epilogue "
                     << int{p.needs.epilogue.bits} << ": " << sentence(best.nearest));
                FAIL_CHECK("no row, or no legal launch: " << row_name(t, best.row));
            });
        if (a.compute_capability == 0) continue;  // the host has the rows of sm_90, not its speed
        for (int i = 0; i < t.row_count; ++i) {
            INFO(row_name(t, i));
            if (t.rows[i].computes.kind == skeleton::matvec) CHECK(used.count(i) == 1);
        }
    }
}
