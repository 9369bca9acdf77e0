#include "count.hpp"

#include "catena/engine/json.hpp"

#include "catena_test/catch.hpp"
#include "given.hpp"
#include "small_graph.hpp"

#include <filesystem>
#include <string>

using namespace catena;
using namespace catena::tool;

namespace {

int wanted_norms(const wishes& w) {
    int n = 0;
    for (const activation& a : w.activations) n += a.scaled_norm;
    return n;
}

}  // namespace

TEST_CASE("a norm x weight that a quantized matmul reads through a reshape is wanted", "[count]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small");
    const wishes w = count(g.view());
    CHECK(w.scaled_norms == 1);
    REQUIRE(w.activations.size() == 1);
    CHECK(w.activations[0].tensor == 4);
    CHECK(w.activations[0].producer == "MUL(RMS_NORM)");
    CHECK(w.activations[0].readers == std::vector<std::int32_t>{3});
    CHECK(w.matmuls == 1);
    CHECK(w.launches_per_node == 5);  // RMS_NORM, MUL, MUL_MAT, ADD, and one quantize
}

TEST_CASE("a norm x weight that is viewed in part is not the matmul's activation", "[count]") {
    auto text = catena_test::small_graph();
    text["tensors"][5]["op"] = "VIEW";
    const wishes w = count(json::parse(text.dump(), "small").view());
    CHECK(w.scaled_norms == 1);
    CHECK(wanted_norms(w) == 0);
    REQUIRE(w.activations.size() == 1);
    CHECK(w.activations[0].producer == "VIEW");
}

TEST_CASE("a matrix that is no weight, or is not quantized, asks for nothing", "[count]") {
    auto text = catena_test::small_graph();
    text["tensors"][2]["weight"] = false;
    CHECK(count(json::parse(text.dump(), "small").view()).matmuls == 0);
    text = catena_test::small_graph();
    text["tensors"][2]["type"] = "f16";
    text["tensors"][2]["nb"] = {2, 1024, 65536, 65536};
    CHECK(count(json::parse(text.dump(), "small").view()).matmuls == 0);
}

TEST_CASE("nodes without elements, or not flagged for computation, launch nothing", "[count]") {
    auto text = catena_test::small_graph();
    text["tensors"][8]["flags"] = 0;
    CHECK(count(json::parse(text.dump(), "small").view()).launches_per_node == 4);
    text["tensors"][8]["flags"] = 16;
    text["tensors"][8]["ne"] = {0, 2, 1, 1};
    text["tensors"][7]["ne"] = {0, 2, 1, 1};
    CHECK(count(json::parse(text.dump(), "small").view()).launches_per_node == 4);
}

TEST_CASE("nothing is done where nothing was planned, and every matmul is listed with a reason",
          "[count]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small");
    const progress p = judge(g.view(), count(g.view()), explanation{});
    CHECK(p.norms_wanted == 1);
    CHECK(p.norms_emitted == 0);
    CHECK(p.all.quantized_once == 0);
    CHECK(p.launches == 5);
    REQUIRE(p.not_fused.size() == 1);
    CHECK(p.not_fused[0].node == 3);
    CHECK(p.not_fused[0].why == reason::no_chain);
}

TEST_CASE("an activation that two chains serve is not quantized once", "[count]") {
    auto text = catena_test::small_graph();
    auto second = text["tensors"][6];
    second["id"] = 9;
    second["off"] = 9 * 65536;
    text["tensors"].push_back(second);
    text["nodes"].push_back(9);
    const json::graph g = json::parse(text.dump(), "small");
    const wishes w = count(g.view());
    REQUIRE(w.activations.size() == 1);
    REQUIRE(w.activations[0].readers == std::vector<std::int32_t>{3, 6});
    explanation e;
    e.chains.resize(2);
    e.chains[0].stages = e.chains[1].stages = stage_set::of(stage_kind::rms_norm);
    e.chains[0].served = {3};
    e.chains[1].served = {6};
    CHECK(judge(g.view(), w, e).norms_emitted == 0);
    CHECK(judge(g.view(), w, e).all.quantized_once == 0);
    e.chains[0].served = {3, 6};
    e.chains[1].served = {};
    CHECK(judge(g.view(), w, e).norms_emitted == 1);
    e.chains[0].stages = {};  // a quantize of its own serves them: once, but not from the norm
    e.chains[0].made_by = 0;
    CHECK(judge(g.view(), w, e).norms_emitted == 0);
    CHECK(judge(g.view(), w, e).all.quantized_once == 1);
    CHECK(judge(g.view(), w, e).standalone == 1);
    e.chains[0].made_by = -1;  // their launch quantizes it
    CHECK(judge(g.view(), w, e).standalone == 0);
}

TEST_CASE("the given graphs hold as many norms times a weight as were counted by hand",
          "[count][graphs]") {
    struct known {
        const char* file;
        int total;
    };
    for (const known& k :
         {known{"qwen3.6-35b-a3b-q4km", 131}, known{"qwen3-30b-a3b-q4km", 193},
          known{"qwen3-8b-q4km", 145}, known{"llama-3.2-3b-q4km", 57},
          known{"llama-3.1-8b-q8_0", 65}, known{"gemma-3-4b-q4km", 205},
          known{"gpt-oss-20b-mxfp4", 49}, known{"phi-4-q4km", 81}, known{"olmo2-7b-q4km", 129}})
        for (const char* size : {".tg1", ".b4", ".pp512"}) {
            INFO(k.file << size);
            CHECK(count(given(std::string(k.file) + size).view()).scaled_norms == k.total);
        }
}

TEST_CASE("Qwen3.6 has 431 quantized matmuls that read 201 activations", "[count][graphs]") {
    const json::graph g = given("qwen3.6-35b-a3b-q4km.tg1");
    const wishes w = count(g.view());
    CHECK(w.matmuls == 431);
    CHECK(w.activations.size() == 201);
    CHECK(wanted_norms(w) == 80);
    const progress p = judge(g.view(), w, explanation{});
    const auto wants = [&](const char* producer) {
        const tally t = p.by_producer.at(producer);
        return std::pair{t.wanted, t.matmuls};
    };
    CHECK(wants("MUL(RMS_NORM)") == std::pair{80, 310});
    CHECK(wants("GLU/SWIGLU") == std::pair{80, 80});
    CHECK(wants("MUL(MUL, UNARY/SILU)") == std::pair{30, 30});
    CHECK(wants("MUL(FLASH_ATTN_EXT, UNARY/SIGMOID)") == std::pair{10, 10});
    CHECK(wants("GET_ROWS") == std::pair{1, 1});
}
