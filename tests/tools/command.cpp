// The command as a process: what it prints where, its exit codes, and that it leaves no
// half-written file.
#include "workplace.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

namespace fs = std::filesystem;
using namespace catena_test;

TEST_CASE("help is everywhere, on standard output, with exit code 0", "[command]") {
    workplace w;
    for (const char* arguments : {"--help", "explain --help", "run --help", "verify --help",
                                  "diff --help", "instances --help", "tune --help", "bench --help",
                                  "pages --help", "doctor --help", "bisect --help"}) {
        const outcome o = w.run(arguments);
        CHECK(o.code == 0);
        CHECK_THAT(o.out, Catch::Contains("Exit codes"));
        CHECK(o.err.empty());
    }
}

TEST_CASE("the version is printed when it is asked for, and stands in all JSON", "[command]") {
    workplace w;
    const outcome o = w.run("--version");
    CHECK(o.code == 0);
    CHECK(o.out == "catena " CATENA_VERSION "\n");
    for (const char* arguments :
         {"explain small.json --json", "run small.json --host --json",
          "instances --arch sm_90 --json", "verify small.json --json",
          "coverage --arch sm_90 --json", "diff small.json --optimized --json",
          "bench --matmul q4_K,64,256,1 --host --json", "tune --arch sm_90 --check-model --json",
          "doctor --json"}) {
        INFO(arguments);
        const auto j = nlohmann::ordered_json::parse(w.run(arguments).out);
        CHECK(j.begin().key() == "catena");
        CHECK(j["catena"] == CATENA_VERSION);
    }
}

TEST_CASE("wrong usage is exit code 2 and says what is wrong", "[command]") {
    workplace w;
    CHECK(w.run("").code == 2);
    CHECK_THAT(w.run("").err, Catch::Contains("subcommand is required"));
    CHECK(w.run("frobnicate").code == 2);
    CHECK_THAT(w.run("frobnicate").err, Catch::Contains("frobnicate"));
    CHECK(w.run("explain").code == 2);
    CHECK_THAT(w.run("explain").err, Catch::Contains("GRAPH"));
    CHECK(w.run("explain small.json --no-such-option").code == 2);
    CHECK(w.run("run small.json --layers 0").code == 2);
    CHECK(w.run("run small.json --layers x").code == 2);
    CHECK(w.run("run small.json --layers 0").err.size() < 200);
    CHECK(w.run("run small.json --seed -1").code == 2);
    CHECK(w.run("run small.json --seed -1").err.size() < 200);
    CHECK(w.run("explain small.json --json --html page.html").code == 2);
    CHECK_THAT(w.run("explain small.json --json --dot graph.dot").err, Catch::Contains("--dot"));
    CHECK(w.files() == 1);
    CHECK(w.run("tune --arch sm_90 --simulate 1 --time 0s").code == 2);
    CHECK(w.run("tune --arch sm_90 --simulate 1 --check-model").code == 2);
    CHECK(w.run("instances").code == 2);
}

TEST_CASE("bad input is exit code 2, one sentence on standard error, and nothing elsewhere",
          "[command]") {
    workplace w;
    catena_test::write_file(w.path + "/bad.json", "{\"model\": ");
    for (const char* command : {"explain", "run"}) {
        const std::string c = command;
        const outcome missing = w.run(c + " none.json");
        CHECK(missing.code == 2);
        CHECK(missing.err == "catena: none.json: cannot be opened: No such file or directory\n");
        CHECK(missing.out.empty());
        const outcome bad = w.run(c + " bad.json --output result.json");
        CHECK(bad.code == 2);
        CHECK_THAT(bad.err,
                   Catch::StartsWith("catena: bad.json: expected JSON, found a parse error"));
        const outcome arch = w.run(c + " small.json --arch sm_42");
        CHECK(arch.code == 2);
        CHECK_THAT(arch.err, Catch::Contains("sm_42") && Catch::Contains("sm_90"));
    }
    CHECK(w.files() == 2);
}

TEST_CASE("control characters of a graph file do not reach the terminal", "[command]") {
    workplace w;
    const std::string clear = "\x1b[2J", shown = "\\x1b[2J";
    nlohmann::json graph = catena_test::small_graph();
    graph["model"] = "m" + clear;
    graph["case"] = "c\r\x7f\xc2\x9b" + clear;
    graph["tensors"][2]["name"] = "weight\n" + clear;
    graph["tensors"][8]["name"] = "out\n" + clear;
    graph["tensors"][8]["op"] = "ODD\a" + clear;
    graph["tensors"][0]["name"] = "Grüße 😀";
    catena_test::write_file(w.path + "/odd.json", graph.dump());
    graph["tensors"][1]["type"] = "f\n" + clear;
    catena_test::write_file(w.path + "/odd_type.json", graph.dump());
    graph["tensors"][6]["op"] = graph["tensors"][8]["op"];
    catena_test::write_file(w.path + "/odd_matmul.json", graph.dump());

    for (const char* command :
         {"explain odd.json", "explain odd.json --verbose", "explain odd_type.json",
          "explain odd_matmul.json", "explain odd.json --json", "verify odd.json --json",
          "explain odd.json --dot /dev/stdout", "explain odd.json --html /dev/stdout",
          "run odd.json --host", "run odd.json --host --json", "explain 'none\x1b[2J.json'",
          "run 'none\x1b[2J.json'"}) {
        CAPTURE(command);
        const outcome o = w.run(command);
        const std::string said = o.out + o.err;
        CHECK_FALSE(said.empty());
        CHECK(std::none_of(said.begin(), said.end(), [](char c) {
            return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f;
        }));
        CHECK(said.find("\xc2\x9b") == std::string::npos);
    }
    CHECK_THAT(w.run("explain odd.json").out,
               Catch::Contains("m" + shown + ", c\\x0d\\x7f\\xc2\\x9b" + shown + ":") &&
                   Catch::Contains("op 'ODD\\x07" + shown + "' is not known"));
    CHECK_THAT(w.run("explain odd_type.json").out,
               Catch::Contains("type 'f\\x0a" + shown + "' is not known"));
    CHECK_THAT(w.run("run odd.json --host").out, Catch::Contains("graph m" + shown + ", c\\x0d"));
    CHECK_THAT(w.run("explain 'none\x1b[2J.json'").err,
               Catch::Contains("none" + shown + ".json: cannot be opened"));
}

TEST_CASE("a file from before survives a failure", "[command]") {
    workplace w;
    catena_test::write_file(w.path + "/result.json", "precious");
    CHECK(w.run("explain none.json --output result.json").code == 2);
    CHECK(content(w.path + "/result.json") == "precious");
    CHECK(w.run("explain small.json --output none/result.json").code == 2);
    CHECK(w.files() == 2);
}

TEST_CASE("what is no file is written to, and a link is followed", "[command]") {
    workplace w;
    fs::create_symlink("/dev/stdout", w.path + "/stream");
    CHECK_THAT(w.run("explain small.json --output stream").out, Catch::Contains("norm x weight"));
    CHECK(fs::is_symlink(w.path + "/stream"));
    catena_test::write_file(w.path + "/result.txt", "old");
    fs::create_symlink("result.txt", w.path + "/link");
    CHECK(w.run("explain small.json --output link").code == 0);
    CHECK(fs::is_symlink(w.path + "/link"));
    CHECK_THAT(content(w.path + "/result.txt"), Catch::Contains("norm x weight"));
}

TEST_CASE("a result that could not be written is refused before the work", "[command]") {
    workplace w;
    CHECK(w.run("explain small.json --html page.html --output none/result.json").code == 2);
    CHECK(w.run("explain small.json --output ''").code == 2);
    const outcome o = w.run("run small.json --host --output none/result.json");
    CHECK(o.code == 2);
    CHECK_THAT(o.err, Catch::Contains("none/result.json: cannot be written"));
    const std::string tune = "tune --arch sm_90 --simulate 1 --graphs small.json --time 90s";
    CHECK(w.run(tune + " --rows none/rows.txt --out t.json").code == 2);
    CHECK(w.files() == 1);  // no record of a search
}

TEST_CASE("explain prints text, or JSON to a file", "[command]") {
    workplace w;
    const outcome text = w.run("explain small.json");
    CHECK(text.code == 0);
    CHECK_THAT(text.out, Catch::Contains("norm x weight  1 in the graph"));
    const outcome file = w.run("explain small.json --arch sm_80 --json --output result.json");
    CHECK(file.code == 0);
    CHECK(file.out.empty());
    CHECK(nlohmann::json::parse(content(w.path + "/result.json"))["arch"] == "sm_80");
}

TEST_CASE("run verifies the steps and reports them", "[command]") {
    workplace w;
    const outcome text = w.run("run small.json --host");
    CHECK(text.code == 0);
    CHECK_THAT(text.out,
               Catch::Contains("2 of 2 steps ran") && Catch::Contains("all within their limits"));
    const auto j = nlohmann::json::parse(w.run("run small.json --host --json --seed 5").out);
    CHECK(j["seed"] == 5);
    CHECK(j["total"]["failed"] == 0);
    CHECK(j["steps"].size() == 2);
}

TEST_CASE("run verifies a prompt", "[command]") {
    workplace w;
    const outcome o = w.run("run --host '" CATENA_TEST_DATA "/run/prompt.json'");
    INFO(o.out);
    CHECK(o.code == 0);
}

TEST_CASE("run reads weights early that share a buffer with results", "[command][graphs]") {
    workplace w;
    const outcome o =
        w.run("run --host --layers 1 --rows 4 '" CATENA_TEST_DATA "/run/arena.json.gz'");
    INFO(o.out);
    CHECK(o.code == 0);
}

TEST_CASE("run for an arch whose kernels are not all in the build says so, and fails nothing",
          "[command][graphs]") {
    workplace w;
    const outcome o = w.run("run --host --arch sm_75 --layers 1 --rows 1 '" CATENA_TEST_DATA
                            "/graphs/llama-3.2-3b-q4km.tg1.json.gz'");
    INFO(o.out);
    CHECK(o.code == (CATENA_EVERY_ROW ? 0 : 3));
    CHECK_THAT(o.out, !Catch::Contains("FAILED"));
    CHECK((o.out.find("NOT RUN") == std::string::npos) == bool{CATENA_EVERY_ROW});
    CHECK_THAT(w.run("run --help").out, Catch::Contains("3 no step failed"));
}

TEST_CASE("run takes the first layers of a real graph only", "[command][graphs]") {
    workplace w;
    const outcome o = w.run("run --host --layers 1 --rows 4 --json '" CATENA_TEST_DATA
                            "/graphs/qwen3.6-35b-a3b-q4km.tg1.json.gz'");
    REQUIRE(o.code == 0);
    const auto j = nlohmann::json::parse(o.out);
    CHECK(j["total"]["failed"] == 0);
    CHECK(j["total"]["steps"].get<int>() < 20);
    int norms = 0;
    for (const auto& step : j["steps"]) {
        const auto instance = step["instance"].get<std::string>();
        norms += instance.find("rms_norm") == 0;
        norms += instance.find("_deferred.") != std::string::npos;  // by a matvec that reads it
    }
    CHECK(norms == 2);
}

TEST_CASE("instances lists the rows of an arch", "[command]") {
    workplace w;
    const outcome text = w.run("instances --arch sm_90");
    CHECK(text.code == 0);
    const auto j = nlohmann::json::parse(w.run("instances --arch sm_90 --json").out);
    CHECK(j["rows"].size() > 4);
    CHECK(j["rows"][0].contains("provenance"));
    const std::string rows = std::to_string(j["rows"].size());
    CHECK(j["rows_on_record"] == j["rows"].size());
    CHECK_THAT(text.out, Catch::Contains(".sm_90") &&
                             Catch::Contains("on record: of " + rows + " of " + rows + " rows"));
    for (const auto& row : j["rows"])
        CHECK((row["stage_issues"] > 0) == (row["skeleton"] == "matvec"));
    const auto host = nlohmann::json::parse(w.run("instances --arch host --json").out);
    CHECK(host["rows_on_record"] == 0);
}

TEST_CASE("coverage shows the domain of an arch, which has no hole", "[command]") {
    workplace w;
    const outcome text = w.run("coverage --arch sm_90");
    CHECK_THAT(text.out, Catch::Contains("q4_K") && Catch::Contains("matvec"));
    const auto j = nlohmann::json::parse(w.run("coverage --arch sm_90 --json").out);
    for (const auto& line : j["formats"])
        for (const auto& cell : line["cells"]) {
            const bool whole = cell["served"] == cell["problems"];
            CHECK(cell["problems"] > 0);
            CHECK(cell["hole"] == (!whole && cell["absent"] == ""));
            CHECK(cell["hole"] == false);
        }
    CHECK(text.code == 0);
    CHECK_THAT(text.out, Catch::Contains("0 hole"));
    CHECK(w.run("coverage --arch sm_70").code == 2);
}

TEST_CASE("tune leaves a record that it goes on from, and says when nothing was measured",
          "[command]") {
    workplace w;
    const std::string tune =
        "tune --arch sm_90 --simulate 1 --formats q6_K --graphs '" CATENA_TEST_DATA
        "/graphs/qwen3-8b-q4km.tg1.json.gz' --out t.json";
    const outcome missing = w.run("tune --arch sm_90 --check-model --out t.json");
    CHECK(missing.code == 2);
    CHECK_THAT(missing.err, Catch::Contains("t.json is not there"));
    const outcome unknown = w.run("tune --arch sm_80 --check-model");
    CHECK(unknown.code == 0);
    CHECK_THAT(unknown.out, Catch::Contains("nothing was measured"));
    const outcome none = w.run(tune + " --time 1s");
    CHECK(none.code == 3);  // nothing is decided
    const outcome part = w.run(tune + " --resume --time 90s");
    CHECK(part.code == 0);
    CHECK_THAT(part.err, Catch::Contains("with --resume goes on"));
    const outcome rest = w.run(tune + " --time 2h --resume --rows rows.txt");
    CHECK(rest.code == 0);
    CHECK_THAT(rest.out, !Catch::Contains("undecided"));
    CHECK_THAT(content(w.path + "/rows.txt"), Catch::Contains("matvec.q6_K"));
    const std::string check = "tune --arch sm_90 --check-model --out t.json";
    CHECK_THAT(w.run(check).out, Catch::Contains("predicted over measured"));
    const std::string timed =
        " --registers '" CATENA_SOURCE_DIR "/bench/results/registers.sm_90.2026-11-26.txt'";
    CHECK(w.run(check + timed).code == 0);
    const outcome other = w.run("tune --arch sm_80 --check-model" + timed);
    CHECK(other.code == 2);
    CHECK_THAT(other.err, Catch::Contains("has no row of sm_80: name a record of its registers"));
    CHECK(w.run(check + " --registers none.txt").code == 2);
    CHECK(w.run("tune --arch sm_90 --list" + timed).code == 2);
}

TEST_CASE("tune without a GPU says what to do", "[command]") {
    workplace w;
    const outcome o = w.run("tune --arch sm_99 --simulate 1");
    CHECK(o.code == 2);
    CHECK_THAT(o.err, Catch::Contains("no arch is called 'sm_99'"));
}

TEST_CASE("verify proves the plans of graph files and says what it looked at", "[command]") {
    workplace w;
    const std::string graph = CATENA_TEST_DATA "/graphs/qwen3-8b-q4km.tg1.json.gz";
    const outcome text = w.run("verify " + graph);
    CHECK(text.code == 0);
    CHECK(text.err.empty());
    CHECK(text.out.find(", sm_90: proved\n") != std::string::npos);
    const outcome both = w.run("verify " + graph + " small.json --json --optimized");
    CHECK(both.code == 0);
    const auto all = nlohmann::json::parse(both.out)["graphs"];
    REQUIRE(all.size() == 2);
    for (const auto& one : all) {
        CHECK(one["proved"] == true);
        CHECK(one["results"] > 0);
    }
}

TEST_CASE("a graph file with a MOE_FFN is explained, run and proved", "[command]") {
    workplace w;
    const std::string graph = CATENA_TEST_DATA "/run/moe_ffn.json";
    const auto told = nlohmann::json::parse(w.run("explain " + graph + " --json").out);
    REQUIRE(told["steps"].size() == 3);
    for (const auto& step : told["steps"]) CHECK(step["nodes"].back() >= 2);  // of the file
    CHECK(told["launches"]["planned"] == 3);
    const outcome proved = w.run("verify " + graph);
    CHECK(proved.code == 0);
    CHECK_THAT(proved.out, Catch::Contains("3 steps and 0 nodes of the engine"));
    const outcome ran = w.run("run " + graph + " --host");
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("3 of 3 steps ran"));
}

TEST_CASE("verify tells a graph that overwrites a value from a wrong plan", "[command]") {
    workplace w;
    const std::string graph = CATENA_TEST_DATA "/small/overwrites_a_value.json";
    const outcome text = w.run("verify small.json " + graph);
    CHECK(text.code == 4);
    CHECK(text.err.empty());
    CHECK(text.out.find("small.json, sm_90: proved\n") == 0);
    CHECK_THAT(text.out,
               Catch::Contains(", sm_90: the graph is wrong: node 2 writes over tensor 2, "
                               "which node 5 still reads") &&
                   !Catch::Contains("the plan is wrong"));
    const outcome json = w.run("verify " + graph + " small.json --json");
    CHECK(json.code == 4);
    const auto all = nlohmann::json::parse(json.out)["graphs"];
    CHECK(all[1]["verdict"] == "proved");
    const auto& wrong = all[0];
    CHECK(wrong["verdict"] == "wrong graph");
    CHECK(wrong["proved"] == false);
    CHECK(wrong["node"] == 2);
    CHECK(wrong["reader"] == 5);
    CHECK(wrong["tensor"] == 2);
    CHECK(wrong["buffer"] == 1);
    CHECK(wrong["offset"] == 8192);
    CHECK(wrong["bytes"] == 64);
    CHECK(w.run("verify " + graph + " --optimized").code == 0);  // in memory of its own
}

TEST_CASE("verify refuses a graph without memory, and one that is not there", "[command]") {
    workplace w;
    auto bare = catena_test::small_graph();
    for (auto& t : bare["tensors"]) t["buf"] = -1;
    catena_test::write_file(w.path + "/bare.json", bare.dump());
    const outcome o = w.run("verify bare.json");
    CHECK(o.code == 2);
    CHECK(o.out.empty());
    CHECK(o.err.find("have no memory") != std::string::npos);
    CHECK(w.run("verify none.json").code == 2);
}
