// What a real record makes of the set when a part of its problems is decided: it changes what it
// has measured, and nothing else.
#include "catena_catalogue.hpp"
#include "expand.hpp"
#include "h100_record.hpp"
#include "tuning.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/domain.hpp"
#include "catena/pick/measured_on.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/planner.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

using namespace catena;
using namespace catena::generator;

namespace {

const arch& sm_90 = *arch_named("sm_90");

/// The record with this share of the decided problems. Which, their keys say.
tunings cut_to(int percent) {
    auto cut = std::make_shared<tuning>(h100_record());
    for (tuned_problem& p : cut->problems)
        p.decided = p.decided && static_cast<int>((problem_key(p.what) >> 32) % 100) < percent;
    return {{sm_90.name, std::move(cut)}};
}
/// Sets point into what they are made of.
const tunings& whole() {
    static const tunings all = cut_to(100);
    return all;
}

const catalogue& chains() {
    static const catalogue all = catena_catalogue();
    return all;
}
instance_set set_by(const tunings& measured) {
    static const std::vector<computation> computations = computations_of(chains());
    return expand_for(sm_90, computations, nullptr, measured);
}
const instance_set& set_without() {
    static const instance_set set = set_by({});
    return set;
}

const std::vector<json::graph>& graphs() {
    static const std::vector<json::graph> all = [] {
        std::vector<json::graph> out;
        for (const auto& file : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs"))
            out.push_back(json::read(file.path().string()));
        return out;
    }();
    return all;
}

/// Medians of a record, by problem and the row's name.
using medians_by_name = std::map<std::pair<std::uint64_t, std::string>, double>;
medians_by_name medians_in(const tunings& measured) {
    medians_by_name out;
    for (const tuned_problem& p : measured.at(sm_90.name)->problems)
        for (const tuned_candidate& c : p.candidates)
            if (p.decided && c.samples > 0)
                out[{problem_key(p.what), row_name(p.computes, c.policy, sm_90.name)}] =
                    c.median_us;
    return out;
}

/// What a step takes: its median if the record has one, or that of the launch that was raced,
/// carried over; else what the cost model says.
struct step_time {
    bool measured = false;
    double us = 0;
};
step_time time_of(const plan& p, const step& s, const medians_by_name& medians) {
    const row& r = p.rows().rows[s.row];
    const problem was = s.what.visit([](const auto& own) { return problem(raced(own)); });
    const auto model_us = [&r](const problem& what) {
        return predicted_us(r, what, sm_90,
                            shape_of_launch(r, what, sm_90, blocks_per_sm(r, what, sm_90)));
    };
    const auto known = medians.find({problem_key(was), row_name(p.rows(), s.row)});
    if (known == medians.end()) return {false, model_us(s.what)};
    return {true, known->second * (was == s.what ? 1 : model_us(s.what) / model_us(was))};
}
/// What the steps of a plan take, and those of a plan without the record. A step that has a median
/// in one of them alone is left out: a median beside a prediction would tell the error of the
/// model.
std::pair<double, double> times_of(const plan& p, const plan& before,
                                   const medians_by_name& medians) {
    std::map<std::pair<std::int32_t, std::uint64_t>, step_time> there;
    double us = 0, us_before = 0;
    for (const step& s : before.steps()) {
        const step_time time = time_of(before, s, medians);
        there[{s.launch_at, problem_key(s.what)}] = time;
        us_before += time.us;
    }
    for (const step& s : p.steps()) {
        const step_time time = time_of(p, s, medians);
        us += time.us;
        const auto same = there.find({s.launch_at, problem_key(s.what)});
        if (same != there.end() && same->second.measured != time.measured)
            us -= time.us, us_before -= same->second.us;
    }
    return {us, us_before};
}

/// A step: where it is launched, what it computes and the row's name.
using launched = std::tuple<std::int32_t, std::uint64_t, std::string>;
launched launched_as(const plan& p, const step& s) {
    return {s.launch_at, problem_key(s.what), row_name(p.rows(), s.row)};
}
std::set<launched> steps_of(const plan& p) {
    std::set<launched> out;
    for (const step& s : p.steps()) out.insert(launched_as(p, s));
    return out;
}

}  // namespace

TEST_CASE("A record of a part of the problems keeps every listed row", "[tune]") {
    const int percent = GENERATE(10, 50, 90, 100);
    const tunings cut = cut_to(percent);
    const instance_set with = set_by(cut);
    CHECK(with.medians.size() > 10);
    CHECK(with.rows.size() > set_without().rows.size());
    const auto in = [](const instance_set& set, const row& r) {
        return std::any_of(set.rows.begin(), set.rows.end(), [&r](const row& o) {
            return o.computes == r.computes && o.policy == r.policy;
        });
    };
    for (const row& r : set_without().rows) CHECK(in(with, r));
    for (const row& r : with.rows) CHECK(r.evidence.by_medians == !in(set_without(), r));
}

TEST_CASE("A record of a part of the problems makes no plan of a given graph worse", "[tune]") {
    const int percent = GENERATE(10, 50, 90, 100);
    const tunings cut = cut_to(percent);
    const instance_set with = set_by(cut);
    const medians_by_name medians = medians_in(cut);
    int measured = 0;
    for (const json::graph& graph : graphs()) {
        INFO(percent << " % of the record, " << graph.file);
        const plan before = planner{described(set_without(), chains())}.plan(graph.view());
        const plan p = planner{described(with, chains())}.plan(graph.view());
        REQUIRE(p.state().ok());
        const std::set<launched> steps_before = steps_of(before);
        for (const step& s : p.steps()) {
            const bool timed = time_of(p, s, medians).measured;
            measured += timed ? 1 : 0;
            INFO(s.launch_at << ": " << row_name(p.rows(), s.row));
            CHECK((timed || steps_before.count(launched_as(p, s)) == 1));
        }
        CHECK(p.counters().served >= before.counters().served);
        CHECK(p.counters().plain_rows <= before.counters().plain_rows);
        const auto [us, us_before] = times_of(p, before, medians);
        CHECK(us <= us_before * (1 + 1e-9));
        CHECK((p.counters().steps <= before.counters().steps || us < us_before));
    }
    CHECK(measured > 0);
}

TEST_CASE("With a record the same bits leave no more to the engine", "[tune]") {
    const instance_set with = set_by(whole());
    options same;
    same.pick.same_bits = true;
    for (const json::graph& graph : graphs()) {
        INFO(graph.file);
        const plan before = planner{described(set_without(), chains()), same}.plan(graph.view());
        const plan p = planner{described(with, chains()), same}.plan(graph.view());
        CHECK(p.explain().engine_launches <= before.explain().engine_launches);
        CHECK(p.counters().served >= before.counters().served);
    }
}

TEST_CASE("On another GPU of the arch a record changes no plan", "[tune]") {
    const instance_set with = set_by(whole());
    const auto on_h200 = [](const instance_set& set) {
        table t = described(set, chains());
        t.device = sm_90;
        std::snprintf(t.device->gpu, sizeof t.device->gpu, "NVIDIA H200");
        keep_own_medians(t);
        return t;
    };
    for (const json::graph& graph : graphs()) {
        INFO(graph.file);
        const plan before = planner{on_h200(set_without())}.plan(graph.view());
        CHECK(steps_of(planner{on_h200(with)}.plan(graph.view())) == steps_of(before));
    }
}

TEST_CASE("A record changes no pick of the domain", "[tune]") {
    const instance_set with = set_by(whole());
    const table before = described(set_without(), chains()), t = described(with, chains());
    const row_index rows_before(before), rows(t);
    const auto name_of = [](const table& of, const picked& p) {
        return p.row < 0 ? "" : row_name(of, p.row);
    };
    int changed = 0, served = 0;
    for (const format_set weights : chains().launches)
        for (const std::int64_t columns : {1, 4})  // those of the record
            each_group_problem(weights, columns, [&](const product_problem& p) {
                const picked was = pick(p, rows_before), is = pick(p, rows);
                served += is.row >= 0 ? 1 : 0;
                changed += was.row != is.row && name_of(before, was) != name_of(t, is) ? 1 : 0;
            });
    CHECK(served > 1000);
    CHECK(changed == 0);
}
