// --measured of explain and diff.
#include "launch_record_parts.hpp"
#include "workplace.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

using namespace catena_test;

namespace {

nlohmann::json record_in(const workplace& w, double first, double second) {
    return record_of(nlohmann::json::parse(w.run("explain small.json --json").out),
                     {first, second});
}

void write_record(const workplace& w, const std::string& file, double first, double second) {
    write_file(w.path + "/" + file, gzipped(record_in(w, first, second).dump()));
}

}  // namespace

TEST_CASE("explain --measured shows a record, as text, JSON and a page", "[command]") {
    workplace w;
    write_record(w, "record.json.gz", 5, 7);
    const outcome text = w.run("explain small.json --measured record.json.gz");
    REQUIRE(text.code == 0);
    CHECK_THAT(text.out, Catch::Contains("measured       record.json.gz: a GPU, driver 1, CUDA 2"));
    const auto j =
        nlohmann::json::parse(w.run("explain small.json --json --measured record.json.gz").out);
    CHECK(j["steps"][1]["measured"]["us"] == 7);
    CHECK(w.run("explain small.json --measured record.json.gz --html page.html").code == 0);
    CHECK_THAT(content(w.path + "/page.html"), Catch::Contains("\"record\":\"record.json.gz\""));
}

TEST_CASE("a record that cannot be used is one sentence, and nothing is written", "[command]") {
    workplace w;
    write_record(w, "record.json", 5, 7);
    const int files = w.files();
    for (const auto& [arguments, sentence] :
         {std::pair{"--measured none.json", "none.json"},
          {"--measured small.json", "small.json: no record of launches: 'format' should be"},
          {"--measured record.json --arch sm_80", "leave --arch and --gpu out"}}) {
        INFO(arguments);
        const outcome o = w.run(std::string("explain small.json --html page.html ") + arguments);
        CHECK(o.code == 2);
        CHECK_THAT(o.err, Catch::StartsWith("catena: ") && Catch::Contains(sentence));
    }
    CHECK(w.files() == files);
}

TEST_CASE("diff shows what is measured to have changed, where both are measured", "[command]") {
    workplace w;
    write_record(w, "before.json", 5, 7);
    write_record(w, "after.json", 5, 8);
    for (const char* record : {"before", "after"})
        REQUIRE(w.run(std::string("explain small.json --json --measured ") + record +
                      ".json --output " + record + ".report")
                    .code == 0);
    const outcome text = w.run("diff before.report after.report");
    CHECK_THAT(text.out, Catch::Contains("12           13           +1  their us, measured"));
    const auto j = nlohmann::json::parse(w.run("diff before.report after.report --json").out);
    REQUIRE(j["measured_us"].size() == 1);  // the other step takes 5 us on both sides
    const auto& sides = j["measured_us"].front();
    CHECK(sides[0]["us"] == 7);
    CHECK(sides[1]["us"] == 8);
    const double predicted = sides[0]["predicted_us"];
    CHECK(predicted ==
          nlohmann::json::parse(content(w.path + "/before.report"))["steps"][1]["predicted_us"]);
    char line[100];
    std::snprintf(line, sizeof line, "7.0! %9.1f          8.0! %9.1f         +1.0  norm_input",
                  predicted, predicted);
    CHECK_THAT(text.out, Catch::Contains(line));
    CHECK(j["totals"]["steps measured as planned"] == nlohmann::json{2, 2});
    CHECK(j["totals"]["of them slower than predicted"] == nlohmann::json{2, 2});

    const outcome reports = w.run("diff before.report after.report --measured before.json");
    CHECK(reports.code == 2);
    CHECK_THAT(reports.err, Catch::Contains("both files are reports of explain"));

    const outcome one = w.run("diff before.report small.json");
    CHECK_THAT(one.out, !Catch::Contains("us of a launch") && !Catch::Contains("us, measured"));
    CHECK_THAT(w.run("diff before.report small.json --measured before.json").out,
               Catch::Contains("us of a launch, mean, by chain and work: no difference"));
}

TEST_CASE("diff holds the time of another instance against no launch", "[command]") {
    workplace w;
    auto record = record_in(w, 5, 7);
    write_file(w.path + "/before.json", record.dump());
    record["steps"][1]["instance"] = "matvec.q4_K.other.sm_90";
    write_file(w.path + "/after.json", record.dump());
    REQUIRE(w.run("explain small.json --json --measured after.json --output after").code == 0);
    const std::string diff = "diff small.json after --measured before.json";
    const auto j = nlohmann::json::parse(w.run(diff + " --json").out);
    REQUIRE(j["measured_us"].size() == 1);
    CHECK(j["measured_us"].front()[0]["us"] == 7);
    CHECK(j["measured_us"].front()[1].is_null());
    CHECK_THAT(w.run(diff).out,
               Catch::Contains("            -          -               norm_input"));
}
