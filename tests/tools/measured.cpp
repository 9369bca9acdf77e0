// Measured times beside predicted ones: a step gets those of its own problem, and nothing else
// does.
#include "measured.hpp"

#include "catena_test/catch.hpp"
#include "given.hpp"
#include "launch_record_parts.hpp"
#include "optimized.hpp"
#include "report.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena::tool;
using catena_test::record_of;

namespace {

json::graph small() { return json::parse(catena_test::small_graph().dump(), "small.json"); }

nlohmann::json told(const report& r) { return nlohmann::json::parse(as_json(r, false)); }

/// A small graph's report, beside a record.
struct measured_graph {
    json::graph g = small();
    report plain = make_report(g, table_for("sm_90"));
    nlohmann::json record;

    explicit measured_graph(std::vector<double> us) : record(record_of(told(plain), us)) {}
    report beside() const {
        const launch_record r = parse_launches(record.dump(), "record.json");
        return make_report(g, table_for("sm_90"), &r);
    }
};

}  // namespace

TEST_CASE("each step has its own time, and the engine's kernels stand between", "[measured]") {
    const measured_graph m({5, 7});
    const report r = m.beside();
    REQUIRE(r.measured);
    REQUIRE(r.plan.steps.size() == 2);
    const auto j = told(r);
    for (const int i : {0, 1}) {
        CAPTURE(i);
        const auto& step = j["steps"][static_cast<std::size_t>(i)]["measured"];
        CHECK(step["us"] == (i == 0 ? 5 : 7));
        CHECK(step["gap_us"] == 0.25);
        CHECK(step["launches"] == 1);
        CHECK_FALSE(step.contains("instance"));
        CHECK(step["engine_before"] == nlohmann::json{{{"kernel", "engine_kernel"}, {"us", 1.5}}});
    }
    const auto& all = j["measured"];
    CHECK(all["engine_after"].size() == 1);
    CHECK(all["record"] == "record.json");
    CHECK(all["gpu"] == "a GPU");
    CHECK(all["walk"] ==
          nlohmann::json{{"model", "m"}, {"load", "one"}, {"repeats", 9}, {"us", 100}});
    CHECK(all["same_instance"]["steps"] == 2);
    CHECK(all["same_instance"]["us"] == 12);
    CHECK(all["same_instance"]["predicted_us"] == j["predicted"]["steps_us"]);
    CHECK(all["other_instance"]["steps"] == 0);
    CHECK_FALSE(told(m.plain)["steps"][0].contains("measured"));
    CHECK_FALSE(told(m.plain).contains("measured"));
}

TEST_CASE("what takes more than a quarter longer than predicted is marked", "[measured]") {
    measured_graph m({1, 1});
    const double predicted[] = {m.plain.plan.steps[0].predicted_us,
                                m.plain.plan.steps[1].predicted_us};
    m.record = record_of(told(m.plain), {1.3 * predicted[0], 1.2 * predicted[1]});
    const report r = m.beside();
    CHECK(told(r)["steps"][0]["measured"]["slower"] == true);
    CHECK(told(r)["steps"][1]["measured"]["slower"] == false);
    const std::string text = as_text(r, false);
    CHECK_THAT(text, Catch::Contains("! " + r.plan.steps[0].instance));
    CHECK_THAT(text, Catch::Contains("  " + r.plan.steps[1].instance));
    CHECK_THAT(text, Catch::Contains("2 of 2 steps: "));
    CHECK_THAT(text, Catch::Contains("1 of 2 steps are more than a quarter slower than predicted"));
    CHECK_THAT(text, !Catch::Contains("have no time"));
    const auto slower = told(r)["measured"]["slower"];
    CHECK(slower["steps"] == 1);
    CHECK(slower["us"].get<double>() == Approx(1.3 * predicted[0]));
    CHECK(slower["predicted_us"] == predicted[0]);
}

TEST_CASE("the time of another instance says so, and does not count as slow", "[measured]") {
    measured_graph m({5, 7000});
    m.record["steps"][1]["instance"] = "matvec.q4_K.other.sm_90";
    const report r = m.beside();
    const auto j = told(r);
    CHECK(j["steps"][1]["measured"]["instance"] == "matvec.q4_K.other.sm_90");
    CHECK(j["steps"][1]["measured"]["slower"] == false);
    CHECK(j["measured"]["same_instance"]["steps"] == 1);
    CHECK(j["measured"]["other_instance"]["us"] == 7000);
    CHECK_THAT(as_text(r, false), Catch::Contains("measured as matvec.q4_K.other.sm_90") &&
                                      Catch::Contains("1 of 2 steps ran as another instance"));
}

TEST_CASE("a step whose problem is not in the record has no time", "[measured]") {
    measured_graph m({5, 7});
    auto& problem = m.record["steps"][1]["problem"];
    const auto whole = problem;
    for (const char* field : {"k", "columns"}) {
        CAPTURE(field);
        problem = whole;
        problem[field] = whole[field].get<int>() * 2;
        const auto j = told(m.beside());
        CHECK(j["steps"][0]["measured"]["us"] == 5);
        CHECK_FALSE(j["steps"][1].contains("measured"));
        CHECK_FALSE(j["measured"].contains("engine_after"));  // of an unknown step
        CHECK(j["measured"]["steps_without_time"] == 1);
        CHECK_THAT(as_text(m.beside(), false), Catch::Contains("1 of 2 steps have no time"));
    }
    m.record["steps"][0]["problem"]["rows"] = 77;
    const report none = m.beside();
    CHECK_FALSE(told(none)["measured"].contains("walk"));
    CHECK_THAT(as_text(none, false), Catch::Contains("no step of this plan is in the record"));
}

TEST_CASE("where the record has a problem more often, the median of its launches is told",
          "[measured]") {
    measured_graph m({5, 7});
    for (const double us : {40, 9})
        m.record["walks"][0]["launches"].push_back({{"us", us}, {"step", 1}});
    const auto j = told(m.beside());
    CHECK(j["steps"][1]["measured"]["us"] == 9);
    CHECK(j["steps"][1]["measured"]["launches"] == 3);
    CHECK_FALSE(j["steps"][1]["measured"].contains("engine_before"));
    CHECK_FALSE(j["measured"].contains("engine_after"));
    CHECK(j["steps"][0]["measured"]["engine_before"].size() == 1);
}

TEST_CASE("the engine's kernels are told between steps that are neighbors in the record alone",
          "[measured]") {
    measured_graph m({5, 7});
    m.record["steps"].push_back(m.record["steps"][1]);
    m.record["steps"][2]["problem"]["columns"] = 3;
    auto& launches = m.record["walks"][0]["launches"];
    const nlohmann::json other = {{"us", 2}, {"step", 2}};
    launches.insert(launches.begin() + 2, other);  // between the plan's two
    const auto j = told(m.beside());
    CHECK(j["steps"][0]["measured"]["engine_before"].size() == 1);
    CHECK(j["steps"][1]["measured"]["us"] == 7);
    CHECK_FALSE(j["steps"][1]["measured"].contains("engine_before"));
}

TEST_CASE("the walk is found by its problems, not by names", "[measured]") {
    measured_graph m({5, 7});
    auto other = m.record["walks"][0];
    other["model"] = "small", other["load"] = "b2";  // the graph's own
    m.record["walks"][0]["model"] = "another";
    m.record["steps"].push_back(m.record["steps"][1]);
    m.record["steps"][2]["problem"]["columns"] = 3;
    for (auto& launch : other["launches"])
        if (launch.value("step", 0) == 1) launch["step"] = 2;
    m.record["walks"].insert(m.record["walks"].begin(), other);
    CHECK(told(m.beside())["measured"]["walk"]["model"] == "another");
}

TEST_CASE("a record that cannot be read names the file and the place", "[measured]") {
    const measured_graph m({5, 7});
    using change = std::function<void(nlohmann::json&)>;
    const std::pair<change, const char*> all[] = {
        {[](auto& r) { r["format"] = "catena launches 9"; }, "'format' should be"},
        {[](auto& r) { r = nlohmann::json::array(); }, "'format' should be"},
        {[](auto& r) { r.erase("arch"); }, "field 'arch': is missing"},
        {[](auto& r) { r["provenance"]["driver"] = 5; }, "provenance: field 'driver': expected a"},
        {[](auto& r) { r["kernels"][0] = 1; }, "field 'kernels': expected strings, found 1"},
        {[](auto& r) { r["steps"] = 3; }, "field 'steps': expected an array"},
        {[](auto& r) { r["steps"][1]["problem"]["kk"] = 1; }, "step 1: field 'problem': is none"},
        {[](auto& r) { r["steps"][1]["problem"].erase("needs"); }, "step 1: field 'problem': is"},
        {[](auto& r) { r["steps"][0]["problem"] = "x"; }, "step 0: field 'problem': is none"},
        {[](auto& r) { r["walks"][0]["repeats"] = 0; }, "walk 0: field 'repeats': expected a num"},
        {[](auto& r) { r["walks"][0]["repeats"] = 4294967297; },
         "walk 0: field 'repeats': expected a number from 1 to 2147483647, found 4294967297"},
        {[](auto& r) { r["walks"][0]["repeats"] = 18446744073709551615u; },
         "walk 0: field 'repeats': expected a number from 1 to 2147483647"},
        {[](auto& r) { r["steps"][1]["problem"]["k"] = std::int64_t{1} << 62; },
         "step 1: field 'problem': is none that this version reads: field 'k': expected a whole"},
        {[](auto& r) { r["walks"][0]["launches"][1]["step"] = std::int64_t{1} << 62; },
         "launch 1 of walk 0: field 'step': expected an index below 2, found 4611686018427387904"},
        {[](auto& r) { r["walks"][0]["launches"][1]["us"] = -1; },
         "launch 1 of walk 0: field 'us': expected microseconds, found -1"},
        {[](auto& r) { r["walks"][0]["launches"][1]["step"] = 2; },
         "launch 1 of walk 0: field 'step': expected an index below 2, found 2"},
        {[](auto& r) { r["walks"][0]["launches"][0]["kernel"] = -1; },
         "launch 0 of walk 0: field 'kernel': expected an index below 1, found -1"},
        {[](auto& r) { r["walks"][0]["launches"][0].erase("kernel"); },
         "launch 0 of walk 0: field 'step': is missing, and so is 'kernel'"},
        {[](auto& r) { r["walks"][0]["launches"][2] = 7; },
         "launch 2 of walk 0: expected an object"},
    };
    for (const auto& [change, sentence] : all) {
        nlohmann::json broken = m.record;
        change(broken);
        CAPTURE(sentence);
        CHECK_THROWS_WITH(
            parse_launches(broken.dump(), "record.json"),
            Catch::StartsWith("record.json: no record of launches: ") && Catch::Contains(sentence));
    }
    CHECK_THROWS_WITH(parse_launches("{", "record.json"), Catch::StartsWith("record.json: no rec"));
    CHECK_THROWS_WITH(read_launches("none.json"), Catch::Contains("none.json"));
    const std::string deep(3000000, '[');  // as much as would fill the stack
    CHECK_THROWS_WITH(
        parse_launches("{\"format\": " + deep + std::string(deep.size(), ']') + "}", "record.json"),
        Catch::Contains("values nest deeper than 64"));
}

TEST_CASE("a record of another GPU or set is refused", "[measured]") {
    const measured_graph m({5, 7});
    launch_record r = parse_launches(m.record.dump(), "record.json");
    CHECK_THROWS_WITH(make_report(m.g, table_for("sm_80"), &r),
                      Catch::Contains("record.json was measured on a GPU (sm_90), and the plan is "
                                      "for A100 SXM (sm_80): leave --arch"));
    r.gpu = "H200 SXM";
    CHECK_THROWS_WITH(make_report(m.g, table_for("sm_90"), &r),
                      Catch::Contains("the plan is for H100 SXM (sm_90): leave --arch"));
    CHECK_NOTHROW(make_report(m.g, table_for(target_options{"", "H200 SXM"}), &r));
}

TEST_CASE("the records of this tree have the steps of their models' graphs", "[measured][graphs]") {
    const std::pair<const char*, std::vector<const char*>> records[] = {
        {"h100",
         {"qwen3-8b-q4km.tg1", "llama-3.1-8b-q8_0.tg1", "llama-3.1-8b-q8_0.b4",
          "gpt-oss-20b-mxfp4.tg1", "gpt-oss-20b-mxfp4.b4", "qwen3-30b-a3b-q4km.tg1",
          "qwen3-30b-a3b-q4km.b4", "qwen3.6-35b-a3b-q4km.tg1", "qwen3.6-35b-a3b-q4km.b4"}},
        {"h200", {"qwen3-8b-q4km.tg1"}}};
    for (const auto& [gpu, graphs] : records) {
        const launch_record record = read_launches(std::string(CATENA_TEST_RECORDS "/launches.") +
                                                   gpu + ".2026-11-26.json.gz");
        CHECK(record.walks.size() == graphs.size());
        for (const std::string name : graphs) {
            CAPTURE(gpu, name);
            const json::graph g = optimized(given(name));
            const report r = make_report(g, table_for(target_options{"", record.gpu}), &record);
            // Plans have changed since: most in Qwen3.6, where norms, routing and gates are in
            // launches of matrices now, which the record's launches of these are not.
            const int few = name == "qwen3.6-35b-a3b-q4km.tg1" ? 25 : 4;
            CHECK(r.measured->same.steps + r.measured->other.steps >
                  static_cast<int>(r.plan.steps.size()) / few);
            CHECK(name.rfind(r.measured->walk.model, 0) == 0);
            CHECK(name.substr(name.rfind('.') + 1) == r.measured->walk.load);
        }
    }
}
