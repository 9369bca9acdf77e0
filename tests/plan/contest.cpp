// Chains that a benchmark found the engine's own kernels to be faster at.
#include "catena/pick/measured.hpp"
#include "catena/plan/counters.hpp"

#include "cases.hpp"

#include <algorithm>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// What a benchmark records about all steps of a plan.
std::uint64_t key_of(const plan& p) {
    std::uint64_t key = 0;
    for (const step& s : p.steps()) key += problem_key(s.what);
    return key;
}

struct contested {
    std::vector<engine_median> medians;

    table over(table t) {
        std::sort(medians.begin(), medians.end(),
                  [](const auto& a, const auto& b) { return a.steps < b.steps; });
        t.engine = medians.data();
        t.engine_count = static_cast<int>(medians.size());
        return t;
    }
};

plan plan_with(graph_builder& g, contested& known, const options& asked = {}) {
    return checked_plan(g, known.over(toy_table()), asked);
}

/// x -> norm -> MUL -> two matmuls, as nodes 0 to 3; and on its own from another value a third.
struct two_chains : norm_case {
    id q = g.matmul(format::q4_K, 512, mul), k = g.matmul(format::q4_K, 32, mul);
    id other = g.other({q});
    id alone = g.matmul(format::q4_K, 96, other);
};

/// The medians of the first chain of two_chains, by a plan of its nodes alone.
std::uint64_t key_of_first() {
    norm_case c;
    c.g.matmul(format::q4_K, 512, c.mul);
    c.g.matmul(format::q4_K, 32, c.mul);
    return key_of(checked_plan(c.g));
}

}  // namespace

TEST_CASE("a chain that the engine does faster is left to it, and no other", "[plan][contest]") {
    two_chains c;
    contested known{{{key_of_first(), 7.5f, 8}}};
    const plan p = plan_with(c.g, known);
    CHECK(steps_of(p) == "5:, 5: 5");
    for (const int node : {0, 2, 3}) CHECK(left_why(p, node) == reason::engine_faster);
    CHECK(p.left()[0].what.have == 8000);
    CHECK(p.left()[0].what.need == 7500);
    CHECK(p.left().size() == 3);
    CHECK(p.counters().left[static_cast<int>(reason::engine_faster)] == 2);
}

TEST_CASE("with same_bits no chain is left to an engine that is faster", "[plan][contest]") {
    two_chains c;  // which it may be for these columns, and not for others
    contested known{{{key_of_first(), 7.5f, 8}}};
    options asked;
    asked.pick.same_bits = true;
    const plan p = plan_with(c.g, known, asked);
    for (const int node : {0, 2, 3}) CHECK(left_why(p, node) == reason::none);
}

TEST_CASE("a chain that the engine does no faster is served", "[plan][contest]") {
    two_chains c, same;
    contested known{{{key_of_first(), 8, 8}, {key_of_first() + 1, 1, 8}}};
    CHECK(steps_of(plan_with(c.g, known)) == steps_of(checked_plan(same.g)));
}

TEST_CASE("a value of the engine's and its readers are left together", "[plan][contest]") {
    const auto make = [](graph_builder& g) {
        const id x = g.other({g.input(format::f32, {512})});
        g.matmul(format::q4_K, 64, x);
        g.matmul(format::q8_0, 64, x);
    };
    graph_builder served, lost;
    make(served), make(lost);
    const plan before = checked_plan(served);
    CHECK(before.steps().size() == 3);
    contested known{{{key_of(before), 1, 2}}};
    const plan p = plan_with(lost, known);
    CHECK(p.steps().size() == 0);
    CHECK(p.left().size() == 2);
    CHECK(left_why(p, 1) == reason::engine_faster);
    CHECK(left_why(p, 2) == reason::engine_faster);
    CHECK(p.workspace_bytes() == 0);
}

TEST_CASE("a chain that lost is not tried again in a smaller shape", "[plan][contest]") {
    const auto make = [](graph_builder& g) {
        const id x = g.input(format::f32, {512}), y = g.other({x});
        g.matmul(format::q4_K, 64, g.scaled_norm(g.add(x, y)));
    };
    graph_builder served, lost;
    make(served), make(lost);
    const plan before = checked_plan(served);
    REQUIRE(before.chains()[0].sum >= 0);
    contested known{{{key_of(before), 1, 2}}};
    CHECK(plan_with(lost, known).steps().size() == 0);
}

TEST_CASE("what the engine is left for its speed is no fallback", "[plan][contest]") {
    two_chains c;
    contested known{{{key_of_first(), 7.5f, 8}}};
    options strict;
    strict.error_on_fallback = true;
    const plan p = plan_with(c.g, known, strict);
    CHECK(p.state().ok());
    CHECK(p.counters().fallbacks() == 0);
}

TEST_CASE("the first fallback is the first that is not left for the engine's speed",
          "[plan][contest]") {
    two_chains c;
    c.g.matmul(format::q5_K, 64, c.other);  // of a format that the table does not know
    contested known{{{key_of_first(), 7.5f, 8}}};
    options strict;
    strict.error_on_fallback = true;
    const graph_view view = c.g.view();
    const plan p = planner(known.over(toy_table()), strict).plan(view);
    CHECK(p.state().code == status_code::fallback);
    CHECK_THAT(p.state().message, Catch::Contains("node 6, a matmul of q5_K"));
}
