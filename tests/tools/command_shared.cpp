// What all subcommands share: mistyped words, the width of text, archs; and those that compare.
#include "workplace.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

using namespace catena_test;

TEST_CASE("a mistyped subcommand, option, arch, chain or format is answered with the nearest",
          "[command]") {
    workplace w;
    CHECK_THAT(w.run("explian small.json").err, Catch::EndsWith("Did you mean 'explain'?\n"));
    CHECK_THAT(w.run("explain small.json --optimizd").err,
               Catch::EndsWith("Did you mean '--optimized'?\n"));
    CHECK_THAT(w.run("explain small.json --frobnicate").err, !Catch::Contains("Did you mean"));
    CHECK_THAT(w.run("explain small.json --arch sm90").err,
               Catch::EndsWith("did you mean 'sm_90'?\n"));
    const std::string tune = "tune --simulate 1 --graphs small.json --arch ";
    CHECK_THAT(w.run(tune + "sm_91").err, Catch::EndsWith("did you mean 'sm_90'?\n"));
    CHECK_THAT(w.run(tune + "sm_90 --formats q4_k").err, Catch::EndsWith("did you mean 'q4_K'?\n"));
    CHECK_THAT(w.run(tune + "sm_90 --chains norm_inputs").err,
               Catch::Contains("did you mean 'norm_input"));
}

TEST_CASE("text fits the width of COLUMNS, 80 at least; a pipe, a file and JSON are as they are",
          "[command]") {
    workplace w;
    const auto longest = [](const std::string& text) {
        std::istringstream lines(text);
        std::size_t most = 0;
        for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
        return most;
    };
    const outcome piped = w.run("explain small.json", "env -u COLUMNS");
    CHECK(longest(piped.out) > 80);
    for (const auto& [set, most] : {std::pair{"20", 80}, {"80", 80}, {"90", 90}}) {
        for (const char* arguments : {"explain small.json", "explain --help", "--help"}) {
            CAPTURE(set, arguments);
            const outcome o = w.run(arguments, std::string("env COLUMNS=") + set);
            CHECK(longest(o.out) <= static_cast<std::size_t>(most));
        }
    }
    CHECK(w.run("explain small.json", "env COLUMNS=x").out == piped.out);
    CHECK(w.run("explain small.json --json", "env COLUMNS=80").out ==
          w.run("explain small.json --json").out);
    CHECK(w.run("explain small.json --output file", "env COLUMNS=80").code == 0);
    CHECK(content(w.path + "/file") == piped.out);
}

TEST_CASE("native is an arch wherever one is named", "[command]") {
    workplace w;
    for (const char* arguments : {"explain small.json", "verify small.json", "run small.json",
                                  "instances", "coverage", "tune --simulate 1"}) {
        INFO(arguments);
        const outcome o = w.run(arguments + std::string(" --arch native"));
        CHECK_THAT(o.err, !Catch::Contains("'native'"));
        if (o.code != 0) CHECK_THAT(o.err, Catch::Contains("there is no GPU"));
    }
}

TEST_CASE("instances --legend says what a name's parts mean", "[command]") {
    workplace w;
    CHECK_THAT(w.run("instances --legend").out, Catch::Contains("threads of a block"));
    const auto j = nlohmann::json::parse(w.run("instances --legend --json").out);
    CHECK(j["policy"][0]["part"] == "tN");
    CHECK(w.run("instances --legend --arch sm_90").code == 2);
}

TEST_CASE("diff says how two plans differ: of two archs, two orders, two reports", "[command]") {
    workplace w;
    const auto totals = [&](const std::string& arguments) {
        const outcome o = w.run("diff " + arguments + " --json");
        INFO(o.err);
        REQUIRE(o.code == 0);
        return nlohmann::json::parse(o.out);
    };
    const auto archs = totals("small.json --arch sm_80,sm_90");
    CHECK(archs["a"] == "small.json, sm_80");
    CHECK(archs["b"] == "small.json, sm_90");
    CHECK(archs["totals"]["launches"] == nlohmann::json{3, 3});
    CHECK_FALSE(archs["instances"].empty());
    for (const auto& [name, n] : archs["instances"].items()) {
        CHECK(name.find(".sm_") == std::string::npos);
        CHECK(n[0] != n[1]);
    }
    CHECK(totals("small.json --optimized")["b"] == "small.json, sm_90, optimized");

    REQUIRE(w.run("explain small.json --arch sm_80 --json --output a.json").code == 0);
    REQUIRE(w.run("explain small.json --arch sm_90 --json --output b.json").code == 0);
    auto reports = totals("a.json b.json");
    CHECK(reports["totals"] == archs["totals"]);
    CHECK(reports["instances"] == archs["instances"]);
    CHECK(totals("a.json small.json --arch sm_80")["instances"].empty());

    auto fewer = nlohmann::ordered_json::parse(content(w.path + "/a.json"));
    fewer["launches"]["planned"] = 2;
    fewer["not_fused"].push_back({{"node", 3}, {"reason", "overlap"}, {"sentence", "s"}});
    catena_test::write_file(w.path + "/fewer.json", fewer.dump());
    const auto changed = totals("a.json fewer.json");
    CHECK(changed["totals"]["launches"] == nlohmann::json{3, 2});
    CHECK(changed["not_fused"] == nlohmann::json{{"overlap", {0, 1}}});
    CHECK_THAT(w.run("diff a.json fewer.json").out,
               Catch::Contains("-1  launches\n") && Catch::Contains("+1  overlap\n"));
}

TEST_CASE("diff refuses what cannot differ, and a report where a graph is needed", "[command]") {
    workplace w;
    CHECK(w.run("diff").code == 2);
    CHECK_THAT(w.run("diff small.json").err, Catch::Contains("--optimized"));
    REQUIRE(w.run("explain small.json --json --output a.json").code == 0);
    CHECK_THAT(w.run("diff a.json --arch sm_80,sm_90").err, Catch::Contains("name a graph file"));
    CHECK_THAT(w.run("diff small.json a.json --optimized").err,
               Catch::Contains("name a graph file"));
    CHECK(w.run("diff small.json none.json").code == 2);
    catena_test::write_file(w.path + "/old.json", R"({"catena": "0.0.1", "steps": []})");
    CHECK_THAT(w.run("diff old.json a.json").err, Catch::Contains("it lacks /launches/planned"));
}

TEST_CASE("bench prints text, CSV, Markdown or JSON, to a file if asked", "[command]") {
    workplace w;
    const std::string bench = "bench --host --rows 1 --matmul q4_K,64,256,2 --kernels r16_c8 ";
    const outcome text = w.run(bench);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, Catch::Contains("predicted us") && Catch::Contains("matvec.q4_K"));
    const outcome csv = w.run(bench + "--csv");
    CHECK_THAT(csv.out, Catch::StartsWith("catena,arch,machine,format,rows,columns,batch,") &&
                            Catch::Contains(",sm_90,host executor,q4_K,64,256,2,matvec.q4_K") &&
                            Catch::Contains(",predicted,") && Catch::Contains(",agrees\n"));
    CHECK_THAT(w.run(bench + "--markdown").out, Catch::Contains("\n|---|--:|--:|--:|---|\n"));
    CHECK(w.run(bench + "--json --output b.json").out.empty());
    const auto j = nlohmann::json::parse(content(w.path + "/b.json"));
    CHECK(j["matmul"]["batch_columns"] == 2);
    CHECK(j["instances"][0]["verdict"] == "agrees");
    CHECK(w.run(bench + "--json --csv").code == 2);
    CHECK(w.run("bench --host").code == 2);
    CHECK_THAT(w.run("bench --host --matmul q4_K,64,300,2").err, Catch::Contains("take 512"));
}

TEST_CASE("tune prints JSON too, and to a file if asked", "[command]") {
    workplace w;
    const outcome o = w.run(
        "tune --arch sm_90 --simulate 1 --formats q6_K --time 2h --json --output tuned.json "
        "--graphs '" CATENA_TEST_DATA "/graphs/qwen3-8b-q4km.tg1.json.gz'");
    CHECK(o.code == 0);
    CHECK(o.out.empty());
    const auto j = nlohmann::json::parse(content(w.path + "/tuned.json"));
    CHECK(j["arch"] == "sm_90");
    REQUIRE(j["problems"].size() > 0);
    CHECK(j["problems"][0]["decided"] == true);
    CHECK_THAT(j["problems"][0]["chosen"]["instance"].get<std::string>(),
               Catch::Contains(".sm_90"));
}
