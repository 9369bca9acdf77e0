// --measured of explain and diff.
#include "launch_record_parts.hpp"
#include "workplace.hpp"

#include <nlohmann/json.hpp>

#include <string>

using namespace catena_test;

namespace {

void write_record(const workplace& w, const std::string& file, double first, double second) {
    const auto report = nlohmann::json::parse(w.run("explain small.json --json").out);
    write_file(w.path + "/" + file, gzipped(record_of(report, {first, second}).dump()));
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
    CHECK_THAT(text.out, Catch::Contains("7.0          8.0         +1.0  norm_input"));
    CHECK_THAT(text.out, !Catch::Contains("5.0          5.0"));
    const auto j = nlohmann::json::parse(w.run("diff before.report after.report --json").out);
    CHECK(j["measured_us"].size() == 1);
    CHECK(j["totals"]["steps measured as planned"] == nlohmann::json{2, 2});

    const outcome reports = w.run("diff before.report after.report --measured before.json");
    CHECK(reports.code == 2);
    CHECK_THAT(reports.err, Catch::Contains("both files are reports of explain"));

    const outcome one = w.run("diff before.report small.json");
    CHECK_THAT(one.out, !Catch::Contains("measured us") && !Catch::Contains("us, measured"));
    CHECK_THAT(w.run("diff before.report small.json --measured before.json").out,
               Catch::Contains("measured us of a launch, mean, by chain and work: no difference"));
}
