// Weights that are RESHAPEs and VIEWs of a leaf, as where an engine cuts one matrix into Q, K and
// V.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

using namespace catena;
using namespace catena_test;

namespace {

plan proved(graph_builder& g) {
    const plan p = checked_plan(g, shipped_table());
    const verification v = verify(g.view(), p);
    CHECK(v.state.message == std::string());
    CHECK(v.proved);
    return p;
}

/// x -> norm x weight -> three matrices of 64 rows, which are views of one leaf: nodes 0 and 1,
/// then a VIEW and a MUL_MAT for each, from node 2 on.
struct one_leaf {
    static constexpr std::int64_t k = 512, rows = 64;
    static constexpr std::int64_t row = k / 32 * 34;
    graph_builder g;
    id all = g.weight(format::q8_0, {k, 3 * rows});
    id x, part[3];

    explicit one_leaf(std::int64_t columns = 1) {
        x = g.scaled_norm(g.input(format::f32, {k, columns}));
        for (int i = 0; i < 3; ++i) {
            part[i] = g.view(all, {k, rows}, i * rows * row);
            g.mul_mat(part[i], x);
        }
    }
};

/// As one_leaf, but each matrix is a leaf.
plan of_leaves(std::int64_t columns) {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {one_leaf::k, columns}));
    for (int i = 0; i < 3; ++i) g.mul_mat(g.weight(format::q8_0, {one_leaf::k, one_leaf::rows}), x);
    return proved(g);
}

const void* weight_of(const step_args& a, int member) {
    return a.kind == skeleton::matvec ? a.matvec.member[member].weight
                                      : a.matmul.member[member].weight;
}

}  // namespace

TEST_CASE("Q, K and V that are views of one leaf are planned as three leaves are",
          "[plan][weight_views]") {
    for (const std::int64_t columns : {1, 4, 40}) {
        one_leaf c(columns);
        const plan p = proved(c.g), leaves = of_leaves(columns);
        REQUIRE(p.steps().size() == leaves.steps().size());
        for (std::size_t i = 0; i < p.steps().size(); ++i) {
            CHECK(p.steps()[i].row == leaves.steps()[i].row);
            CHECK(p.steps()[i].what == leaves.steps()[i].what);
        }
        const step_args a = p.args(static_cast<int>(p.steps().size()) - 1, nullptr);
        for (int i = 0; i < 3; ++i) CHECK(weight_of(a, i) == c.g[c.part[i]].data);
    }
}

TEST_CASE("a view of a view, and a RESHAPE, of a leaf are weights", "[plan][weight_views]") {
    graph_builder g;
    const id all = g.weight(format::q8_0, {512, 64, 4});
    const id x = g.scaled_norm(g.input(format::f32, {512}));
    const id flat = g.reshape(all, {512, 256});
    const id half = g.view(flat, {512, 128}, 128 * one_leaf::row);
    g.mul_mat(g.view(half, {512, 64}, 64 * one_leaf::row), x);
    g.mul_mat(flat, x);
    CHECK(steps_of(proved(g)) == "5: 0 1 5 6");
}

TEST_CASE("some experts of a leaf are experts", "[plan][weight_views]") {
    graph_builder g;
    const id all = g.weight(format::q8_0, {512, 64, 8});
    const id x = g.other({g.input(format::f32, {512, 1, 1})});
    const id ids = g.input(format::i32, {2, 1});
    const id four = g.view(all, {512, 64, 4}, 4 * 64 * one_leaf::row);
    const id y = g.mul_mat_id(four, x, ids);
    const id biases = g.weight(format::f32, {64, 8});
    g.same_shape(op::add_id, y, {y, g.view(biases, {64, 4}, 4 * 64 * 4), ids});
    const plan p = proved(g);
    REQUIRE(steps_of(p) == "2:, 2: 2 4");
    const matvec_member m = p.args(1, nullptr).matvec.member[0];
    CHECK(m.experts == 4);
    CHECK(m.weight == g[four].data);
}

TEST_CASE("a norm's weight and a bias may be parts of a leaf", "[plan][weight_views]") {
    graph_builder g;
    const id vectors = g.weight(format::f32, {512, 3});
    const id norm = g.rms_norm(g.input(format::f32, {512}));
    const id x = g.mul(norm, g.view(vectors, {512}, 2048));
    const id y = g.mul_mat(g.weight(format::q8_0, {512, 512}), x);
    g.add(y, g.view(vectors, {512}, 4096));
    g.other({x});  // so that a launch of its own writes the norm
    const plan p = proved(g);
    CHECK(steps_of(p) == "2: 0 2, 3: 3 5");
    CHECK(p.args(0, nullptr).row.weight_early);
}

TEST_CASE("a view that is not aligned is served by a row that takes any alignment",
          "[plan][weight_views]") {
    graph_builder g;
    constexpr std::int64_t k = 544, row = k / 32 * 34;  // 578 bytes
    const id all = g.weight(format::q8_0, {k, 200});
    const id x = g.scaled_norm(g.input(format::f32, {k}));
    for (const std::int64_t first : {1, 65, 131}) g.mul_mat(g.view(all, {k, 63}, first * row), x);
    const plan p = proved(g);
    REQUIRE(steps_of(p) == "1: 0 1, 3: 3 5 7");
    const table rows = shipped_table();
    CHECK(rows.rows[p.steps()[1].row].policy.matvec().copy == copy_method::plain);
}

TEST_CASE("other parts of a leaf stay with the engine", "[plan][weight_views]") {
    one_leaf c;
    SECTION("a view with gaps between its rows") {
        c.g[c.part[1]].nb[1] *= 2;
        CHECK(left_why(proved(c.g), 5) == reason::weight_strided);
    }
    SECTION("the first halves of rows") {
        graph_builder g;
        const id half = g.view(g.weight(format::q8_0, {512, 64}), {256, 64});
        g[half].nb[1] = one_leaf::row;
        g.mul_mat(half, g.other({g.input(format::f32, {256})}));
        CHECK(left_why(proved(g), 2) == reason::weight_strided);
    }
    SECTION("a view of a leaf that is no weight") {
        c.g[c.all].weight = false;
        CHECK(left_why(proved(c.g), 3) == reason::weight_not_leaf);
    }
    SECTION("a view of a leaf that a node writes") {
        c.g.rename(c.g.node(op::other, format::f32, {64}, {c.g.nodes[7]}), c.all);
        options unproved;  // the proof calls the graph wrong, which writes over a weight
        unproved.verify = false;
        const plan p = planner(shipped_table(), unproved).plan(c.g.view());
        CHECK(left_why(p, 3) == reason::weight_not_leaf);
        CHECK(planner(shipped_table()).plan(c.g.view()).state().code == status_code::wrong_graph);
    }
    SECTION("a view of what a node makes") {
        graph_builder g;
        const id made =
            g.node(op::cont, format::q8_0, {512, 64}, {g.weight(format::q8_0, {512, 64})});
        g.mul_mat(g.view(made, {512, 32}), g.other({g.input(format::f32, {512})}));
        CHECK(left_why(checked_plan(g, shipped_table()), 3) == reason::weight_not_leaf);
    }
}

TEST_CASE("a better order takes the views of weights along", "[plan][weight_views]") {
    one_leaf c(4);
    const id between = c.g.other({c.g.nodes[3]});  // reads Q before K and V are made
    c.g.nodes.pop_back();
    c.g.nodes.insert(c.g.nodes.begin() + 4, between);
    const ordering better = optimize(c.g.view());
    REQUIRE(better.state.ok());
    const std::vector<std::int32_t> nodes = better.nodes(c.g.view());
    CHECK(nodes.back() == between);
}

TEST_CASE("the proof finds a view's matrix that is read elsewhere", "[plan][weight_views]") {
    one_leaf c;
    plan p = proved(c.g);
    plan_faults inside{p};
    SECTION("a row further on") {
        auto*& weight = inside.member(0, 1).weight;
        weight = static_cast<const std::byte*>(weight) + one_leaf::row;
    }
    SECTION("a view that is no weight") { c.g[c.all].weight = false; }
    CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
}
