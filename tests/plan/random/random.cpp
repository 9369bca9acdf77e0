// Plans of random graphs, run in plain loops. One seed alone: CATENA_RANDOM_SEED=17; another number
// of graphs: CATENA_RANDOM_GRAPHS=1000000.
#include "asked.hpp"
#include "check.hpp"
#include "launch.hpp"
#include "tables.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <string>

namespace {

using namespace catena_test;

constexpr unsigned all_seeds = ~0u;

/// Runs the seeds and reports, of all that fail, the smallest graph.
tally check_seeds(const catena::table& rows, unsigned graphs, bool tuned = false) {
    const scalar_table table(rows);
    const unsigned only = asked("CATENA_RANDOM_SEED", all_seeds);
    const unsigned first = only == all_seeds ? 0 : only;
    const unsigned last = only == all_seeds ? asked("CATENA_RANDOM_GRAPHS", graphs) : only + 1;
    tally met;
    int failed = 0;
    unsigned smallest = 0;
    std::string seeds;
    std::string fault;
    for (unsigned seed = first; seed < last; ++seed) {
        const std::string now = check_graph(seed, table.get(), tuned, met);
        if (now.empty()) continue;
        seeds += " " + std::to_string(seed);
        if (failed++ == 0 || now.size() < fault.size()) {
            smallest = seed;
            fault = now;
        }
    }
    INFO(failed << " of " << last - first
                << " graphs fail; the smallest is CATENA_RANDOM_SEED=" << smallest << "\n"
                << fault << "\nall that fail:" << seeds);
    CHECK(failed == 0);
    return met;
}

TEST_CASE("Plans by the shipped table do, on random graphs, what the engine does", "[random]") {
    const tally met = check_seeds(shipped_table(), 2000);
    if (met.graphs < 1000) return;
    CHECK(met.steps > 6 * met.graphs);  // they are not too hard to plan
    CHECK(met.members > 4 * met.graphs);
    CHECK(met.moved > 4 * met.graphs);
    CHECK(met.elided > 4 * met.graphs);
    CHECK(met.combined > met.graphs / 60);
    CHECK(met.sums > met.graphs / 60);
    CHECK(met.copies > met.graphs / 40);
    CHECK(met.joins > met.graphs / 10);
    CHECK(met.again > met.graphs / 12);
    CHECK(met.scaled > met.graphs / 100);
    CHECK(met.scaled_norms > met.graphs / 100);
    CHECK(met.scaled_joins > met.graphs / 100);
    CHECK(met.heads > met.graphs / 10);
    CHECK(met.convolved > met.graphs / 80);
    CHECK(met.attended > met.graphs / 80);
    CHECK(met.recalled > met.graphs / 80);
    CHECK(met.scanned > met.graphs / 80);
    CHECK(met.scan_nodes > 3 * met.scanned);
    CHECK(met.routes > met.graphs / 40);
    CHECK(met.routed > met.graphs / 60);
    CHECK(met.begun > met.graphs / 40);
    CHECK(met.ended > met.graphs / 40);
}

TEST_CASE(
    "Plans that make norms in their readers' launch do, on random graphs, what the engine does",
    "[random]") {
    const tally met = check_seeds(norm_inside_table(), 1200);
    if (met.graphs < 1000) return;
    CHECK(met.norms > met.graphs / 4);
    CHECK(met.turned > met.graphs / 400);
    CHECK(met.routed > met.graphs / 60);
    CHECK(met.quantizes > met.graphs / 4);
    CHECK(met.gated > met.graphs / 20);
    CHECK(met.gated_norms > met.graphs / 240);
}

TEST_CASE("Plans that multiply few columns in tiles do, on random graphs, what the engine does",
          "[random]") {
    const tally met = check_seeds(tiles_table(), 1200);
    if (met.graphs < 1000) return;
    CHECK(met.tiled > met.graphs / 4);
}

TEST_CASE("Plans by an invented table do, on random graphs, what the engine does", "[random]") {
    const tally met = check_seeds(toy_table(), 1200);
    if (met.graphs < 1000) return;
    CHECK(met.steps > 2 * met.graphs);
}

TEST_CASE("Plans by invented medians do, on random graphs, what the engine does", "[random]") {
    const tally met = check_seeds(shipped_table(), 1200, true);
    if (met.graphs < 1000) return;
    CHECK(met.steps > 4 * met.graphs);
    CHECK(met.given > met.graphs / 4);
}

}  // namespace
