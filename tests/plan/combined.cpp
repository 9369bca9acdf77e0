// What the experts of a token make, added up by the launch of their last matrices.
#include "faults.hpp"
#include "random/tables.hpp"
#include "summed_case.hpp"

#include "catena/pick/join.hpp"
#include "catena/pick/measured.hpp"
#include "catena/pick/pick.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"
#include "catena_test/problems.hpp"

#include <algorithm>

using namespace catena;
using namespace catena_test;

namespace {

constexpr auto combine = epilogue_part::combine;

/// The shipped rows on a GPU whose instructions take no time: else so few slots are predicted to be
/// added up as fast by the norm behind them, which reads what a shared expert made anyway.
table quick_rows() {
    table t = shipped_table();
    t.device = t.limits();
    t.device->cycles_per_us = 1e6;
    return t;
}

}  // namespace

TEST_CASE("the launch of the experts' last matrices adds up what they make", "[plan]") {
    const std::int64_t tokens = GENERATE(1, 2);
    summed_case c{.tokens = tokens};
    const plan p = c.planned();
    const step& s = c.adds(p);
    REQUIRE(s.what.product().member_count == 1);
    const epilogue_set begins =
        tokens > 1 ? epilogue_set::of(epilogue_part::quantize) : epilogue_set{};
    CHECK(s.what.product().member[0].epilogue ==
          (epilogue_set::of(epilogue_part::bias) | combine | epilogue_part::residual | begins));
    // Memory for a norm that begins is there from the MUL on.
    CHECK(s.launch_at == c.g.position(tokens > 1 ? c.weighted : c.down));
    for (const id t : {c.down, c.biased, c.weighted, c.first, c.sum}) {
        CHECK(p.at(c.g.position(t)).step == p.at(c.g.position(c.all)).step);
        CHECK(p.at(c.g.position(t)).elided);
    }
    CHECK_FALSE(p.at(c.g.position(c.all)).elided);
    const matvec_args a = p.args(p.at(c.g.position(c.sum)).step, nullptr).matvec;
    CHECK(a.combined);
    CHECK(a.slot_weights == c.g[c.weights].data);
    CHECK(a.columns == tokens);
    CHECK(a.slots == 3);
    CHECK(a.x_slots == 3);
    CHECK(a.member[0].dst == c.g[c.all].data);
    CHECK(a.member[0].dst_nb2 == 512 * 4);
    CHECK(a.member[0].residual == c.g[c.residual].data);
    CHECK(a.member[0].residual_nb2 == 512 * 4);
    CHECK(s.config.blocks % static_cast<unsigned>(tokens) == 0);
    const step& norm = p.steps()[static_cast<std::size_t>(p.at(c.g.position(c.norm)).step)];
    CHECK_FALSE(stages_of(norm.what).has(stage_kind::combine));
    CHECK_FALSE(stages_of(norm.what).has(stage_kind::add_residual));
}

TEST_CASE("with same_bits the norm adds them up, for any number of tokens", "[plan]") {
    summed_case c{.tokens = GENERATE(1, 2)};
    options asked;
    asked.pick.same_bits = true;
    const plan p = c.planned(shipped_table(), asked);
    CHECK_FALSE(c.by_their_launch(p));
    CHECK(stages_of(c.adds(p).what).has(stage_kind::combine));
}

TEST_CASE("the launch waits for weights that are made behind the matrices", "[plan]") {
    summed_case c{.tokens = 1, .late = true};
    const plan p = c.planned();
    CHECK(c.by_their_launch(p));
    CHECK(c.adds(p).launch_at == c.g.position(c.weighted));
}

TEST_CASE("a sum that their launch may not write is left to the norm behind it", "[plan]") {
    summed_case c{.tokens = 1};
    SECTION("it lies over the weights") { c.g.share(c.all, c.weights); }
    SECTION("it lies over the ids") { c.g.share(c.all, c.ids); }
    SECTION("it lies over another part of the residual") { c.g.share(c.all, c.residual, 64); }
    const plan p = c.planned();
    CHECK_FALSE(c.by_their_launch(p));
    CHECK(stages_of(c.adds(p).what).has(stage_kind::combine));
}

TEST_CASE("a sum exactly over the residual is written by their launch", "[plan]") {
    summed_case c;
    c.g.share(c.all, c.residual);
    CHECK(c.by_their_launch(c.planned()));
}

TEST_CASE("what a shared expert made joins their sum in the norm behind them", "[plan]") {
    const std::int64_t tokens = GENERATE(1, 2);
    summed_case c{.tokens = tokens, .shared = true};
    const plan p = c.planned(quick_rows());
    CHECK(c.adds(p).what.product().member[0].epilogue ==
          (epilogue_set::of(epilogue_part::bias) | combine));
    CHECK_FALSE(p.at(c.g.position(c.sum)).elided);
    const int at = p.at(c.g.position(c.all)).step;
    REQUIRE(at >= 0);
    CHECK(p.at(c.g.position(c.joined)).step == at);
    CHECK(p.at(c.g.position(c.joined)).elided);
    const step& s = p.steps()[static_cast<std::size_t>(at)];
    CHECK(stages_of(s.what).has(stage_kind::combine));
    CHECK(s.what.row().slots == 2);
    const row_args a = p.args(at, nullptr).row;
    CHECK(a.experts.results == c.g[c.sum].data);
    CHECK(a.experts.weights == nullptr);
    CHECK(a.experts.slots == 1);
    CHECK(a.experts.nb2 == 512 * 4);
    CHECK(a.x == c.g[c.of_shared].data);
    CHECK(a.residual == c.g[c.residual].data);
    CHECK(a.rows == tokens);
}

TEST_CASE("with few tokens, a shared expert's launch adds its result to their sum", "[plan]") {
    summed_case c{.tokens = GENERATE(1, 2, 8), .gated = true};
    CAPTURE(c.tokens);
    const bool over_sum = GENERATE(false, true);  // engines add in place
    if (over_sum) c.g.share(c.all, c.sum);
    const plan p = c.planned(quick_rows());
    REQUIRE(c.by_their_launch(p));
    const int at = p.at(c.g.position(c.of_gated)).step;
    for (const id t : {c.times_gate, c.joined, c.all}) CHECK(p.at(c.g.position(t)).step == at);
    const matvec_member m = p.args(at, nullptr).matvec.member[0];
    CHECK(m.factor == c.g[c.open].data);
    CHECK(m.factor_step == (c.tokens > 1 ? 1 : 0));
    CHECK(m.bias == c.g[c.sum].data);
    CHECK(m.bias_nb1 == (c.tokens > 1 ? 512 * 4 : 0));
    CHECK(m.residual == c.g[c.residual].data);
    CHECK(m.dst == c.g[c.all].data);
    const step& norm = p.steps()[static_cast<std::size_t>(p.at(c.g.position(c.norm)).step)];
    CHECK_FALSE(stages_of(norm.what).any(stage_kind::combine | stage_kind::add_residual));
}

TEST_CASE("the proof finds wrong factors and biases of columns", "[plan]") {
    using put_fault = void (*)(matvec_member&);
    const put_fault wrong[] = {
        [](matvec_member& m) { m.factor_step = 0; }, [](matvec_member& m) { m.factor_step = 2; },
        [](matvec_member& m) { ++m.factor; },        [](matvec_member& m) { m.bias_nb1 = 0; },
        [](matvec_member& m) { m.bias_nb1 += 4; },   [](matvec_member& m) { ++m.bias; },
        [](matvec_member& m) { m.bias_nb1 += 2; }};
    for (const put_fault put : wrong) {
        summed_case c{.gated = true};
        plan p = c.planned(quick_rows());
        REQUIRE(verify(c.g.view(), p).proved);
        const int at = p.at(c.g.position(c.of_gated)).step;
        plan_faults inside{p};
        put(inside.member(static_cast<std::size_t>(at), 0));
        CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
    }
}

TEST_CASE("with many tokens, the norm multiplies a shared expert's result with its gate",
          "[plan]") {
    summed_case c{.tokens = 9, .gated = true};
    const plan p = c.planned(quick_rows());
    const int at = p.at(c.g.position(c.norm)).step;
    for (const id t : {c.open, c.times_gate, c.joined, c.all})
        CHECK(p.at(c.g.position(t)).step == at);
    CHECK(p.args(at, nullptr).row.x == c.g[c.of_gated].data);
    // A report says nothing of nodes that a step covers, although no step begins at them.
    CHECK(left_why(p, c.g.position(c.times_gate)) == reason::none);
}

TEST_CASE("a sum that nobody's launch makes is left to the norm, without the gate", "[plan]") {
    summed_case c{.tokens = 1, .gated = true};
    c.g.share(c.sum, c.weights);
    const plan p = c.planned();
    CHECK_FALSE(c.by_their_launch(p));
    CHECK(p.at(c.g.position(c.times_gate)).step == p.at(c.g.position(c.of_gated)).step);
    const row_args a = p.args(p.at(c.g.position(c.norm)).step, nullptr).row;
    CHECK(a.experts.slots == 3);
    CHECK(a.experts.gate == nullptr);
    CHECK(a.x == c.g[c.times_gate].data);
}

TEST_CASE("two values that are added to few rows are their biases and residuals", "[plan]") {
    const std::int64_t rows = GENERATE(1, 2, 8, 9);
    const bool few = rows <= 8, apart = GENERATE(false, true);  // in the dimension of tokens
    CAPTURE(rows, apart);
    graph_builder g;
    const auto made = [&] {
        return g.other(
            {apart ? g.input(format::f32, {512, 1, rows}) : g.input(format::f32, {512, rows})});
    };
    const id x = made(), first = made(), second = made();
    const id product = g.matmul(format::q4_K, 512, x);
    const id once = g.add(product, first), twice = g.add(second, once);
    g.other({twice});
    SECTION("each element lies over that of a value, or apart") {
        const id place = GENERATE_COPY(no_tensor, first, second);
        if (place != no_tensor) g.share(twice, place);
    }
    const plan p = checked_plan(g, shipped_table());
    const int at = p.at(g.position(product)).step;
    REQUIRE(at >= 0);
    CHECK((p.at(g.position(twice)).step == at) == few);
    const step_args args = p.args(at, nullptr);
    const matvec_member& m = few ? args.matvec.member[0] : args.matmul.member[0];
    CHECK(m.bias == (few ? g[first].data : nullptr));
    CHECK(m.bias_nb1 == (few && rows > 1 ? 512 * 4 : 0));
    CHECK(m.residual == (few ? g[second] : g[first]).data);
}

TEST_CASE("a scale of their sum is left to the norm behind them", "[plan]") {
    const bool shared = GENERATE(false, true);
    summed_case c{.tokens = 1, .shared = shared, .scaled = true};
    const plan p = c.planned();
    CHECK(c.adds(p).what.product().member[0].epilogue ==
          (epilogue_set::of(epilogue_part::bias) | combine));
    const int at = p.at(c.g.position(c.all)).step;
    REQUIRE(at >= 0);
    CHECK(p.at(c.g.position(c.times)).step == at);
    CHECK(p.at(c.g.position(c.times)).elided);
    const row_args a = p.args(at, nullptr).row;
    CHECK(a.x_scale == 0.25f);
    CHECK(a.experts.results == c.g[c.sum].data);
    CHECK(a.x == (shared ? c.g[c.of_shared].data : nullptr));
    CHECK(a.residual == c.g[c.residual].data);
}

TEST_CASE("a sum that their launch may not write stays whole beside a shared expert", "[plan]") {
    summed_case c{.tokens = 1, .shared = true};
    c.g.share(c.sum, c.weights);
    const plan p = c.planned();
    CHECK_FALSE(c.by_their_launch(p));
    CHECK(c.adds(p).what.row().slots == 4);
}

TEST_CASE("what somebody else reads is not only added up", "[plan]") {
    summed_case c{.tokens = 1};
    SECTION("the results") { c.g.other({c.biased}); }
    SECTION("the results times their weights") { c.g.other({c.weighted}); }
    SECTION("a part of the sum") { c.g.other({c.first}); }
    SECTION("an output of the graph") { c.g[c.biased].flags |= flag_output; }
    const graph_view view = c.g.view();
    const plan p = planner(shipped_table()).plan(view);
    CHECK(difference(view, p) == "");
    for (const step& s : p.steps()) CHECK_FALSE(epilogue_of(s.what).has(combine));
}

TEST_CASE("results that are added up without weights are written where others may read them",
          "[plan]") {
    summed_case c{.tokens = 1, .weighs = false};
    const bool outside = GENERATE(false, true);
    if (outside) c.g.read_outside(c.biased);
    CHECK(c.by_their_launch(c.planned()) == !outside);
}

TEST_CASE("an order before allocation keeps the ids until a norm could make the sum", "[plan]") {
    summed_case c;
    c.g.deallocate();
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    CHECK(std::any_of(o.keep.begin(), o.keep.end(), [&](const keep_alive& k) {
        return k.tensor == c.ids &&
               o.order[static_cast<std::size_t>(k.until)] == c.g.position(c.norm);
    }));
}

TEST_CASE("medians decide who adds up if both ways have them", "[plan]") {
    summed_case apart{.tokens = 1};
    apart.g.share(apart.all, apart.weights);  // so it is not combined
    summed_case c{.tokens = 1};
    table rows = shipped_table();
    std::vector<measurement> medians;
    const auto measured = [&](const plan& p, float us) {
        for (const step& s : p.steps()) medians.push_back({problem_key(s.what), s.row, us, 0});
        std::sort(medians.begin(), medians.end(),
                  [](const measurement& a, const measurement& b) { return a.problem < b.problem; });
        rows.measured = medians.data();
        rows.measured_count = static_cast<int>(medians.size());
    };
    const plan before = c.planned();
    REQUIRE(c.by_their_launch(before));
    measured(apart.planned(), 0.01f);  // beside predictions of the other way: they decide nothing
    CHECK(c.by_their_launch(c.planned(rows)));
    measured(before, 1000);
    CHECK_FALSE(c.by_their_launch(c.planned(rows)));
}

TEST_CASE("a sum pays if the norm of it can then be made inside", "[plan]") {
    const bool over_sum = GENERATE(false, true);  // the matrix writes where its norm reads
    INFO("over the sum: " << over_sum);
    table rows = shipped_table();
    const row_index index(rows);
    std::vector<measurement> medians;
    const auto measured = [&](const problem& p, float us) {
        medians.push_back({problem_key(p), pick(p, index, {}).row, us, 0});
    };
    const auto of_down = [](const summed_case& c, const plan& p) {
        return p.steps()[static_cast<std::size_t>(p.at(c.g.position(c.down)).step)].what;
    };
    summed_case apart{.tokens = 1}, together{.tokens = 1};
    apart.g.share(apart.all, apart.weights);  // so it is not combined
    const plan by_norm = apart.planned(), by_launch = together.planned();
    const product_problem reader = matvec_problem(512, {{format::q4_K, 64}});
    product_problem inside = reader;
    inside.needs.stages = stage_kind::rms_norm | stage_kind::mul_weight;
    measured(of_down(apart, by_norm), 100);
    measured(apart.adds(by_norm).what, 100);
    measured(of_down(together, by_launch), 190);
    for (const problem& p : {problem(norm_problem(512)), problem(reader), problem(inside)})
        measured(p, 100);
    std::sort(medians.begin(), medians.end(),
              [](const measurement& a, const measurement& b) { return a.problem < b.problem; });
    rows.measured = medians.data();
    rows.measured_count = static_cast<int>(medians.size());

    summed_case c{.tokens = 1};
    c.g[c.end].src[1] = no_tensor;
    if (over_sum) c.g.share(c.out, c.all);
    const plan p = c.planned(rows);
    CHECK(c.by_their_launch(p) == !over_sum);
    CHECK((p.at(c.g.position(c.norm)).step == p.at(c.g.position(c.out)).step) == !over_sum);
}
