#include "catena/engine/json.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"

#include <cstdio>
#include <cstring>
#include <string>

using namespace catena;
using catena_test::small_graph;

TEST_CASE("a graph file becomes tensors, names and an execution order", "[json]") {
    const json::graph g = json::parse(small_graph().dump(), "small.json");
    CHECK(g.model == "small");
    CHECK(g.case_name == "b2");
    CHECK(g.notes.empty());
    const graph_view view = g.view();
    REQUIRE(view.tensor_count == 9);
    REQUIRE(view.size() == 6);
    CHECK(view.node(0).kind == op::rms_norm);
    CHECK(view.node(1).src[1] == 1);
    CHECK(view.node(1).src[2] == no_tensor);
    CHECK(view.at(2).type == format::q4_K);
    CHECK(view.at(2).weight);
    CHECK(view.at(7).view_src == 6);
    CHECK(view.at(7).offset == 6 * 65536 + 128);
    CHECK(std::string(view.at(6).op_name) == "MUL_MAT");
    CHECK(std::string(view.at(6).name) == "node");
    float eps = 0;
    std::memcpy(&eps, view.node(0).params, sizeof eps);
    CHECK(eps == 1e-6f);
}

TEST_CASE("what was set aside for a tensor is read; in files of the first version it is nothing",
          "[json]") {
    auto text = small_graph();
    CHECK(json::parse(text.dump(), "old.json").tensors[6].allocated == 0);
    text["version"] = 2;
    text["tensors"][6]["alloc"] = 8192;
    const json::graph g = json::parse(text.dump(), "new.json");
    CHECK(g.tensors[6].allocated == 8192);
    CHECK(g.tensors[4].allocated == 0);
}

TEST_CASE("text in several gzip members is read as one", "[json]") {
    const std::string text = catena_test::small_graph().dump();
    const std::string path = catena_test::scratch("members.json.gz");
    std::string bytes = catena_test::gzipped("");
    for (const std::size_t at : {0, 1, 2})
        bytes += catena_test::gzipped(
            text.substr(at * text.size() / 3, (at + 1) * text.size() / 3 - at * text.size() / 3));
    catena_test::write_file(path, bytes);
    CHECK(json::read(path).nodes == json::parse(text, path).nodes);
    std::remove(path.c_str());
}

TEST_CASE("the same text is read plain and from gzip", "[json]") {
    const std::string text = small_graph().dump();
    for (const bool gzip : {false, true}) {
        const std::string path = catena_test::scratch(gzip ? "small.json.gz" : "small.json");
        catena_test::write_file(path, gzip ? catena_test::gzipped(text) : text);
        CHECK(json::read(path).nodes.size() == 6);
        std::remove(path.c_str());
    }
}

TEST_CASE("uses count every source edge of the file, twice when one node reads twice", "[json]") {
    const json::graph g = json::parse(small_graph().dump(), "small.json");
    CHECK(g.tensors[1].uses == 1);
    CHECK(g.tensors[5].uses == 1);
    CHECK(g.tensors[7].uses == 2);
    CHECK(g.tensors[8].uses == 0);
}

TEST_CASE("a slice sees its nodes only, but the uses of the whole file", "[json]") {
    const json::graph g = json::parse(small_graph().dump(), "small.json");
    const graph_view head = g.slice(0, 2);
    REQUIRE(head.size() == 2);
    CHECK(head.node(1).uses == 1);  // read by the RESHAPE that the slice does not hold
    const graph_view tail = g.slice(3, 6);
    CHECK(tail.node(0).kind == op::mul_mat);
    CHECK(tail.tensor_count == 9);
}

TEST_CASE("names live as long as any copy of the graph", "[json]") {
    json::graph copy;
    {
        const json::graph g = json::parse(small_graph().dump(), "small.json");
        copy = g;
    }
    CHECK(std::string(copy.tensors[8].name) == "node");
}

TEST_CASE("an unknown type or op is kept and noted once, with its count and first place",
          "[json]") {
    auto text = small_graph();
    text["tensors"][2]["type"] = "q9_Z";
    text["tensors"][8]["op"] = "FROBNICATE";
    const json::graph g = json::parse(text.dump(), "small.json");
    CHECK(g.tensors[2].type == format::unknown);
    CHECK(g.tensors[8].kind == op::other);
    CHECK(std::string(g.tensors[8].op_name) == "FROBNICATE");
    REQUIRE(g.notes.size() == 2);
    CHECK(g.notes[0] ==
          "type 'q9_Z' is not known (1 tensors, first 2): what reads or writes it stays "
          "with the engine");
    CHECK(g.notes[1] ==
          "op 'FROBNICATE' is not known (1 nodes, first 8): it stays with the engine");
}

TEST_CASE("a tensor without elements is no fault", "[json]") {
    auto text = small_graph();
    text["tensors"][7]["ne"] = {0, 2, 1, 1};
    text["tensors"][8]["ne"] = {0, 2, 1, 1};
    CHECK(json::parse(text.dump(), "small.json").nodes.size() == 6);
}
