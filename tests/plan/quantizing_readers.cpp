// A value that one launch makes and another multiplies: which of them quantizes it.
#include "norm_table.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// A product that another product reads, as nodes 1 and 2, and a sum behind that, as node 3.
struct two_products {
    graph_builder g;
    std::int64_t columns;
    id x = g.input(format::f32, {512, columns});
    id made = g.other({x});
    id y = g.matmul(format::q8_0, 512, made);
    id z = g.matmul(format::q4_K, 512, y);
    id sum = g.add(z, x);

    explicit two_products(std::int64_t columns_of = 1) : columns(columns_of) {}
};

/// The launches of the products if the maker quantizes, and if the reader does.
struct both_ways {
    product_problem makes, reads, writes, quantizes;

    /// The step `maker` of the plan makes the value and quantizes it.
    explicit both_ways(const plan& p, int maker = 1)
        : makes(p.steps()[maker].what.product()), reads(p.steps()[maker + 1].what.product()) {
        writes = makes, quantizes = reads;
        problem_member& m = writes.member[0];
        m.epilogue = writes.needs.epilogue = m.epilogue.has(epilogue_part::glu)
                                                 ? epilogue_set::of(epilogue_part::glu)
                                                 : epilogue_set{};
        m.written = true;
        quantizes.needs.activation = format::f32;
    }
};

constexpr const char* of_steps = "1:, 1: 1, 2: 2 3";

/// Is y quantized by its maker? Then nobody writes it.
bool by_maker(const plan& p) {
    REQUIRE(steps_of(p) == of_steps);
    const bool quantizes = quantizes_inside(p.steps()[2].what);
    CHECK(quantizes == p.steps()[1].what.product().needs.epilogue.empty());
    CHECK(quantizes != p.at(1).elided);
    return !quantizes;
}

/// A table by whose medians the maker's way takes 10 us and the readers' way `us`.
norm_table measured(const both_ways& ways, float us) {
    norm_table t;
    t.measure(ways.makes, 6), t.measure(ways.reads, 4);
    t.measure(ways.writes, 2), t.measure(ways.quantizes, us - 2, t.normed_row());
    return t;
}

both_ways ways_of(two_products& c) {
    options bits;  // with which the maker quantizes
    bits.pick.same_bits = true;
    const plan p = norm_table().planned(c.g, bits);
    REQUIRE(by_maker(p));
    return both_ways(p);
}

}  // namespace

TEST_CASE("the reader of a value quantizes it where that takes less time", "[plan][norm]") {
    two_products c;
    const both_ways ways = ways_of(c);
    CHECK_FALSE(by_maker(measured(ways, 9.9f).planned(c.g)));
    CHECK(by_maker(measured(ways, 10.1f).planned(c.g)));
}

TEST_CASE("a median of one way decides nothing about who quantizes", "[plan][norm]") {
    two_products c;
    const both_ways ways = ways_of(c);
    REQUIRE(by_maker(norm_table().planned(c.g)));  // as predicted
    norm_table t;
    t.measure(ways.writes, 0.01f), t.measure(ways.quantizes, 0.01f, t.normed_row());
    CHECK(by_maker(t.planned(c.g)));
}

TEST_CASE("the maker quantizes a value that its readers cannot quantize in one launch",
          "[plan][norm]") {
    two_products plain;
    norm_table t = measured(ways_of(plain), 3);
    two_products c;
    REQUIRE_FALSE(by_maker(t.planned(c.g)));
    std::string steps = "1:, 1: 1, 2: 2 3";
    SECTION("since they read in two launches") {
        t.rows.push_back(row_of(normed_matvec_of(q8), normed_matvec));
        c.g.matmul(format::q8_0, 64, c.y);
        c.g.matmul(format::q4_K, 64, c.made);  // so that nobody quantizes what y is made of
        steps += ", 4: 4, 5: 5";
    }
    SECTION("since they are more than a launch has room for") {
        for (int i = 0; i < max_members; ++i) c.g.matmul(format::q4_K, 32, c.y);
        steps += " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18, 19: 19";
    }
    SECTION("since somebody reads its floats") { c.g.other({c.y}); }
    SECTION("since the sum lies where the value does, which they would still read") {
        c.g.share(c.sum, c.y);
    }
    SECTION("since it is not aligned to 16 bytes") {
        c.g.share(c.y, c.g.input(format::f32, {1024}), 4);
    }
    const plan p = t.planned(c.g);
    CHECK(steps_of(p) == steps);
    CHECK(p.steps()[1].what.product().needs.epilogue.has(epilogue_part::quantize));
}

TEST_CASE("the maker quantizes a value that is gone where its reader's launch may stand",
          "[plan][norm]") {
    two_products plain;
    const norm_table t = measured(ways_of(plain), 3);
    const bool gone = GENERATE(false, true);
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id y = g.matmul(format::q8_0, 512, g.other({x})), z = g.matmul(format::q4_K, 512, y);
    const id late = g.other({x});
    g.add(z, late);
    if (gone) g.share(late, y);
    const plan p = t.planned(g);
    CHECK(steps_of(p) == "1:, 1: 1, 4: 2 4");
    CHECK(p.at(1).elided == gone);
}

TEST_CASE("the maker quantizes a value whose memory it still reads", "[plan][norm]") {
    const auto planned = [](const norm_table& by, bool over_what_is_read) {
        graph_builder g;
        const id read = g.other({g.input(format::f32, {512})});
        const id gate = g.matmul(format::q4_K, 512, read), up = g.matmul(format::q4_K, 512, read);
        const id y = g.glu(gate, up);
        g.matmul(format::q4_K, 512, y);
        if (over_what_is_read) g.share(y, read);
        plan p = by.planned(g);
        REQUIRE(steps_of(p) == "1: 1 2 3, 4: 4");
        REQUIRE(quantizes_inside(p.steps()[0].what));
        return p;
    };
    const both_ways ways(planned(norm_table(), true), 0);
    const norm_table t = measured(ways, 9.9f);
    CHECK(quantizes_inside(planned(t, false).steps()[1].what));
    CHECK_FALSE(quantizes_inside(planned(t, true).steps()[1].what));
}

TEST_CASE("the maker quantizes a value for which a row step would take less time than its readers",
          "[plan][norm]") {
    two_products c;
    norm_table t = measured(ways_of(c), 9.9f);
    REQUIRE_FALSE(by_maker(t.planned(c.g)));
    t.target.node_us = 0.1;
    CHECK(by_maker(t.planned(c.g)));
}

TEST_CASE("the maker quantizes columns that no reader's kernel has", "[plan][norm]") {
    two_products c(normed_matvec.columns);
    CHECK_FALSE(by_maker(measured(ways_of(c), 9.9f).planned(c.g)));
    two_products more(normed_matvec.columns + 1);
    CHECK(by_maker(norm_table().planned(more.g)));
}

TEST_CASE("the maker quantizes beside others, and where the engine's times are known",
          "[plan][norm]") {
    two_products c;
    norm_table rows = measured(ways_of(c), 3);
    SECTION("beside others") {
        const id also = c.g.matmul(format::q8_0, 512, c.made);
        c.g.matmul(format::q4_K, 512, also);
        const plan p = rows.planned(c.g);
        CHECK(p.at(1).elided);
        CHECK(p.at(c.g.position(also)).elided);
    }
    SECTION("where the engine's times are known") {
        REQUIRE_FALSE(by_maker(rows.planned(c.g)));
        const engine_median other{1, 2, 1};
        table t = rows.get();
        t.engine = &other, t.engine_count = 1;
        CHECK(by_maker(checked_plan(c.g, t)));
    }
}
