// What the proof says of launches that recall.
#include "delta_rule_case.hpp"
#include "faults.hpp"

#include "catena/plan/verify.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena_test;

TEST_CASE("the proof finds faults of launches that recall", "[plan][delta]") {
    std::vector<fault> all = faults_of_delta_rules();
    for (fault& f : faults_of_moved_operands()) all.push_back(std::move(f));
    std::map<std::string, int> put;
    for (const auto& [by_value, sequences] :
         {std::pair{false, 1}, std::pair{true, 1}, std::pair{false, 2}}) {
        rule_case c(
            {.tokens = 2, .sequences = sequences, .by_value = by_value, .moves = sequences == 2});
        const plan made = c.planned();
        const auto at = static_cast<std::size_t>(made.at(c.g.position(c.rule)).step);
        for (const fault& f : all) {
            CAPTURE(f.name, by_value, sequences);
            plan broken = made;
            plan_faults inside{broken};
            if (!f.put(inside, at)) continue;
            ++put[f.name];
            CHECK_FALSE(verify(c.g.view(), broken).state.ok());
        }
    }
    for (const fault& f : all) {
        CAPTURE(f.name);
        CHECK(put[f.name] > 0);
    }
}

TEST_CASE("the proof lets nobody read a state behind values that a launch keeps elsewhere",
          "[plan][delta]") {
    rule_case c;
    const id part = c.g.view(c.rule, {c.is.k});
    c.g.other({part});
    const plan made = c.planned();
    c.g.share(part, c.rule, c.value_bytes());
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("reads another value than in the engine's order"));
}

TEST_CASE("the proof lets nobody read values together with the state behind them",
          "[plan][delta]") {
    rule_case c({.keeps = false});
    for (const id t : {c.values, c.norm}) c.g[t].ne[1] = 1;  // nothing ends where values do
    const id reader = c.g.other({c.norm});
    const plan made = c.planned();
    rule_case outside = c;
    outside.g.read_outside(outside.rule);
    CHECK_THAT(verify(outside.g.view(), made).state.message,
               Catch::Contains("does not leave the value that somebody may read"));
    c.g[reader].src[0] = c.rule;
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("reads another value than in the engine's order"));
}

TEST_CASE("the proof wants factors of a decay that nobody writes, since they are read early",
          "[plan][delta]") {
    rule_case c;
    const plan made = c.planned();
    c.g[c.g[c.decay].src[1]].weight = false;
    CHECK_THAT(verify(c.g.view(), made).state.message,
               Catch::Contains("the factor of a decay is read early, and is no constant"));
}
