// Keys of what a plan asks again: equal only where every field is.
#include "catena/plan/find/keys.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("two matmuls have one key only if nothing that their choice depends on differs",
          "[plan]") {
    graph_builder g;
    const auto product = g.matmul(format::q4_K, 64, g.input(format::f32, {512}));
    const graph_view view = g.view();
    const lone_matmul own(view, view.at(product), format_set::of(format::q8_1));
    CHECK(own == own);
    const auto differs = [&own](auto change) {
        lone_matmul other = own;
        change(other);
        return !(own == other);
    };
    CHECK(differs([](lone_matmul& m) { m.kind = op::mul_mat_id; }));
    CHECK(differs([](lone_matmul& m) { m.type = format::q6_K; }));
    CHECK(differs([](lone_matmul& m) { m.alignment /= 2; }));
    CHECK(differs([](lone_matmul& m) { m.layouts = format_set::of(format::f32); }));
    CHECK(differs([](lone_matmul& m) { ++m.k; }));
    CHECK(differs([](lone_matmul& m) { ++m.rows; }));
    CHECK(differs([](lone_matmul& m) { ++m.experts; }));
    CHECK(differs([](lone_matmul& m) { ++m.values; }));
    CHECK(differs([](lone_matmul& m) { ++m.slots; }));
    CHECK(differs([](lone_matmul& m) { ++m.tokens; }));
}

TEST_CASE("two sets of readers have one key only if family and formats are the same", "[plan]") {
    const format_set q4 = format_set::of(format::q4_K), q6 = format_set::of(format::q6_K);
    const read_set own{0, q4, q6};
    CHECK(own == own);
    CHECK_FALSE(own == read_set{1, q4, q6});
    CHECK_FALSE(own == read_set{0, q6, q6});
    CHECK_FALSE(own == read_set{0, q4, q4});
}
