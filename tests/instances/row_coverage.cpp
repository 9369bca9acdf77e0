// The declared domain of the row sets, walked: every problem has a row that is legal for it, and no
// row is there for nothing.
#include "catena/instances/all.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <set>
#include <vector>

using namespace catena;

namespace {

/// What the row sets of a table compute, each once.
std::vector<row_computation> row_computations(const table& t) {
    std::vector<row_computation> all;
    for (int i = 0; i < t.row_count; ++i) {
        if (t.rows[i].computes.kind() != skeleton::row) continue;
        const row_computation& c = t.rows[i].computes.row();
        if (std::find(all.begin(), all.end(), c) == all.end()) all.push_back(c);
    }
    return all;
}

/// What the elements of a row are a multiple of so that all of these can be emitted: padded layouts
/// take blocks of 32, scales that lie apart are for whole groups.
std::int64_t group_of(format_set emits) {
    int unit = 32;
    for (const format f : emits)
        if (scales_apart(f)) unit = std::max(unit, info(f).block_elements);
    return unit;
}

/// Heads of every length that models have, in numbers alone and in all that caches hold.
template <class Visit>
void each_length_of_heads(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    for (const format_set emits : {plain_formats, computes.emits})
        for (const std::int64_t k : {1, 37, 64, 96, 128, 192, 256, 512})
            for (const std::int64_t rows : {1, 48, 8192})
                for (const int alignment : {16, 4}) {
                    if (emits != plain_formats && k % 32 != 0) continue;
                    p.needs.emits = emits;
                    p.k = k;
                    p.rows = rows;
                    p.alignment = alignment;
                    visit(p);
                }
}

/// Channels of as many heads as models have, and of some that no head ends at.
template <class Visit>
void each_convolution(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    for (const int taps : {3, 4})
        for (const std::int64_t k : {1, 4, 37, 64, 128, 256})
            for (const std::int64_t heads : {1, 16, 64, 1024})
                for (const int sequences : {1, 2, 3, 4, 5, 8})
                    for (const int alignment : {16, 4}) {
                        p.slots = taps;
                        p.k = k;
                        p.rows = heads * sequences;
                        p.sequences = sequences;
                        p.alignment = alignment;
                        visit(p);
                    }
}

/// Heads of a state, of as many values as models have.
template <class Visit>
void each_delta_rule(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    for (const std::int64_t k : {8, 24, 64, 96, 128})
        for (const std::int64_t heads : {1, 32, 64})
            for (const int tokens : {1, 8})
                for (const int sequences : {1, 2, 3, 4, 5, 8})
                    for (const int alignment : {16, 4}) {
                        p.k = k;
                        p.rows = heads * (k / values_of_warp) * sequences;
                        p.slots = tokens;
                        p.sequences = sequences;
                        p.alignment = alignment;
                        visit(p);
                    }
}

/// States of as many numbers for a value as models have.
template <class Visit>
void each_scan(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    for (const std::int64_t k : {1, 16, 64, 128, 256})
        for (const std::int64_t values : {8, 3072, 8192})
            for (const int tokens : {1, 8})
                for (const int sequences : {1, 2, 3, 4, 5, 8})
                    for (const int alignment : {16, 4}) {
                        p.k = k;
                        p.rows = values / values_of_warp * sequences;
                        p.slots = tokens;
                        p.sequences = sequences;
                        p.alignment = alignment;
                        visit(p);
                    }
}

/// Queries of heads as long as models have, of one to eight tokens.
template <class Visit>
void each_attention(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    for (const std::int64_t k : {8, 64, 72, 128, 192, 256})
        for (const std::int64_t key_heads : {1, 8, 40})
            for (const std::int64_t group : {1, 4, 8})
                for (const std::int64_t tokens : {1, 4})
                    for (const std::int64_t positions : {1, 64, 200, 512}) {
                        p.k = k;
                        p.slots = group * tokens;
                        p.rows = key_heads * p.slots;
                        p.stored = 2 * key_heads * tokens;
                        p.positions = positions;
                        const bool quantizes = k % 32 == 0;  // whole blocks
                        const format_set q8_1 = format_set::of(format::q8_1);
                        p.needs.emits = computes.emits.without(quantizes ? format_set{} : q8_1);
                        p.quant_k = quantizes ? k * key_heads * group : 0;
                        visit(p);
                    }
}

/// Routers of every size that models have.
template <class Visit>
void each_router(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    p.alignment = 4;
    for (const std::int64_t k : {2, 8, 32, 60, 128, 256, 384, 512, 1024})
        for (const std::int64_t rows : {1, 8, 512, 8192}) {
            p.k = k;
            p.rows = rows;
            p.slots = std::min<std::int64_t>(k, 8);
            visit(p);
        }
}

/// Every shape of what a set computes, with all it can emit and with f32 alone.
template <class Visit>
void each_problem(const row_computation& computes, const Visit& visit) {
    row_problem p;
    p.needs = computes;
    if (convolves(computes.stages)) return each_convolution(computes, visit);
    if (recalls(computes.stages)) return each_delta_rule(computes, visit);
    if (scans(computes.stages)) return each_scan(computes, visit);
    if (attends(computes.stages)) return each_attention(computes, visit);
    if (has_heads(computes.stages)) return each_length_of_heads(computes, visit);
    if (routes(computes.stages)) return each_router(computes, visit);
    for (const bool quantizes : {false, true})
        for (const std::int64_t k :
             {1, 37, 64, 256, 480, 1024, 2048, 4096, 5120, 8192, 16384, 28672})
            for (const std::int64_t rows : {1, 8, 512, 8192})
                for (const int alignment : {16, 4}) {
                    if (quantizes && k % group_of(computes.emits) != 0) continue;
                    if (!quantizes && !computes.emits.has(format::f32)) continue;
                    p.needs.emits = quantizes ? computes.emits : format_set::of(format::f32);
                    p.quant_k = quantizes ? k : 0;
                    p.k = k;
                    p.rows = rows;
                    p.alignment = alignment;
                    visit(p);
                }
}

/// What the body asks of a launch that attends: a cluster, or a block, for each head of keys and
/// share of its queries.
bool legal_attention(const picked& best, const row_policy& n, const row_problem& p) {
    const auto most = static_cast<unsigned>(std::max(n.cluster, 1));
    const auto blocks = static_cast<unsigned>(key_heads_of(p)) * best.config.cluster;
    const auto clusters = static_cast<int>(best.config.blocks / blocks);
    const auto queries = static_cast<int>(p.slots);
    const int share = share_of_queries(queries, clusters);
    return best.config.blocks % blocks == 0 && share <= most_queries &&
           (clusters - 1) * share < queries && best.config.cluster <= most &&
           p.k <= head_values(n) && p.k % attended_by_lane == 0;
}

/// What the body asks of a launch.
bool legal(const picked& best, const row& r, const row_problem& p) {
    const row_policy& n = r.policy.row();
    if (attends(p.needs.stages)) return legal_attention(best, n, p);
    const int rows = rows_of_block(n, static_cast<int>(p.sequences));
    return best.config.blocks == (p.rows + rows - 1) / rows && rows >= p.sequences &&
           (n.values == 0 || p.k <= n.threads / rows_of_block(n) * n.values) &&
           (!n.vector || (p.k % 4 == 0 && p.alignment == 16));
}

}  // namespace

TEST_CASE("Every row problem of the domain has a row, and every row of a row set a problem") {
    for (const arch& a : arch_registry) {
        INFO(a.name);
        const table t = instances::table_named(a.name);
        const row_index index(t);
        std::set<int> used;
        const auto has_a_row = [&](const row_problem& p) {
            const picked best = pick(p, index);
            used.insert(best.row);
            if (best.row >= 0 && legal(best, t.rows[best.row], p)) return;
            INFO(chain_part(p.needs) << ": k " << p.k << ", rows " << p.rows << ", alignment "
                                     << p.alignment << ": " << sentence(best.nearest));
            FAIL_CHECK("no row, or no legal launch: " << row_name(t, best.row));
        };
        for (const row_computation& c : row_computations(t)) each_problem(c, has_a_row);
        if (a.compute_capability == 0) continue;  // the host has the rows of sm_90, not its speed
        for (int i = 0; i < t.row_count; ++i) {
            INFO(row_name(t, i));
            if (t.rows[i].evidence.by_medians) continue;  // of problems that were measured
            if (t.rows[i].computes.kind() == skeleton::row) CHECK(used.count(i) == 1);
        }
    }
}
