// The record of a tuner: written and read again, and what the generator makes of it.
#include "catena_catalogue.hpp"
#include "fields.hpp"
#include "policies.hpp"
#include "raced.hpp"
#include "render.hpp"
#include "simplicity.hpp"
#include "text_file.hpp"
#include "tuning.hpp"

#include "catena/match/pattern.hpp"
#include "catena/pick/measured.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/problems.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>

using namespace catena;
using namespace catena::generator;
using namespace catena_test;

namespace {

const product_computation q4_K_matvec = matvec_of(format::q4_K);

tuned_candidate candidate(const policy& p, verdict is, double us) {
    const bool failed = is == verdict::failed;
    return {.policy = p,
            .registers = 40,
            .shape = {.band = 32, .resident = 2, .share = {.cluster = 1, .width = 3}},
            .predicted_us = 7,
            .is = is,
            .why = failed ? "why" : "",
            .samples = us > 0 ? 33 : 0,
            .median_us = us,
            .spread = 0.01,
            .us = {}};
}

tuned_problem decided(std::int64_t k, int places, std::vector<tuned_candidate> candidates) {
    return {.computes = q4_K_matvec,
            .what = matvec_problem(k, {{format::q4_K, 4096}}),
            .places = places,
            .decided = true,
            .candidates = std::move(candidates)};
}

/// The problem with all listed rows measured too, and beaten.
tuned_problem beaten(tuned_problem p, const std::vector<row>& listed) {
    for (const row& r : listed) p.candidates.push_back(candidate(r.policy, verdict::slower, 9));
    return p;
}

tuning record_of(std::vector<tuned_problem> problems) {
    return {.arch = "sm_90",
            .on = {"GPU", "580", "13.0", "2026-11-21", 1980, 2619},
            .problems = std::move(problems)};
}

tunings only(tuning t) {
    tunings all;
    const std::string arch = t.arch;
    all[arch] = std::make_shared<const tuning>(std::move(t));
    return all;
}

const row* row_with(const std::vector<row>& rows, const policy& p) {
    const auto at =
        std::find_if(rows.begin(), rows.end(), [&](const row& r) { return r.policy == p; });
    return at == rows.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("A record that is written and read again is the same", "[tune]") {
    tuning t = record_of({decided(
        4096, 3, {candidate(lean, verdict::chosen, 5), candidate(rich, verdict::failed, 0)})});
    t.problems[0].candidates[0].code = {{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}};
    t.problems.push_back(t.problems.front());
    tuned_problem& open = t.problems.back();
    open.what.product().expert = true;
    open.what.product().member[0].epilogue =
        epilogue_set::of(epilogue_part::glu) | epilogue_part::quantize;
    open.what.product().member[0].written = false;
    open.decided = false;
    open.candidates = {candidate(rich, verdict::open, 0)};
    open.candidates[0].us = {1.25, 1.0 / 3};
    const std::string text = tuning_text(t);
    const tuning again = parse_tuning(text, "t");
    CHECK(tuning_text(again) == text);
    REQUIRE(again.problems.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(again.problems[i].what == t.problems[i].what);
        CHECK(again.problems[i].computes == t.problems[i].computes);
        CHECK(again.problems[i].candidates[0].policy == t.problems[i].candidates[0].policy);
        CHECK(again.problems[i].candidates[0].us == t.problems[i].candidates[0].us);
        CHECK(again.problems[i].candidates[0].code == t.problems[i].candidates[0].code);
    }
    CHECK(again.on.driver == "580");
    CHECK(again.on.memory_mhz == 2619);
}

TEST_CASE("A record that gives a row step a product's field, or the other way, is refused",
          "[tune]") {
    CHECK_THROWS(computation_of_json({{"weights", {"q4_K"}}}));
    CHECK_THROWS(problem_of_json(skeleton::row, {{"k", 64}, {"columns", 1}}));
    CHECK_THROWS(problem_of_json(skeleton::matvec, {{"k", 64}, {"quant_k", 64}}));
    CHECK(problem_of_json(skeleton::matvec, {{"k", 64}, {"columns", 1}}).product().columns == 1);
}

TEST_CASE("Every policy and computation of the set can be written and read again", "[tune]") {
    for (const computation& c : computations_of(catena_catalogue()))
        for (const row& r : rows_for(sm_90, c)) {
            CAPTURE(policy_json(r.policy).dump());
            CHECK(policy_of_json(c.kind(), policy_json(r.policy)) == r.policy);
            CHECK(computation_of_json(computation_json(c)) == c);
        }
}

TEST_CASE("What is no record is refused with its file and what is wrong", "[tune]") {
    const auto refusal = [](const std::string& text) -> std::string {
        try {
            parse_tuning(text, "a.json");
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    };
    CHECK_THAT(refusal("{"), Catch::Contains("a.json is no record"));
    CHECK_THAT(refusal("{\"arch\": \"sm_90\"}"), Catch::Contains("'on' not found"));
    std::string text =
        tuning_text(record_of({decided(4096, 1, {candidate(lean, verdict::chosen, 5)})}));
    text.replace(text.find("\"threads\""), 9, "\"threats\"");
    CHECK_THAT(refusal(text), Catch::Contains("not known"));
}

TEST_CASE("A record's times are numbers above 0", "[tune]") {
    tuning good = record_of(
        {decided(4096, 1, {candidate(lean, verdict::chosen, 5)}),
         decided(8192, 1,
                 {candidate(rich, verdict::tied, 5), candidate(lean, verdict::chosen, 5)})});
    good.problems[1].candidates[1].us = {1, 2};
    const std::string text = tuning_text(good);
    const auto refused = [&text](const char* field, const char* value) -> std::string {
        nlohmann::json j = nlohmann::json::parse(text);
        j["problems"][1]["candidates"][1][field] = nlohmann::json::parse(value);
        try {
            parse_tuning(j.dump(), "a.json");
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    };
    CHECK(refused("predicted_us", "5").empty());
    CHECK(refused("spread", "0").empty());
    const std::string where =
        "a.json is no record of `catena tune`: problem 1: candidate 1: field ";
    for (const char* wrong : {"0", "-1", "-0.5"})
        for (const char* field : {"predicted_us", "median_us"})
            CHECK_THAT(refused(field, wrong),
                       Catch::StartsWith(where + "'" + field +
                                         "': expected a number above 0, found " + wrong));
    CHECK_THAT(refused("spread", "-0.1"),
               Catch::StartsWith(where + "'spread': expected a number from 0 on"));
    CHECK_THAT(refused("samples", "-3"),
               Catch::StartsWith(where + "'samples': expected a whole number from 0 to "));
    CHECK_THAT(refused("us", "[1.5, 0]"),
               Catch::StartsWith(where + "'us': expected numbers above 0, found [1.5,0]"));
}

TEST_CASE("A record's numbers are what kernels take, and nothing is cut to fit", "[tune]") {
    const std::string text =
        tuning_text(record_of({decided(4096, 1, {candidate(lean, verdict::chosen, 5)})}));
    const auto refused = [&text](const char* pointer, const char* value) -> std::string {
        nlohmann::json j = nlohmann::json::parse(text);
        j[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
        try {
            parse_tuning(j.dump(), "a.json");
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    };
    const std::string problem = "/problems/0/problem", one = "/problems/0/candidates/0";
    const std::string huge[] = {
        "4294967297", "-1",  "9223372036854775807", "18446744073709551615", "1e300", "1.5",
        "\"8\"",      "null"};
    for (const std::string& field :
         {problem + "/k", problem + "/columns", problem + "/members/0/rows",
          one + "/policy/threads", one + "/policy/piece", one + "/registers", one + "/samples",
          one + "/shape/band", one + "/shape/width", std::string("/problems/0/places"),
          std::string("/on/sm_mhz")})
        for (const std::string& value : huge) {
            CAPTURE(field, value);
            CHECK_THAT(refused(field.c_str(), value.c_str()),
                       Catch::Contains("expected a whole number from 0 to "));
        }
    CHECK_THAT(refused((one + "/policy/threads").c_str(), "4097"), Catch::Contains("0 to 4096"));
    CHECK(refused((one + "/policy/threads").c_str(), "96").empty());
    CHECK(refused((problem + "/k").c_str(), "2147483647").empty());
}

TEST_CASE("A record that nests too deep is refused, however deep", "[tune]") {
    const std::string deep(3000000, '[');
    for (const std::string& text :
         {deep, "{\"arch\": " + deep + std::string(deep.size(), ']') + "}"}) {
        try {
            parse_tuning(text, "a.json");
            FAIL("it is read");
        } catch (const std::runtime_error& e) {
            CHECK_THAT(e.what(), Catch::Contains("values nest deeper than 64"));
        }
    }
}

TEST_CASE("The fewest policies are proven that every problem has an unbeaten one of", "[tune]") {
    const tuning t = record_of(
        {decided(2048, 1, {candidate(lean, verdict::chosen, 5), candidate(rich, verdict::tied, 5)}),
         decided(4096, 9,
                 {candidate(lean, verdict::slower, 9), candidate(rich, verdict::chosen, 8)})});
    const std::vector<proven_policy> proven = proven_policies(t, q4_K_matvec);
    REQUIRE(proven.size() == 1);
    CHECK(proven[0].policy == rich);
    CHECK(proven[0].evidence.median_us == 8);  // of the problem with more places
}

TEST_CASE("Of policies that prove as much the simplest is taken", "[tune]") {
    REQUIRE(simpler(lean, rich));
    const tuning t = record_of({decided(
        2048, 1, {candidate(rich, verdict::tied, 5), candidate(lean, verdict::chosen, 5)})});
    const std::vector<proven_policy> proven = proven_policies(t, q4_K_matvec);
    REQUIRE(proven.size() == 1);
    CHECK(proven[0].policy == lean);
}

TEST_CASE("An undecided problem proves nothing", "[tune]") {
    tuning t = record_of({decided(2048, 1, {candidate(lean, verdict::chosen, 5)})});
    t.problems[0].decided = false;
    CHECK(proven_policies(t, q4_K_matvec).empty());
}

TEST_CASE("Listed policies that nothing beats are proven first, and spare others", "[tune]") {
    const std::vector<row> listed = rows_for(sm_90, q4_K_matvec);
    const policy &first = listed[0].policy, second = listed[1].policy;
    const tuning t = record_of(
        {decided(2048, 1,
                 {candidate(lean, verdict::chosen, 5), candidate(first, verdict::tied, 5)}),
         decided(4096, 9,
                 {candidate(first, verdict::chosen, 8), candidate(second, verdict::tied, 8)}),
         decided(8192, 1, {candidate(rich, verdict::chosen, 7)})});
    const std::vector<proven_policy> proven = proven_policies(t, q4_K_matvec, {first, second});
    REQUIRE(proven.size() == 3);
    CHECK(proven[0].policy == first);
    CHECK(proven[0].evidence.median_us == 8);  // of the problem with more places
    CHECK(proven[1].policy == second);
    CHECK(proven[2].policy == rich);
}

TEST_CASE("A record adds what it found behind the list, all of which stays", "[tune]") {
    const std::vector<row> listed = rows_for(sm_90, q4_K_matvec);
    tuned_problem one = beaten(decided(2048, 1, {candidate(lean, verdict::chosen, 5)}), listed);
    one.candidates.back().is = verdict::failed;
    tuned_problem other = decided(4096, 1, {candidate(listed[1].policy, verdict::chosen, 6)});
    const tunings all = only(record_of({one, other}));
    const std::vector<row> rows = tuned_rows(sm_90, listed, all);
    REQUIRE(rows.size() == listed.size() + 1);
    for (std::size_t i = 0; i < listed.size(); ++i) {
        CHECK(rows[i].policy == listed[i].policy);
        CHECK_FALSE(rows[i].evidence.by_medians);
        CHECK((rows[i].evidence.kind == provenance_kind::measured) == (i == 1));
    }
    CHECK(rows[1].evidence.median_us == 6);
    CHECK(rows.back().policy == lean);
    CHECK(rows.back().registers == 40);
    const provenance& evidence = rows.back().evidence;
    CHECK(evidence.by_medians);
    CHECK(evidence.kind == provenance_kind::measured);
    CHECK(std::string(evidence.gpu) == "GPU");
    CHECK(std::string(evidence.date) == "2026-11-21");
    CHECK(evidence.median_us == 5);
}

TEST_CASE("Without a record the list is what it was", "[tune]") {
    const std::vector<row> listed = rows_for(sm_90, q4_K_matvec);
    const std::vector<row> rows = tuned_rows(sm_90, listed, {});
    REQUIRE(rows.size() == listed.size());
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].policy == listed[i].policy);
}

TEST_CASE("A record changes no other arch", "[tune]") {
    const tunings all = only(record_of({decided(2048, 1, {candidate(lean, verdict::chosen, 5)})}));
    for (const char* name : {"sm_100", "sm_75"}) {  // the first inherits from sm_90
        const arch& target = *arch_named(name);
        const std::vector<row> listed = rows_for(target, q4_K_matvec);
        const std::vector<row> rows = tuned_rows(target, listed, all);
        REQUIRE(rows.size() == listed.size());
        for (std::size_t i = 0; i < listed.size(); ++i) {
            CHECK(rows[i].policy == listed[i].policy);
            CHECK(rows[i].evidence.kind == listed[i].evidence.kind);
        }
    }
}

TEST_CASE("A table gets the medians of its rows, ordered by problem", "[tune]") {
    tuned_problem a = decided(
        2048, 1, {candidate(lean, verdict::chosen, 5), candidate(rich, verdict::slower, 7)});
    tuned_problem b = decided(4096, 1, {candidate(lean, verdict::chosen, 9)});
    for (tuned_problem* p : {&a, &b})
        for (tuned_candidate& c : p->candidates) {
            const row r = {.computes = q4_K_matvec,
                           .policy = c.policy,
                           .order = order_of(c.policy),
                           .registers = c.registers,
                           .code = {},
                           .evidence = {}};
            c.shape = shape_of_launch(r, p->what, sm_90, blocks_per_sm(r, p->what, sm_90));
        }
    const tunings all = only(record_of({a, b}));
    const std::vector<instance_set> sets = expand({q4_K_matvec}, {}, all);
    const auto set =
        std::find_if(sets.begin(), sets.end(), [](const auto& s) { return s.target == &sm_90; });
    REQUIRE(set->medians.size() == 2);  // rich is no row
    CHECK(set->medians[0].problem < set->medians[1].problem);
    for (const measurement& m : set->medians) {
        CHECK(set->rows[static_cast<std::size_t>(m.row)].policy == lean);
        CHECK(m.median_us == (m.problem == problem_key(a.what) ? 5 : 9));
    }
    for (const instance_set& other : sets) CHECK((&other == &*set || other.medians.empty()));
    for (const rendered_file& f : render(catena_catalogue().chains, sets)) {
        const auto has = [&f](const char* text) { return f.content.find(text) != f.content.npos; };
        CHECK(has("t.measured_count = 2") == (f.path == "instances/sm_90/table.cpp"));
        CHECK(has("found(\"GPU\", \"13.0\", \"2026-11-21\", ") ==
              (f.path == "instances/sm_90/rows.inc"));
    }
}

namespace {

/// A folder of an engine's records that is removed again.
struct record_folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("catena_records_" + std::to_string(getpid()));
    ~record_folder() { std::filesystem::remove_all(path); }

    /// What is said of the folder with this record alone, as a file of this name.
    std::string refusal(const std::string& file, const tuning& t) const {
        std::filesystem::remove_all(path);
        tool::write_text(path / file, tuning_text(t));
        try {
            read_own_tunings(path);
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    }
};

}  // namespace

TEST_CASE("An engine's records give its set policies and medians", "[tune]") {
    const record_folder folder;
    const tuning t = record_of({decided(2048, 1, {candidate(lean, verdict::chosen, 5)})});
    CHECK(folder.refusal("sm_90.json", t).empty());
    const tunings records = read_own_tunings(folder.path);
    const instance_set set = expand_for(sm_90, {q4_K_matvec}, nullptr, records);
    const row* const measured = row_with(set.rows, lean);
    REQUIRE(measured != nullptr);
    CHECK(measured->evidence.kind == provenance_kind::measured);
    CHECK(std::string(measured->evidence.gpu) == "GPU");
    REQUIRE(set.medians.size() == 1);

    // A part of the set keeps the medians of its rows.
    std::vector<bool> kept(set.rows.size());
    const auto at = static_cast<std::size_t>(set.medians[0].row);
    kept[at] = true;
    CHECK(part_of(set, kept).medians.at(0).row == 0);
    kept[at] = false;
    kept[at == 0 ? 1 : 0] = true;
    CHECK(part_of(set, kept).medians.empty());
}

TEST_CASE("An engine's record of another arch, of a simulation or of no arch is refused",
          "[tune]") {
    const record_folder folder;
    tuning t = record_of({});
    CHECK_THAT(
        folder.refusal("sm_80.json", t),
        Catch::Contains("sm_80.json was measured on GPU, which is sm_90: call it sm_90.json, "
                        "or tune on a GPU of sm_80"));
    CHECK_THAT(folder.refusal("h100.json", t), Catch::Contains("h100.json is called like no arch"));
    CHECK_THAT(folder.refusal("notes.txt", t), Catch::Contains("has no records: write one by"));
    t.on.gpu = "simulated H100";
    CHECK_THAT(folder.refusal("sm_90.json", t),
               Catch::Contains("sm_90.json is of a simulated H100: tune without --simulate"));
}
