// The floor of a graph's time: what must move, counted by hand.
#include "traffic.hpp"

#include "catena_test/catch.hpp"
#include "given.hpp"
#include "report.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace catena;
using namespace catena::tool;

TEST_CASE("a small graph's bytes are those of its operands", "[traffic]") {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small.json");
    const graph_view v = g.view();
    const std::int64_t x = 2 * 512 * 4, q8_1 = 2 * 512 / 32 * 36, product = 2 * 64 * 4;
    CHECK(node_bytes(v, v.node(0)) == 2 * x);                      // RMS_NORM
    CHECK(node_bytes(v, v.node(1)) == 2 * x + 512 * 4);            // MUL and its weight
    CHECK(node_bytes(v, v.node(2)) == 0);                          // RESHAPE
    CHECK(node_bytes(v, v.node(3)) == 64 * 288 + q8_1 + product);  // MUL_MAT
    CHECK(quantize_bytes(v, v.node(3)) == x + q8_1);
    const traffic all = one_by_one(v);
    CHECK(all.launches == 5);
    CHECK(all.bytes ==
          4 * x + 2048 + 64 * 288 + q8_1 + product + x + q8_1 + node_bytes(v, v.node(5)));
    arch a = *arch_named("sm_90");
    a.bytes_per_us = 1000;
    a.node_us = 2;
    CHECK(std::abs(all.attainable_us(a) - (10 + static_cast<double>(all.bytes) / 1000)) < 1e-9);
}

TEST_CASE("experts count as many matrices as columns ask for, lookups the rows looked up",
          "[traffic][graphs]") {
    const json::graph g = json::read(CATENA_TEST_DATA "/graphs/qwen3-30b-a3b-q4km.tg1.json.gz");
    for (int i = 0; i < g.view().size(); ++i) {
        const tensor& t = g.view().node(i);
        if (t.kind != op::mul_mat_id && t.kind != op::get_rows) continue;
        const tensor& first = g.view().at(t.src[0]);
        if (t.kind == op::mul_mat_id)
            CHECK(node_bytes(g.view(), t) < extent_bytes(first) / 128 * 9);
        if (t.kind == op::get_rows)
            CHECK(node_bytes(g.view(), t) <=
                  3 * std::max(extent_bytes(t), extent_bytes(first) / first.ne[1]) + 4096);
    }
}

TEST_CASE("a MOE_FFN reads the matrices of as many experts as its tokens can pick", "[traffic]") {
    json::graph g = json::read(CATENA_TEST_DATA "/run/moe_ffn.json");
    tensor& t = g.tensors[8];
    const std::int64_t x = 512 * 4, router = 512 * 16 * 4;
    const std::int64_t expert = 2 * 256 * 2 * 144 + 512 * 210;
    CHECK(node_bytes(g.view(), t) == 2 * x + router + 4 * expert);
    for (const auto& [chosen, read] : {std::pair{-1, 0}, {0, 0}, {16, 16}, {17, 16}}) {
        t.params[0] = chosen;
        CHECK(node_bytes(g.view(), t) == 2 * x + router + read * expert);
    }
}

TEST_CASE("a plan launches what the report says, and moves no more than the engine alone",
          "[traffic][graphs]") {
    for (const char* name : {"qwen3.6-35b-a3b-q4km.tg1", "llama-3.1-8b-q8_0.b4"}) {
        INFO(name);
        const json::graph g = given(name);
        const report r = make_report(g, table_for("sm_90"));
        const traffic before = one_by_one(g.view()), after = planned(g.view(), r.plan);
        CHECK(before.launches == r.wanted.launches_per_node);
        CHECK(after.launches == r.done.launches);
        CHECK(after.bytes < before.bytes);
        CHECK(after.bytes > before.bytes / 2);  // the weights are the same
    }
}
