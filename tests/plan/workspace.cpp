#include "catena/plan/workspace.hpp"

#include "cases.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("buffers that live together lie apart, others share", "[workspace]") {
    const packing p = pack({{100, 0, 5}, {300, 2, 8}, {100, 6, 9}, {600, 9, 9}}, 256);
    CHECK(p.offsets == std::vector<std::int64_t>{0, 256, 0, 256});
    CHECK(p.bytes == 1024);
}

TEST_CASE("a buffer takes the lowest gap that holds it", "[workspace]") {
    const packing p = pack({{256, 0, 9}, {256, 0, 1}, {256, 0, 9}, {512, 2, 9}, {200, 3, 9}}, 256);
    CHECK(p.offsets == std::vector<std::int64_t>{0, 256, 512, 768, 256});
    CHECK(p.bytes == 1280);
}

TEST_CASE("a buffer that is read last where another is born does not give it its bytes",
          "[workspace]") {
    CHECK(pack({{256, 0, 4}, {256, 4, 6}}, 256).bytes == 512);
    CHECK(pack({{256, 0, 4}, {256, 5, 6}}, 256).bytes == 256);
    CHECK(pack({}, 256).bytes == 0);
}

TEST_CASE("the layers of a graph reuse one workspace", "[workspace]") {
    graph_builder g;
    id x = g.input(format::f32, {512});
    for (int layer = 0; layer < 4; ++layer) x = g.matmul(format::q4_K, 512, g.scaled_norm(x));
    const plan p = checked_plan(g);
    CHECK(p.chains().size() == 4);
    CHECK(p.workspace_bytes() == 768);
}

TEST_CASE("activations that are alive together lie side by side", "[workspace]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id a = g.scaled_norm(x);
    const id b = g.scaled_norm(x);
    g.matmul(format::q4_K, 64, a);
    g.matmul(format::q4_K, 64, b);
    const plan p = checked_plan(g);
    CHECK(p.workspace_bytes() == 2 * 768);
    CHECK(p.chains()[0].workspace_offset != p.chains()[1].workspace_offset);
}
