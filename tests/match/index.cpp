#include "catena/match/detail/index.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include <algorithm>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// Two matmuls of a norm, and a third of the first one's result.
struct indexed_case {
    graph_builder g;
    id x = g.input(format::f32, {512});
    id mul = g.scaled_norm(x);
    id first = g.matmul(format::q4_K, 256, mul);
    id second = g.matmul(format::q6_K, 64, mul);
    id third = g.matmul(format::q4_K, 32, first);
};

struct edge_of {
    std::int32_t node, tensor, slot;
    bool operator==(const edge_of& o) const {
        return node == o.node && tensor == o.tensor && slot == o.slot;
    }
};

std::vector<edge_of> reads(const graph_index& index) {
    std::vector<edge_of> out;
    for (std::int32_t n = 0; n < index.view.node_count; ++n)
        for (const read_edge& r : index.reads(n)) out.push_back({n, r.tensor, r.slot});
    return out;
}

std::vector<edge_of> readers(const graph_index& index) {
    std::vector<edge_of> out;
    for (std::int32_t t = 0; t < index.view.tensor_count; ++t)
        for (const use& u : index.readers(t)) out.push_back({u.node, t, u.slot});
    return out;
}

}  // namespace

TEST_CASE("an index put in another order is that of the view in that order", "[index]") {
    indexed_case c;
    graph_view view = c.g.view();
    graph_index turned;
    REQUIRE(turned.build(view).ok());
    std::vector<std::int32_t> nodes(view.nodes, view.nodes + view.node_count);
    std::swap(nodes[3], nodes[4]);  // the second matmul runs last
    REQUIRE(turned.order(nodes.data()).ok());

    view.nodes = nodes.data();
    graph_index built;
    REQUIRE(built.build(view).ok());
    CHECK(reads(turned) == reads(built));
    CHECK(readers(turned) == readers(built));
    CHECK(turned.launches() == built.launches());
    CHECK(turned.matmuls().size() == 3);
    for (std::size_t m = 0; m < built.matmuls().size(); ++m)
        CHECK(turned.matmuls()[m].node == built.matmuls()[m].node);
    for (std::int32_t t = 0; t < view.tensor_count; ++t) {
        CHECK(turned.position(t) == built.position(t));
        CHECK(turned.live_until(t) == built.live_until(t));
        CHECK(turned.read_outside(t) == built.read_outside(t));
    }
    CHECK(turned.live_until(c.mul) == 4);

    std::reverse(nodes.begin(), nodes.end());
    CHECK_FALSE(turned.order(nodes.data()).ok());
}

TEST_CASE("a source behind empty slots is read as any other", "[index]") {
    indexed_case c;
    c.g[c.third].src[max_src - 1] = c.second;
    graph_index index;
    REQUIRE(index.build(c.g.view()).ok());
    CHECK(index.reader_count(c.second) == 1);
    CHECK(index.readers(c.second)[0].slot == max_src - 1);
    CHECK(index.reads(index.position(c.third)).size() == 2);
}

TEST_CASE("a leaf that others read, too, may die behind its last reader", "[index]") {
    graph_builder g;
    const id leaf = g.input(format::f32, {64});
    const id made = g.other({leaf});
    g.other({made});
    g.read_outside(leaf);  // perhaps by nodes in front of the view
    g.read_outside(made);  // by nodes behind it
    graph_index built;
    REQUIRE(built.build(g.view()).ok());
    CHECK(built.live_until(leaf) == 0);
    CHECK(built.live_until(made) == graph_index::forever);
}

TEST_CASE("a matmul is listed with what its value and its weight are like", "[index]") {
    indexed_case c;
    c.g[c.second].flags = 0;  // the engine does not compute it
    graph_index index;
    REQUIRE(index.build(c.g.view()).ok());
    REQUIRE(index.matmuls().size() == 3);
    const matmul_read &first = index.matmuls()[0], &second = index.matmuls()[1];
    CHECK(first.value == c.mul);
    CHECK(first.k == 512);
    CHECK(first.weight == format::q4_K);
    CHECK(first.quantized);
    CHECK(second.weight == format::q6_K);
    CHECK_FALSE(second.quantized);
}
