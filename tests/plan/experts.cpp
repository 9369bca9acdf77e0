// What experts made, joined by the launch of the norm behind it.
#include "cases.hpp"
#include "random/tables.hpp"

#include "catena/plan/optimize.hpp"

#include "catena_test/experts.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Behind the experts a norm, its weight and a quantized matmul; somebody else reads the sum.
struct normed_case : experts_case {
    explicit normed_case(std::int64_t tokens = 2) : experts_case(tokens) {}

    id both = g.add(sum, gated);
    id times = g.scale(both, 0.25f);
    id all = g.add(times, residual);
    id norm = g.rms_norm(all);
    id mul = g.mul(norm, g.weight(format::f32, {512}));
    id out = g.matmul(format::q4_K, 64, mul);
    id end = g.other({out, all});

    catena::plan planned(const options& asked = {}) {
        return checked_plan(g, shipped_table(), asked);
    }
    bool combined() {
        const catena::plan p = planned();
        return p.steps().size() > 0 && stages_of(p.steps()[0].what).has(stage_kind::combine);
    }
};

}  // namespace

TEST_CASE("experts, their sum with all that joins it, and the norm behind it are one launch",
          "[plan]") {
    normed_case c;
    const catena::plan p = c.planned();
    REQUIRE(p.steps().size() == 2);
    const step& s = p.steps()[0];
    CHECK(stages_of(s.what).has(stage_kind::combine));
    CHECK(s.what.row().slots == 4);  // three experts and the shared one
    for (const id t :
         {c.weighted, c.first, c.sum, c.open, c.gated, c.both, c.times, c.norm, c.mul}) {
        CHECK(p.at(c.g.position(t)).step == 0);
        CHECK(p.at(c.g.position(t)).elided);
    }
    CHECK_FALSE(p.at(c.g.position(c.all)).elided);  // somebody reads it
    const row_args a = p.args(0, nullptr).row;
    CHECK(a.experts.results == c.g[c.results].data);
    CHECK(a.experts.weights == c.g[c.weights].data);
    CHECK(a.experts.slots == 3);
    CHECK(a.experts.nb1 == 512 * 4);
    CHECK(a.experts.nb2 == 3 * 512 * 4);
    CHECK(a.experts.weights_nb1 == 4);
    CHECK(a.experts.weights_nb2 == 12);
    CHECK(a.x == c.g[c.shared].data);
    CHECK(a.experts.gate == c.g[c.gate].data);
    CHECK(a.experts.gate_nb == 4);
    CHECK(a.gate == nullptr);
    CHECK(a.x_scale == 0.25f);
    CHECK(a.residual == c.g[c.residual].data);
    CHECK(a.sum == c.g[c.all].data);
    CHECK(a.rows == 2);
}

TEST_CASE("without its chain the experts stay with the engine", "[plan]") {
    normed_case c;
    options asked;
    asked.chains_off = "experts_norm_input";
    const catena::plan p = c.planned(asked);
    REQUIRE(p.steps().size() == 2);
    CHECK_FALSE(stages_of(p.steps()[0].what).has(stage_kind::combine));
    CHECK(p.at(c.g.position(c.both)).role == role::engine);
}

TEST_CASE("the weights of one token may lie under the sum, of several not", "[plan]") {
    const std::int64_t tokens = GENERATE(1, 2);
    normed_case c(tokens);
    c.g.share(c.all, c.weights);  // its own thread may write what others have yet to read
    CHECK(c.combined() == (tokens == 1));
}

TEST_CASE("a launch of one row reads all before it writes, if registers hold the row", "[plan]") {
    normed_case c(1);
    c.g.share(c.all, c.results, 512 * 4);
    CHECK(c.combined());
    c.g.share(c.all, c.g.input(format::f32, {1024}), 4);
    c.g.share(c.weights, c.all);
    CHECK_FALSE(c.combined());  // off every boundary a row is read again to be written
}

TEST_CASE("what overwrites the experts' results before the norm keeps them apart", "[plan]") {
    const bool overwritten = GENERATE(false, true);
    experts_case c;
    graph_builder& g = c.g;
    const id between = g.other({c.gated});
    if (overwritten) g.share(between, c.results);
    const id all = g.add(c.sum, g.other({between}));  // a residual that is not there before
    g.other({g.matmul(format::q4_K, 64, g.scaled_norm(all)), c.residual});
    const graph_view view = g.view();
    const catena::plan p = planner(shipped_table()).plan(view);
    CHECK(difference(view, p) == "");
    REQUIRE(p.steps().size() > 0);
    CHECK(stages_of(p.steps()[0].what).has(stage_kind::combine) == !overwritten);
}

TEST_CASE("a matmul leaves the sum with experts to the norm behind it", "[plan]") {
    experts_case c;
    graph_builder& g = c.g;
    const id shared = g.matmul(format::q4_K, 512, c.shared);
    const id all = g.add(g.add(c.sum, shared), c.residual);
    const id mul = g.scaled_norm(all);
    g.other({g.matmul(format::q4_K, 64, mul), c.gated});
    const graph_view view = g.view();
    const plan p = planner(shipped_table()).plan(view);
    CHECK(difference(view, p) == "");
    const int at = p.at(g.position(all)).step;
    REQUIRE(at >= 0);
    const step& s = p.steps()[static_cast<std::size_t>(at)];
    CHECK(stages_of(s.what).has(stage_kind::combine));
    CHECK(s.what.row().slots == 4);
}

TEST_CASE("an order before allocation keeps what the norm will read", "[plan]") {
    normed_case c;
    c.g.deallocate();
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    for (const id t : {c.results, c.weights, c.shared, c.gate, c.residual})
        CHECK(std::any_of(o.keep.begin(), o.keep.end(), [&](const keep_alive& k) {
            return k.tensor == t &&
                   o.order[static_cast<std::size_t>(k.until)] == c.g.position(c.mul);
        }));
}
