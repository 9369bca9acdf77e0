// A factor for each expert, which GET_ROWS picks by the ids of the experts' matmul.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Gate, up and down of 8 experts, two for each token, each with its factors or none.
struct experts_case {
    static constexpr std::int64_t k = 512, hidden = 256, experts = 8, slots = 2;
    std::int64_t tokens;
    graph_builder g;
    id x, ids, factors[3], picked[3], scaled[3];

    explicit experts_case(std::int64_t count, bool scale = true) : tokens(count) {
        x = g.other({g.input(format::f32, {k, 1, tokens})});
        ids = g.node(op::other, format::i32, {slots, tokens},
                     {g.input(format::f32, {slots, tokens})});
        const id gate = product(0, x, hidden, scale), up = product(1, x, hidden, scale);
        const id down = product(2, g.glu(gate, up), k, scale);
        g.other({down});
    }

    plan planned() { return proved_plan(g, shipped_table()); }

  private:
    id product(int which, id from, std::int64_t rows, bool scale) {
        const id w = g.weight(format::q8_0, {g[from].ne[0], rows, experts});
        const id y = scaled[which] = g.mul_mat_id(w, from, ids);
        if (!scale) return y;
        factors[which] = g.weight(format::f32, {experts});
        id all = g.reshape(factors[which], {1, experts});
        if (tokens > 1) all = g.node(op::repeat, format::f32, {1, experts, tokens}, {all});
        picked[which] = g.node(op::get_rows, format::f32, {1, slots, tokens}, {all, ids});
        return scaled[which] = g.mul(y, picked[which]);
    }
};

template <class F>
void each_member(const plan& p, F&& f) {
    for (std::size_t s = 0; s < p.steps().size(); ++s) {
        const step_args a = p.args(static_cast<int>(s), nullptr);
        if (a.kind == skeleton::matvec)
            for (int m = 0; m < a.matvec.members; ++m) f(a.matvec.member[m]);
        if (a.kind == skeleton::matmul)
            for (int m = 0; m < a.matmul.members; ++m) f(a.matmul.member[m]);
    }
}

}  // namespace

TEST_CASE("A factor for each expert costs no launch, of gate, up and down", "[plan][factors]") {
    for (const std::int64_t tokens : {1, 3, 40}) {
        CAPTURE(tokens);
        experts_case c(tokens), without(tokens, false);
        const plan p = c.planned(), bare = without.planned();
        REQUIRE(p.steps().size() == bare.steps().size());
        for (std::size_t s = 0; s < p.steps().size(); ++s)
            CHECK(p.steps()[s].row == bare.steps()[s].row);
        std::vector<const float*> seen;
        each_member(p, [&](const matvec_member& m) {
            CHECK(m.factor_step == 1);
            seen.push_back(m.factor);
            if (m.up_factor != nullptr) seen.push_back(m.up_factor);
        });
        REQUIRE(seen.size() == 3);
        for (int i = 0; i < 3; ++i)
            CHECK(seen[static_cast<std::size_t>(i)] == c.g[c.factors[i]].data);
        for (const id t : c.picked) CHECK(p.at(c.g.position(t)).role != role::engine);
        CHECK(p.left().size() == 0);
    }
}

TEST_CASE("factors that are gathered before the activation is made do not draw the launch there",
          "[plan][factors]") {
    experts_case c(3);
    for (const int which : {0, 1, 2}) {
        const id pick = c.picked[which], repeat = c.g[pick].src[0], all = c.g[repeat].src[0];
        for (const id t : {pick, repeat, all}) {  // behind the ids
            c.g.nodes.erase(std::find(c.g.nodes.begin(), c.g.nodes.end(), t));
            c.g.nodes.insert(c.g.nodes.begin() + c.g.position(c.ids) + 1, t);
        }
    }
    const plan p = c.planned();
    CHECK(p.left().size() == 0);
    for (const step& s : p.steps()) CHECK(s.launch_at >= 11);
}

TEST_CASE("what gathers factors stays if somebody else reads it", "[plan][factors]") {
    experts_case c(3);
    c.g.read_outside(c.picked[2]);
    const plan p = c.planned();
    CHECK(p.at(c.g.position(c.picked[2])).role == role::engine);
    CHECK(p.at(c.g.position(c.scaled[2])).role != role::engine);
    CHECK(p.at(c.g.position(c.picked[0])).role != role::engine);
}

TEST_CASE("other factors of experts stay with the engine, and say why", "[plan][factors]") {
    experts_case c(3);
    const id down = c.scaled[2];
    const auto& why = [&] { return left_why(c.planned(), c.g.position(down)); };
    SECTION("a number for each slot that is made at run time") {
        c.g[down].src[1] = c.g.input(format::f32, {1, 2, 3});
        CHECK(why() == reason::factor_of_experts);
    }
    SECTION("by other ids") {
        c.g[c.picked[2]].src[1] = c.g.input(format::i32, {2, 3});
        CHECK(why() == reason::factor_of_experts);
    }
    SECTION("of other experts") {
        const id repeat = c.g[c.picked[2]].src[0], all = c.g[repeat].src[0];
        c.g[repeat].ne[1] = c.g[all].ne[1] = 7;
        CHECK(why() == reason::factor_of_experts);
    }
    SECTION("of a leaf that the engine writes") {
        c.g[c.factors[2]].weight = false;
        CHECK(why() == reason::factor_of_experts);
    }
    SECTION("at an odd address") {
        const id repeat = c.g[c.picked[2]].src[0], all = c.g[repeat].src[0];
        c.g.share(all, c.factors[2], 2);
        c.g.share(c.factors[2], c.factors[2], 2);
        CHECK(why() == reason::unaligned);
    }
}

TEST_CASE("a better order takes the factors of experts along", "[plan][factors]") {
    experts_case c(3);
    const ordering better = optimize(c.g.view());
    REQUIRE(better.state.ok());
    c.g.nodes = better.nodes(c.g.view());
    CHECK(c.planned().left().size() == 0);
}

TEST_CASE("the proof finds wrong factors of experts", "[plan][factors]") {
    using put_fault = void (*)(matvec_member&);
    const put_fault wrong[] = {[](matvec_member& m) { m.factor_step = 0; },
                               [](matvec_member& m) { m.factor_step = 2; },
                               [](matvec_member& m) { ++m.factor; },
                               [](matvec_member& m) { ++m.up_factor; },
                               [](matvec_member& m) { std::swap(m.factor, m.up_factor); },
                               [](matvec_member& m) { m.up_factor = nullptr; },
                               [](matvec_member& m) { m.factor = m.up_factor = nullptr; }};
    for (const std::int64_t tokens : {1, 3, 40})
        for (const put_fault put : wrong) {
            experts_case c(tokens);
            plan p = c.planned();
            plan_faults inside{p};
            std::size_t s = 0;
            while (!inside.is_group(s) || inside.member(s, 0).up == nullptr) ++s;
            put(inside.member(s, 0));
            CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
        }
}
