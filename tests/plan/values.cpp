// Values of the proof: another number makes another value.
#include "catena/plan/detail/verify/routing_values.hpp"
#include "catena/plan/detail/verify/value.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

using namespace catena::proof;

namespace {

const value a = single(1), b = single(2), c = single(3);

}  // namespace

TEST_CASE("rows that are stored by ids of 64 bits are not those by ids of 32", "[verify]") {
    using catena::format;
    const value by_32 = stored(a, b, format::f16, 7, false);
    CHECK(by_32 == stored(a, b, format::f16, 7, false));
    CHECK(by_32 != stored(a, b, format::f16, 7, true));
    CHECK(by_32 != stored(a, b, format::f16, 8, false));
    CHECK(by_32 != stored(a, b, format::bf16, 7, false));
    CHECK(by_32 != stored(a, c, format::f16, 7, false));
    CHECK(by_32 != stored(c, b, format::f16, 7, false));
}

TEST_CASE("a value that is masked depends on the number, the rows, the ids and both sizes",
          "[verify]") {
    const value own = masked(0, a, b, 4, 8);
    CHECK(own == masked(0, a, b, 4, 8));
    CHECK(own != masked(1, a, b, 4, 8));
    CHECK(own != masked(0, c, b, 4, 8));
    CHECK(own != masked(0, a, c, 4, 8));
    CHECK(own != masked(0, a, b, 5, 8));
    CHECK(own != masked(0, a, b, 4, 9));
}

TEST_CASE("the value of a node that no op of routing is, or of other shapes, is opaque",
          "[verify]") {
    using catena::format, catena::op;
    catena_test::graph_builder g;
    const auto rows = g.input(format::f32, {4, 2, 3}), ids = g.input(format::i32, {2, 3});
    const auto filled = g.node(op::fill, format::f32, {4, 8, 3}, {});
    const auto written = g.node(op::set_rows, format::f32, {4, 8, 3}, {rows, ids, filled});
    const auto sum = g.add(rows, rows);
    const value opaque = single(9);
    const auto value_of = [&](catena_test::id node) {
        return routing_value(g.view(), g[node], opaque, [](int slot) { return slot == 0 ? a : b; });
    };
    CHECK(value_of(written) == masked(0, a, b, 4, 8));
    CHECK(value_of(sum) == opaque);
    g[ids].type = format::i64;
    CHECK(value_of(written) == opaque);
}

TEST_CASE("a row that is picked of the only row of a node is that row, others depend on the ids",
          "[verify]") {
    using catena::format, catena::op;
    const bool made = GENERATE(false, true);
    const std::int64_t rows = GENERATE(1, 2), picks = GENERATE(1, 2);
    CAPTURE(made, rows, picks);
    catena_test::graph_builder g;
    const auto leaf = g.input(format::f32, {8, rows}), ids = g.input(format::i32, {picks});
    const auto all = made ? g.add(leaf, leaf) : leaf;
    const auto picked = g.node(op::get_rows, format::f32, {8, picks}, {all, ids});
    const auto value_by = [&](const value& by) {
        return routing_value(g.view(), g[picked], single(9),
                             [&](int slot) { return slot == 0 ? a : by; });
    };
    const bool only = made && rows == 1 && picks == 1;
    CHECK((value_by(b) == a) == only);
    CHECK((value_by(b) == value_by(c)) == only);
}
