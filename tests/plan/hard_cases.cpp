// The hard cases of real graphs, one by one; random/ meets them all at once.
#include "cases.hpp"

#include "random/tables.hpp"

using namespace catena;
using namespace catena_test;

namespace {

int covered_by(const plan& p, int position) { return p.at(position).step; }

}  // namespace

TEST_CASE("a norm whose result nobody reads is somebody's result", "[hard]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    g.rms_norm(x);
    g.scaled_norm(x);
    const plan p = checked_plan(g);
    CHECK(p.steps().size() == 0);
}

TEST_CASE("a norm that one MUL reads twice is no norm with a weight", "[hard]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512}));
    const id square = g.mul(norm, norm);
    g.matmul(format::q4_K, 64, square);
    const plan p = checked_plan(g);
    CHECK(covered_by(p, 0) < 0);
    CHECK(covered_by(p, 1) < 0);
    CHECK(covered_by(p, 2) >= 0);  // the square is quantized on its own
}

TEST_CASE("a strided reader keeps f32 and is not served", "[hard]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    const id half = c.g.view(c.mul, {256}, 1024);
    const id strided = c.g.matmul(format::q4_K, 64, half);
    const plan p = checked_plan(c.g);
    CHECK_FALSE(p.at(1).elided);
    REQUIRE(p.chains().size() >= 1);
    CHECK(p.chains()[0].f32_written);
    CHECK(covered_by(p, c.g.position(strided)) != covered_by(p, 2));
}

TEST_CASE("a norm row may be half an activation row, or hold two", "[hard]") {
    for (const bool merged : {true, false}) {
        CAPTURE(merged);
        graph_builder g;
        const id x = merged ? g.input(format::f32, {256, 2}) : g.input(format::f32, {1024});
        const id value = g.scaled_norm(x);
        g.matmul(format::q4_K, 64, g.reshape(value, {512, merged ? 1 : 2}));
        const plan p = checked_plan(g);
        REQUIRE(p.steps().size() == 2);
        CHECK(p.steps()[0].what.row().k == (merged ? 256 : 1024));
        CHECK(p.steps()[0].what.row().quant_k == 512);
    }
}

TEST_CASE("a weight of one dimension is a matrix of one row", "[hard]") {
    norm_case c;
    const id w = c.g.weight(format::q8_0, {512});
    c.g.mul_mat(w, c.mul);
    const plan p = checked_plan(c.g);
    REQUIRE(p.steps().size() == 2);
    CHECK(p.steps()[1].what.product().member[0].rows == 1);
}

TEST_CASE("tensors of no elements are left alone and keep nothing", "[hard]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 0});
    const id value = g.scaled_norm(x);
    g.matmul(format::q4_K, 64, value);
    CHECK(checked_plan(g).steps().size() == 0);

    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g.other({c.g.view(c.mul, {512, 0})});
    const plan p = checked_plan(c.g);
    CHECK(p.at(1).elided);
}

TEST_CASE("names may repeat: tensors are told apart by id", "[hard]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id first = g.scaled_norm(x);
    g.matmul(format::q4_K, 64, first);
    const id second = g.scaled_norm(x);
    g.matmul(format::q6_K, 64, second);
    graph_builder named = g;
    for (catena::tensor& t : named.tensors) t.name = "blk.0.attn_norm.weight";
    const plan p = checked_plan(named);
    CHECK(steps_of(p) == steps_of(checked_plan(g)));
    REQUIRE(p.chains().size() == 2);
    CHECK(p.chains()[0].activation == first);
    CHECK(p.chains()[1].activation == second);
    for (int i = 0; i < 4; ++i)  // each norm has the weight that its own MUL names
        if (p.args(i, nullptr).kind == skeleton::row)
            CHECK(p.args(i, nullptr).row.weight ==
                  named[named[i == 0 ? first : second].src[1]].data);
}

TEST_CASE("the MUL with its arguments swapped is the same step", "[hard]") {
    graph_builder g;
    const id norm = g.rms_norm(g.input(format::f32, {512}));
    const id w = g.weight(format::f32, {512});
    g.matmul(format::q4_K, 64, g.mul(w, norm));
    const plan p = checked_plan(g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2");
    CHECK(p.args(0, nullptr).row.weight == g[w].data);
}

TEST_CASE("a MUL that broadcasts a number, or the norm itself, is no weight", "[hard]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id by_one = g.mul(g.rms_norm(x), g.weight(format::f32, {1}));
    g.matmul(format::q4_K, 64, by_one);
    const id big = g.mul(g.input(format::f32, {512, 3}), g.rms_norm(x));
    g.matmul(format::q4_K, 64, big);
    const plan p = checked_plan(g);
    for (const int norm : {0, 3}) CHECK(covered_by(p, norm) < 0);
    CHECK(left_why(p, 0) != reason::none);
    CHECK(left_why(p, 3) != reason::none);
}

TEST_CASE("a weight that is no leaf is read when its writer is done", "[hard]") {
    SECTION("the norm's") {
        graph_builder g;
        const id norm = g.rms_norm(g.input(format::f32, {512}));
        const id made = g.other({g.weight(format::f32, {512})});
        g.matmul(format::q4_K, 64, g.mul(norm, made));
        const plan p = checked_plan(g);
        CHECK(covered_by(p, 0) < 0);
        CHECK(covered_by(p, 2) < 0);
    }
    SECTION("a matmul's") {
        norm_case c;
        const id made = c.g.node(op::cpy, format::q4_K, {512, 64}, {c.x});
        const id late = c.g.mul_mat(made, c.mul);
        c.g.matmul(format::q4_K, 64, c.mul);
        const plan p = checked_plan(c.g);
        CHECK(covered_by(p, c.g.position(late)) < 0);
        CHECK_FALSE(p.at(1).elided);
    }
}

TEST_CASE("OUTPUT on any node of a chain, a group or an epilogue is left behind", "[hard]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id sum = g.add(x, g.input(format::f32, {512}));
    const id value = g.scaled_norm(sum);
    const id gate = g.matmul(format::q4_K, 512, value);
    const id up = g.matmul(format::q4_K, 512, value);
    const id down = g.matmul(format::q6_K, 512, g.glu(gate, up));
    g.add(down, sum);
    for (const id n : std::vector<id>(g.nodes)) {
        graph_builder flagged = g;
        flagged[n].flags |= flag_output;
        CAPTURE(flagged.position(n));
        const graph_view view = flagged.view();
        const plan p = planner(shipped_table()).plan(view);
        CHECK(inconsistency(view, p) == "");
        CHECK(difference(view, p) == "");
        CHECK_FALSE(p.at(flagged.position(n)).elided);
    }
}

TEST_CASE("K that is no whole block of a reader's format is refused before it is multiplied",
          "[hard]") {
    graph_builder g;
    const id x = g.input(format::f32, {288});
    const id value = g.scaled_norm(x);
    const id w = g.weight(format::q8_0, {288, 64});
    g.mul_mat(w, value);
    CHECK(checked_plan(g).steps().size() == 2);
    g[w].type = format::q4_K;  // what an adapter might say by mistake
    const plan p = planner(toy_table()).plan(g.view());
    CHECK_FALSE(p.state().ok());
    CHECK(std::string(p.state().message).find("ne[0] is 288") != std::string::npos);
    CHECK(p.steps().size() == 0);
}

TEST_CASE("any number of columns is served, more than 8 by matmuls", "[hard]") {
    for (const std::int64_t columns : {1, 2, 3, 4, 5, 6, 7, 8, 9, 512}) {
        CAPTURE(columns);
        graph_builder g;
        const id value = g.scaled_norm(g.input(format::f32, {512, columns}));
        g.matmul(format::q4_K, 64, value);
        g.matmul(format::q6_K, 64, value);
        const graph_view view = g.view();
        const plan p = planner(shipped_table()).plan(view);
        CHECK(inconsistency(view, p) == "");
        CHECK(difference(view, p) == "");
        int matrices = 0;
        for (const step& s : p.steps()) {
            matrices += members_of(s.what);
            if (columns > 8) CHECK(s.what.kind() != skeleton::matvec);
        }
        CHECK(matrices == 2);
    }
}
