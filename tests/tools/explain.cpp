// What explain prints, of a small graph and of the given ones.
#include "output.hpp"
#include "report.hpp"
#include "tables.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <string>

using namespace catena;
using namespace catena::tool;

namespace {

nlohmann::json explained(const json::graph& g, const char* arch = "sm_90", bool verbose = false) {
    return nlohmann::json::parse(as_json(make_report(g, table_for(arch)), verbose));
}

bool only_listed_weights(const json::graph& g) {
    for (const tensor& t : g.tensors)
        if (t.weight && info(t.type).role == format_role::weight && t.type != format::q8_0 &&
            t.type != format::q4_0 && t.type != format::q4_K && t.type != format::q6_K)
            return false;
    return true;
}

}  // namespace

TEST_CASE("a small graph's one activation is emitted by its norm and read by its matmul",
          "[explain]") {
    const auto j = explained(json::parse(catena_test::small_graph().dump(), "small.json"));
    CHECK(j["graph"] ==
          nlohmann::json{{"model", "small"}, {"case", "b2"}, {"nodes", 6}, {"file", "small.json"}});
    CHECK(j["arch"] == "sm_90");
    CHECK(j["norm_scale"] == nlohmann::json{{"total", 1}, {"wanted", 1}, {"emitted", 1}});
    CHECK(j["activations"]["wanted"] == 1);
    CHECK(j["activations"]["matmuls"] == 1);
    CHECK(j["activations"]["quantized_once"] == 1);
    CHECK(j["activations"]["standalone"] == 0);
    CHECK(j["activations"]["by_producer"]["MUL(RMS_NORM)"]["quantized_once"] == 1);
    CHECK(j["launches"]["per_node"] == 5);
    CHECK(j["launches"]["planned"] == 3);  // norm, matvec, and the engine's ADD
    CHECK(j["launches"]["engine"] == nlohmann::json{{"ADD", 1}});
    CHECK(j["launches"]["saved"]["per_node"] == 2);
    CHECK(j["launches"]["saved"]["peer"] ==
          j["launches"]["peer"].get<int>() - j["launches"]["planned_engine_fused"].get<int>());
    const double steps_us =
        j["steps"][0]["predicted_us"].get<double>() + j["steps"][1]["predicted_us"].get<double>();
    const auto& predicted = j["predicted"];
    CHECK(predicted["steps_us"].get<double>() == Approx(steps_us));
    CHECK(predicted["engine_floor_us"] > 0);
    double parts_us = 0;
    for (const auto& [part, us] : predicted["model_us"].items()) parts_us += us.get<double>();
    CHECK(parts_us == Approx(steps_us));
    CHECK(j["steps"][1]["model_us"]["columns"] > 0);
    CHECK(j["steps"][0]["model_us"]["columns"] == 0);  // a row step waits for none
    // A cold stream slows what reads bytes, and no launch.
    const double all_us = steps_us + predicted["engine_floor_us"].get<double>();
    CHECK(predicted["cold_us"] > all_us);
    CHECK(predicted["cold_us"] < all_us / 0.6);
    CHECK(predicted["tokens"] == 2);
    CHECK(predicted["tokens_per_s"].get<double>() == Approx(2e6 / all_us));
    REQUIRE(j["steps"].size() == 2);
    CHECK(j["steps"][0]["nodes"] == nlohmann::json{0, 1});
    CHECK(j["steps"][1]["nodes"] == nlohmann::json{3});
    CHECK(j["steps"][0]["instance"].get<std::string>().find(".ggml.") != std::string::npos);
    CHECK(j["workspace_bytes"].get<int>() >= 2 * 512 / 32 * 36);
    CHECK(j["not_fused"].empty());
}

TEST_CASE("verbose adds every rejected row with its reason", "[explain]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small.json");
    const auto j = explained(g, "sm_90", true);
    const int rows = table_for("sm_90").row_count;
    for (const auto& step : j["steps"])
        CHECK(static_cast<int>(step["rejected"].size()) == rows - 1);
    CHECK_FALSE(explained(g)["steps"][0].contains("rejected"));
    CHECK_THAT(as_text(make_report(g, table_for("sm_90")), true), Catch::Contains("rejected rows"));
}

TEST_CASE("what is left has a reason and a sentence", "[explain]") {
    auto text = catena_test::small_graph();
    text["tensors"][6]["params"] = {0, 1};  // a transform hint
    const auto j = explained(json::parse(text.dump(), "small.json"));
    CHECK(j["norm_scale"]["wanted"] == 1);
    CHECK(j["norm_scale"]["emitted"] == 0);
    CHECK(j["launches"]["planned"] == 5);
    bool matmul_listed = false;
    for (const auto& left : j["not_fused"]) {
        CHECK_FALSE(left["reason"].get<std::string>().empty());
        CHECK_FALSE(left["sentence"].get<std::string>().empty());
        matmul_listed = matmul_listed || left["node"] == 3;
    }
    CHECK(matmul_listed);
}

TEST_CASE("matmuls of float weights are counted apart from the quantized ones", "[explain]") {
    auto text = catena_test::small_graph();
    text["tensors"][2]["type"] = "f16";
    text["tensors"][2]["nb"] = {2, 1024, 65536, 65536};
    const auto j = explained(json::parse(text.dump(), "small.json"));
    CHECK(j["activations"]["matmuls"] == 0);
    CHECK(j["float_weights"] == nlohmann::json{{"matmuls", 1}, {"served", 1}});
    CHECK(j["steps"][0]["nodes"] == nlohmann::json{0, 1});
    CHECK(j["steps"][1]["nodes"] == nlohmann::json{3});
    CHECK(j["workspace_bytes"] == 0);
}

TEST_CASE("an unknown type is left to the engine and noted", "[explain]") {
    auto text = catena_test::small_graph();
    text["tensors"][2]["type"] = "q9_Z";
    const auto j = explained(json::parse(text.dump(), "small.json"));
    CHECK(j["steps"].empty());
    REQUIRE(j["notes"].size() == 1);
    CHECK_THAT(j["notes"][0].get<std::string>(), Catch::Contains("type 'q9_Z' is not known"));
}

TEST_CASE("an arch without instances names those there are", "[explain]") {
    CHECK_THROWS_WITH(table_for("sm_42"), Catch::Contains("sm_42") && Catch::Contains("sm_90"));
}

TEST_CASE("text folds repeated steps into one line with their count", "[explain][graphs]") {
    const json::graph g = json::read(CATENA_TEST_DATA "/graphs/llama-3.2-3b-q4km.tg1.json.gz");
    const std::string text = as_text(make_report(g, table_for("sm_90")), false);
    CHECK_THAT(text, Catch::Contains("57 in the graph, 57 read by quantized matmuls, 57 emit"));
    CHECK(text.size() < 8000);
}

TEST_CASE("every given graph is explained: all that is wanted is done or listed",
          "[explain][graphs]") {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CATENA_TEST_DATA "/graphs")) {
        if (entry.path().extension() != ".gz") continue;
        ++files;
        const json::graph g = json::read(entry.path().string());
        INFO(g.file);
        const auto j = explained(g);
        std::set<int> listed, covered;
        for (const auto& left : j["not_fused"]) listed.insert(left["node"].get<int>());
        for (const auto& step : j["steps"])
            for (const auto& node : step["nodes"]) {
                CHECK(covered.insert(node.get<int>()).second);  // no node twice
                CHECK(node.get<int>() < g.view().size());
            }
        const wishes w = count(g.view());
        for (const activation& a : w.activations)
            for (const std::int32_t reader : a.readers)
                CHECK((covered.count(reader) || listed.count(reader)));
        CHECK(j["launches"]["peer"].get<int>() <= j["launches"]["per_node"].get<int>());
        CHECK(j["launches"]["planned"].get<int>() <= j["launches"]["per_node"].get<int>());
        if (g.case_name == "pp512" || !only_listed_weights(g)) continue;
        CHECK(j["norm_scale"]["emitted"] == j["norm_scale"]["wanted"]);
        for (const auto& [producer, t] : j["activations"]["by_producer"].items()) {
            INFO(producer);
            CHECK(t["quantized_once"] == t["wanted"]);
        }
    }
    CHECK(files == 27);
}

TEST_CASE("of Qwen3.6's 131 norms times a weight 80 are wanted and 80 emitted",
          "[explain][graphs]") {
    for (const std::string size : {"tg1", "b4"}) {
        const auto j = explained(
            json::read(CATENA_TEST_DATA "/graphs/qwen3.6-35b-a3b-q4km." + size + ".json.gz"));
        CHECK(j["norm_scale"] == nlohmann::json{{"total", 131}, {"wanted", 80}, {"emitted", 80}});
        CHECK(j["activations"]["matmuls"] == 431);
        CHECK(j["activations"]["wanted"] == 201);
        CHECK(j["activations"]["quantized_once"] == 201);
        // The output matrix quantizes its column itself if it has one.
        CHECK(j["activations"]["standalone"] == (size == "tg1" ? 0 : 1));
        CHECK(j["groups"] == nlohmann::json{{"wanted", 120},
                                            {"planned_before_alloc", 120},
                                            {"planned_after_alloc", 120},
                                            {"partial_after_alloc", 0}});
    }
}

TEST_CASE("text folds reasons that differ by node numbers alone, and keeps the number of one",
          "[explain][graphs]") {
    const json::graph g = json::read(CATENA_TEST_DATA "/graphs/qwen3.6-35b-a3b-q4km.tg1.json.gz");
    report r = make_report(g, table_for("sm_90"));
    r.done.not_fused = {{42, reason::group_split, "node 38 between them"},
                        {143, reason::group_split, "node 38 between them"},
                        {30, reason::overlap, "the step would pass node 7, and a node8 of 9"},
                        {244, reason::group_split, "node 51 between them"}};
    const std::string text = as_text(r, false);
    CHECK_THAT(text,
               Catch::Contains("1 x  RMS_NORM: the step would pass node 7, and a node8 of 9"));
    CHECK_THAT(text, Catch::Contains("a node between them"));
    CHECK_THAT(text, !Catch::Contains("node 38 between") && !Catch::Contains("node 51 between"));
}
