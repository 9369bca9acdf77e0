// Norms that matrices of float weights make, of one column in passing: routers of models with
// experts, whose launch writes the norm for all who read it behind them.
#include "catena/plan/explain.hpp"
#include "catena/plan/verify.hpp"

#include "cases.hpp"
#include "faults.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row passing_row() {
    row r = row_of(matvec_of_floats, float_matvec);
    r.computes.product().stages = stage_kind::rms_norm | stage_kind::mul_weight;
    r.computes.product().emits = format_set::of(format::f32) | format::q8_1;
    r.policy.matvec().columns = 1;
    r.policy.matvec().placement = norm_placement::passing;
    r.order = order_of(r.policy);
    return r;
}

/// Its two columns are normed together.
constexpr row together_row() {
    row r = passing_row();
    r.policy.matvec().columns = 2;
    r.policy.matvec().activation = activation_source::shared;
    r.policy.matvec().placement = norm_placement::deferred;
    r.order = order_of(r.policy);
    return r;
}

/// Quantized weights', of two columns.
constexpr row deferred_row() {
    row r = passing_row();
    r.computes.product().weights = format_set::of(format::q4_K);
    r.computes.product().activation = format::q8_1;
    r.computes.product().emits = {};
    r.policy.matvec().columns = 2;
    r.policy.matvec().activation = activation_source::shared;
    r.policy.matvec().product = inner_product::dp4a;
    r.policy.matvec().placement = norm_placement::deferred;
    return r;
}

/// The invented table with rows that make norms of floats, and one that quantizes them.
plan planned_passing(graph_builder& g, const options& asked = {}) {
    static const std::vector<row> rows = [] {
        std::vector<row> out(std::begin(toy_rows), std::end(toy_rows));
        out.push_back(passing_row());
        out.push_back(together_row());
        out.push_back(deferred_row());
        return out;
    }();
    table t = toy_table();
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    t.device = toy_arch;
    t.device->bytes_per_us = 91e3, t.device->cycles_per_us = 1980;  // four SMs of an H100
    return checked_plan(g, t, asked);
}

/// A router and a matrix that is quantized read the norm, as nodes 2 and 3.
struct routed : norm_case {
    id router = g.matmul(format::f32, 8, mul), q = g.matmul(format::q4_K, 64, mul);
};

constexpr format_set both = format_set::of(format::f32) | format::q8_1;

}  // namespace

TEST_CASE("a router's launch makes its norm, and quantizes it for the others", "[plan][norm]") {
    routed c;
    const plan p = planned_passing(c.g);
    CHECK(steps_of(p) == "2: 0 1 2, 3: 3");
    CHECK((p.at(0).elided && p.at(1).elided && !p.at(2).elided));
    CHECK(p.left().size() == 0);
    alignas(256) static std::byte workspace[1 << 12];
    const matvec_args made = p.args(0, workspace).matvec, read = p.args(1, workspace).matvec;
    CHECK(made.x == c.g[c.x].data);
    CHECK(made.norm_weight == c.g[c.g[c.mul].src[1]].data);
    CHECK(made.eps == 1e-6f);
    CHECK(made.norm_f32 == nullptr);
    CHECK(made.norm_q8_1 == workspace);
    CHECK(read.x == workspace);
    CHECK(read.norm_q8_1 == nullptr);
    REQUIRE(p.steps()[0].config.threads * 4 * 2 == static_cast<unsigned>(made.k));
    CHECK(p.steps()[0].config.blocks == static_cast<unsigned>(made.bands) + 2);
    CHECK(p.steps()[0].what.product().needs.emits == format_set::of(format::q8_1));
    const explanation e = p.explain();
    CHECK(e.chains[0].placement == norm_placement::passing);
    CHECK(!e.chains[0].from_epilogue);
    CHECK(!e.chains[0].f32_written);
}

TEST_CASE("a router's launch writes its norm for those who read it as it is", "[plan][norm]") {
    routed c;
    SECTION("a node of the engine") {
        c.g.other({c.mul});
        const plan p = planned_passing(c.g);
        CHECK(steps_of(p) == "2: 0 1 2, 3: 3");
        CHECK(p.steps()[0].what.product().needs.emits == both);
        CHECK(p.args(0, nullptr).matvec.norm_f32 == c.g[c.mul].data);
        CHECK(!p.at(1).elided);
    }
    SECTION("a node outside the graph") {
        c.g.read_outside(c.mul);
        CHECK(planned_passing(c.g).steps()[0].what.product().needs.emits == both);
    }
    SECTION("a matrix of float weights that memory keeps from the launch") {
        const id late = c.g.input(format::f32, {8});
        c.g.share(c.g.other({late}), c.router);
        c.g.share(c.g.matmul(format::f32, 8, c.mul), late);
        const plan p = planned_passing(c.g);
        CHECK(steps_of(p) == "2: 0 1 2, 3: 3, 5: 5");
        CHECK(p.steps()[0].what.product().needs.emits == both);
        CHECK(p.args(2, nullptr).matvec.x == c.g[c.mul].data);
        CHECK(p.args(2, nullptr).matvec.norm_weight == nullptr);
    }
}

TEST_CASE("a router's launch makes the norms of several columns, and writes them", "[plan][norm]") {
    for (const bool read_besides : {false, true}) {
        graph_builder g;
        const id y = g.scaled_norm(g.input(format::f32, {512, 2}));
        const id router = g.matmul(format::f32, 8, y);
        g.matmul(format::q4_K, 64, y);
        if (read_besides) g.other({y});
        const plan p = planned_passing(g);
        CHECK(p.steps().size() == 2);
        const std::int32_t made_by = p.at(g.position(router)).step;
        REQUIRE(made_by == p.at(g.position(y)).step);
        alignas(256) static std::byte workspace[1 << 12];
        const matvec_args a = p.args(made_by, workspace).matvec;
        CHECK(a.columns == 2);
        CHECK(a.x_bytes == 4 * 512);
        CHECK(a.norm_q8_1 == workspace);
        CHECK(a.norm_f32 == (read_besides ? g[y].data : nullptr));
        const step& s = p.steps()[static_cast<std::size_t>(made_by)];
        CHECK(s.config.blocks == static_cast<unsigned>(a.bands) + 2 * 2);
        CHECK(p.explain().chains[0].placement == norm_placement::deferred);
    }
}

TEST_CASE("the proof wants a norm of floats to have its weight, and a row that writes it",
          "[plan][norm]") {
    const auto said = [](const auto& change) -> std::string {
        graph_builder g;
        const id y = g.scaled_norm(g.input(format::f32, {512, 2}));
        g.matmul(format::f32, 8, y);
        g.matmul(format::q4_K, 64, y);
        plan p = planned_passing(g);
        REQUIRE(p.steps().size() == 2);
        change(plan_faults{p});
        return verify(g.view(), p).state.message;
    };
    CHECK(said([](plan_faults) {}) == "");
    CHECK_THAT(said([](plan_faults f) { f.head(0).norm_weight = nullptr; }),
               Catch::Contains("the weight of a norm is missing"));
    CHECK_THAT(said([](plan_faults f) { f.head(0).k -= 4; }),
               Catch::Contains("elements of a column are no multiple of what its kernel takes"));
    static float elsewhere[2 * 512];
    CHECK_THAT(said([](plan_faults f) { f.head(1).norm_f32 = elsewhere; }),
               Catch::Contains("the norm is nothing that its row writes"));
}

TEST_CASE("a norm that float weights alone read is written by nobody", "[plan][norm]") {
    norm_case c;
    c.g.matmul(format::f32, 8, c.mul);
    c.g.matmul(format::f16, 8, c.mul);
    const plan p = planned_passing(c.g);
    CHECK(steps_of(p) == "2: 0 1 2 3");
    CHECK(p.steps()[0].what.product().needs.emits.empty());
    CHECK(p.steps()[0].config.blocks == static_cast<unsigned>(p.args(0, nullptr).matvec.bands));
    CHECK(p.workspace_bytes() == 0);
}

TEST_CASE("a router reads a norm that is made before it", "[plan][norm]") {
    const auto why = [](const plan& p) {
        CHECK(steps_of(p).starts_with("1: 0 1"));
        return p.chains()[0].norm_apart.why;
    };
    SECTION("where what is quantized is read before the router") {
        norm_case c;
        c.g.matmul(format::q4_K, 64, c.mul);
        const id late = c.g.input(format::f32, {8});
        c.g.share(c.g.other({late}), c.x);
        c.g.share(c.g.matmul(format::f32, 8, c.mul), late);
        CHECK(why(planned_passing(c.g)) == reason::norm_split);
    }
    SECTION("where what is quantized is read before the router's result has room") {
        norm_case c;
        c.g.matmul(format::q4_K, 64, c.mul);
        const id late = c.g.input(format::f32, {8});
        c.g.other({late});
        c.g.share(c.g.matmul(format::f32, 8, c.mul), late);
        CHECK(why(planned_passing(c.g)) == reason::norm_split);
    }
    SECTION("where every number of columns must give the same bits") {
        options asked;
        asked.pick.same_bits = true;
        routed c;
        CHECK(why(planned_passing(c.g, asked)) == reason::same_bits);
    }
    SECTION("of more columns than a launch has") {
        graph_builder g;
        const id y = g.scaled_norm(g.input(format::f32, {512, 3}));
        g.matmul(format::f32, 8, y);
        CHECK(why(planned_passing(g)) == reason::no_norm_inside);
    }
    SECTION("whose rows do not lie next to each other") {
        graph_builder g;
        const id y = g.scaled_norm(g.input(format::f32, {512, 2}));
        g.matmul(format::f32, 8, y);
        for (const id t : {g[y].src[0], y})
            g[t].nb[1] += 64, g[t].nb[2] = g[t].nb[3] = 2 * g[t].nb[1];
        CHECK(why(planned_passing(g)) == reason::no_norm_inside);
    }
    SECTION("of heads that the router reads as one row") {
        graph_builder g;
        const id y = g.scaled_norm(g.input(format::f32, {256, 2}));
        g.matmul(format::f32, 8, g.reshape(y, {512}));
        CHECK(why(planned_passing(g)) == reason::no_norm_inside);
    }
    SECTION("where it is written over its input, which other blocks still read") {
        norm_case c;
        c.g.share(c.mul, c.x);
        c.g.matmul(format::f32, 8, c.mul);
        c.g.other({c.mul});
        CHECK(why(planned_passing(c.g)) == reason::norm_split);
    }
}
