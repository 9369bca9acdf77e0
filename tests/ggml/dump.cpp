// Graphs of ggml written as graph files and read again.
#include "model.hpp"

#include "catena/engine/ggml/dump.hpp"
#include "catena/engine/json.hpp"

#include "catena_test/catch.hpp"

#include <ggml-alloc.h>

#include <algorithm>
#include <string>

namespace {

using namespace catena_test;
using catena::tensor;
using catena::ggml::view_builder;

constexpr catena::ggml::origin here{"tiny", "llama", "tg1", "Q4_K_M", "a test"};

void check_equal(const tensor& a, const tensor& b) {
    CAPTURE(a.name);
    CHECK(a.kind == b.kind);
    CHECK(a.sub == b.sub);
    CHECK(a.type == b.type);
    CHECK(a.flags == b.flags);
    CHECK(a.weight == b.weight);
    CHECK(std::equal(a.ne, a.ne + 4, b.ne));
    CHECK(std::equal(a.nb, a.nb + 4, b.nb));
    CHECK(std::equal(a.src, a.src + catena::max_src, b.src));
    CHECK(a.view_src == b.view_src);
    CHECK(std::equal(a.params, a.params + 16, b.params));
    CHECK(a.buffer == b.buffer);
    CHECK(a.offset == b.offset);
    CHECK(a.uses == b.uses);
    CHECK(std::string(a.name) == b.name);
    CHECK(std::string(a.op_name) == b.op_name);
}

void check_round_trip(const view_builder& built) {
    const catena::json::graph read = catena::json::parse(catena::ggml::dump(built, here), "dumped");
    const catena::graph_view a = built.view();
    const catena::graph_view b = read.view();
    REQUIRE(a.tensor_count == b.tensor_count);
    REQUIRE(a.size() == b.size());
    CHECK(std::equal(a.nodes, a.nodes + a.node_count, b.nodes));
    for (std::int32_t i = 0; i < a.tensor_count; ++i) check_equal(a.at(i), b.at(i));
}

TEST_CASE("A dumped graph is read as the view that it was, before and after allocation", "[ggml]") {
    architecture mixture;
    mixture.experts = 4;
    mixture.used = 2;
    mixture.flash = mixture.head_norms = true;
    for (const architecture& a : {architecture{}, mixture}) {
        const model m{a};
        const graph g(m, 3);
        catena::ggml::knowledge engine;
        engine.whole_graph = true;
        view_builder b;
        REQUIRE(b.build(g.cgraph(), engine).ok());
        check_round_trip(b);
        const ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
        REQUIRE(ggml_gallocr_alloc_graph(allocator.get(), g.cgraph()));
        REQUIRE(b.build(g.cgraph(), engine).ok());
        check_round_trip(b);
    }
}

TEST_CASE("A dumped slice is a graph that stands alone", "[ggml]") {
    const model m{architecture{}};
    const graph g(m, 1);
    view_builder b;
    for (int first = 0; first < g.size(); first += 9) {
        std::vector<ggml_tensor*> nodes;
        for (int i = first; i < std::min(first + 9, g.size()); ++i) nodes.push_back(g.node(i));
        REQUIRE(b.build(nodes.data(), static_cast<int>(nodes.size())).ok());
        const catena::json::graph read = catena::json::parse(catena::ggml::dump(b, here), "slice");
        CHECK(read.nodes.size() == nodes.size());
    }
}

TEST_CASE("A dump says where its graph comes from", "[ggml]") {
    const model m{architecture{}};
    const graph g(m, 1);
    view_builder b;
    REQUIRE(b.build(g.cgraph()).ok());
    const catena::json::graph read = catena::json::parse(catena::ggml::dump(b, here), "dumped");
    CHECK(read.model == "tiny");
    CHECK(read.arch == "llama");
    CHECK(read.case_name == "tg1");
    CHECK(read.quant == "Q4_K_M");
    CHECK(read.notes.empty());
}

TEST_CASE("Any name can be dumped", "[ggml]") {
    const ggml_context_ptr c(
        ggml_init({8 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
    ggml_tensor* x = ggml_new_tensor_1d(c.get(), GGML_TYPE_F32, 8);
    ggml_set_name(x, "a \"quoted\\\" name\n of gr\xc3\xb6\xc3");
    ggml_cgraph* g = ggml_new_graph(c.get());
    ggml_build_forward_expand(g, ggml_sqr(c.get(), x));
    view_builder b;
    REQUIRE(b.build(g).ok());
    const catena::json::graph read = catena::json::parse(catena::ggml::dump(b, here), "dumped");
    CHECK(std::string(read.tensors[0].name) == "a \"quoted\\\" name\n of gr\u00c3\u00b6\u00c3");
    CHECK(std::string(read.tensors[1].op_name) == "SQR");
}

}  // namespace
