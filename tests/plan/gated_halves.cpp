// The halves of one matrix's results, of which one gates the other: read as one tensor or by two
// views, of a dense matrix or of experts.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

/// Matrices of gate and up in one, which read what a norm made, and the matrix behind them.
struct halves_case : norm_case {
    static constexpr std::int64_t experts = 8, used = 3, inner = 256;
    std::int64_t tokens;
    id both = no_tensor, value = no_tensor;

    explicit halves_case(std::int64_t n = 1) : norm_case(), tokens(n) {
        if (n != 1) {
            g = graph_builder();
            x = g.input(format::f32, {512, n});
            mul = g.scaled_norm(x);
        }
    }
    id ids() { return g.input(format::i32, {used, tokens}); }
    id of_experts() {
        const id column = g.reshape(mul, {512, 1, tokens});
        const id weights = g.weight(format::q4_K, {512, 2 * inner, experts});
        return both = g.mul_mat_id(weights, column, ids());
    }
    id dense() { return both = g.matmul(format::q4_K, 2 * inner, mul); }
    id gated(bool views, bool swapped) {
        return value = views ? g.glu_of_views(both, swapped) : g.glu_of_halves(both, swapped);
    }

    plan planned() { return checked_plan(g, shipped_table()); }
    /// Does the launch of the matrices gate their results?
    bool inside(const plan& p) {
        const std::int32_t s = p.at(g.position(both)).step;
        return s >= 0 && p.at(g.position(value)).step == s;
    }
    const tensor& weight() { return g[g[both].src[0]]; }
    std::int64_t half() { return inner * weight().nb[1]; }
    /// The argument of the matrices, whose launch gates their results.
    matvec_member gated_inside(bool swapped) {
        const plan p = planned();
        REQUIRE(inside(p));
        CHECK(p.at(g.position(both)).elided);
        const auto* const first = static_cast<const std::byte*>(weight().data);
        const matvec_member m = member(p);
        CHECK(m.rows == inner);
        CHECK(m.weight == first + (swapped ? half() : 0));
        CHECK(m.up == first + (swapped ? 0 : half()));
        return m;
    }
    /// The argument of the matrices.
    matvec_member member(const plan& p) {
        const step_args a = p.args(p.at(g.position(both)).step, nullptr);
        return a.kind == skeleton::matvec ? a.matvec.member[0] : a.matmul.member[0];
    }
};

/// A value read by two views of `rows` of its rows' elements, from two bytes on.
id gated_by_views(graph_builder& g, id of, std::int64_t rows, std::int64_t gate, std::int64_t up) {
    const auto view = [&](std::int64_t first) {
        const std::int64_t columns = g[of].ne[1], apart = g[of].nb[1];
        const id t = g.view(of, {rows, columns}, first);
        g[t].nb[1] = apart;
        g[t].nb[2] = g[t].nb[3] = apart * columns;
        return t;
    };
    const id first = view(gate);
    return g.glu(first, view(up));
}

}  // namespace

TEST_CASE("halves of a result gate each other in its launch, read as one or by two views",
          "[halves]") {
    const bool views = GENERATE(false, true), swapped = GENERATE(false, true);
    halves_case c(GENERATE(1, 2));
    c.dense();
    c.gated(views, swapped);
    c.g.matmul(format::q4_K, 64, c.value);
    const matvec_member m = c.gated_inside(swapped);
    CHECK(m.weight_bytes == c.half());
}

TEST_CASE("the rows of each expert's matrix are halves that gate each other", "[halves]") {
    const bool views = GENERATE(false, true), swapped = GENERATE(false, true);
    halves_case c(GENERATE(1, 2, 40));
    c.of_experts();
    c.gated(views, swapped);
    c.g.mul_mat_id(c.g.weight(format::q4_K, {c.inner, 64, c.experts}), c.value, c.g[c.both].src[2]);
    const matvec_member m = c.gated_inside(swapped);
    CHECK(m.experts == c.experts);
    CHECK(m.expert_bytes == 2 * c.half());
    CHECK(m.weight_bytes == c.experts * m.expert_bytes - c.half());  // to the last expert's end
}

TEST_CASE("the proof finds halves that are exchanged, or those of other rows", "[halves]") {
    halves_case c(GENERATE(1, 2));
    if (GENERATE(false, true))
        c.dense();
    else
        c.of_experts();
    c.gated(GENERATE(false, true), false);
    c.g.other({c.value});
    const graph_view view = c.g.view();
    const auto proved_with = [&](void (*put)(matvec_member&)) {
        plan p = c.planned();
        REQUIRE(c.inside(p));
        put(plan_faults{p}.member(static_cast<std::size_t>(p.at(c.g.position(c.both)).step), 0));
        return verify(view, p).state.ok();
    };
    CHECK(proved_with([](matvec_member&) {}));
    CHECK_FALSE(proved_with([](matvec_member& m) { std::swap(m.weight, m.up); }));
    CHECK_FALSE(proved_with([](matvec_member& m) { m.up = m.weight; }));
    CHECK_FALSE(proved_with(
        [](matvec_member& m) { m.up = static_cast<const std::byte*>(m.up) - m.row_bytes; }));
}

TEST_CASE("halves that a launch cannot gate are gated from memory", "[halves]") {
    halves_case c(GENERATE(1, 2));
    const std::int64_t half = 4 * c.inner;
    const auto views = [&](std::int64_t rows, std::int64_t gate, std::int64_t up) {
        return gated_by_views(c.g, c.dense(), rows, gate, up);
    };
    SECTION("another reads the results") {
        c.of_experts();
        c.gated(true, false);
        c.g.other({c.both});
    }
    SECTION("the results of experts have a bias") {
        const id results = c.of_experts();
        const id bias = c.g.weight(format::f32, {2 * c.inner, c.experts});
        const id sum = c.g.same_shape(op::add_id, results, {results, bias, c.g[results].src[2]});
        c.value = c.g.glu_of_views(sum);
    }
    SECTION("results that gate themselves") {
        c.dense();
        c.value = c.g.glu(c.both, c.both);
    }
    SECTION("rows of the views that lie elsewhere") {
        c.value = views(c.inner, 0, half);
        for (const int s : {0, 1}) c.g[c.g[c.value].src[s]].nb[1] = c.tokens == 1 ? 4 : half;
        if (c.tokens == 1) c.g.other({c.both});  // one row lies nowhere else
    }
    SECTION("the same half twice") { c.value = views(c.inner, half, half); }
    SECTION("quarters") { c.value = views(c.inner / 2, 0, half / 2); }
    SECTION("views that overlap") { c.value = views(c.inner, 0, half / 2); }
    SECTION("one half, and what another matrix made") {
        c.dense();
        const id first = c.g.view(c.both, {c.inner, c.tokens});
        for (int d = 1; d < 4; ++d) c.g[first].nb[d] = c.g[c.both].nb[d];
        c.value = c.g.glu(first, c.g.matmul(format::q4_K, c.inner, c.mul));
    }
    const std::int64_t k = c.g[c.value].ne[0];
    c.g.matmul(format::q8_0, 64, c.g.reshape(c.value, {k, elements(c.g[c.value]) / k}));
    const plan p = c.planned();
    CHECK_FALSE(c.inside(p));
    CHECK(p.at(c.g.position(c.value)).step >= 0);
}

TEST_CASE("a GLU of two views moves with its matrix to the others of its activation", "[halves]") {
    halves_case c;
    c.g.other({c.g.matmul(format::q4_K, 64, c.mul)});
    c.of_experts();
    c.gated(true, false);
    c.g.other({c.value});
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    const auto place = [&](id t) {
        return std::find(o.order.begin(), o.order.end(), c.g.position(t)) - o.order.begin();
    };
    CHECK(place(c.value) == place(c.both) + 3);  // behind its views
}

TEST_CASE("halves are found before the engine has given out memory", "[halves]") {
    halves_case c;
    c.dense();
    c.gated(true, false);
    c.g.matmul(format::q4_K, 64, c.value);
    c.g.deallocate();
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    CHECK(kept_until(c.g, o, c.both) == -1);
}

TEST_CASE("a result that gates itself is kept until the matrix that reads the value", "[halves]") {
    halves_case c;
    c.dense();
    c.value = c.g.glu(c.both, c.both);
    const id last = c.g.matmul(format::q4_K, 64, c.value);
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    CHECK(kept_until(c.g, o, c.both) == c.g.position(last));
}
