// MOE_FFN, a router and its experts as one node: the plan is that of the nodes that it stands for,
// whole or not at all, by the engine's positions.
#include "moe_layer.hpp"

#include "catena/match/moe_ffn.hpp"
#include "catena/plan/cache.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <functional>

using namespace catena;
using namespace catena_test;

namespace {

/// Why the one MOE_FFN of a graph stays with the engine.
std::vector<reason> why_left_whole(moe_layer& c, const graph_view& view) {
    const plan p = planned(view);
    const int at = c.position(c.moe);
    CHECK(p.at(at).role == role::engine);
    CHECK(p.at(at).step == -1);
    CHECK(p.steps_at(at).size() == 0);
    std::vector<reason> out;
    for (const left_over& l : p.left())
        if (l.what.node == at) out.push_back(l.what.why);
    return out;
}

using change = std::function<void(moe_layer&)>;

}  // namespace

TEST_CASE("a MOE_FFN gets the steps of the nodes that it stands for", "[plan][moe_ffn]") {
    each_moe_shape([](const moe_shape& s) {
        moe_layer one(s, true), all(s, false);
        const graph_view view = one.seen();
        const plan p = planned(view);
        check_same_steps(p, planned(all.seen()));
        CHECK(p.counters().matmuls == (s.merged ? 2 : 3));
        CHECK(p.counters().served == p.counters().matmuls);
        CHECK(p.size() == 4);
        CHECK(p.at(one.position(one.moe)).role == role::launch);
        CHECK(verify(view, p).proved);
        check_walk(view, p);
    });
}

TEST_CASE("a routing of more tokens is not left to an engine that has it in a MOE_FFN alone",
          "[plan][moe_ffn]") {
    moe_shape s;
    s.tokens = 4;
    s.gates = format::q6_K;  // whose launch finds no experts
    moe_layer one(s, true), all(s, false);
    const graph_view view = one.seen(&ggml_cuda);
    const plan p = planned(view), apart = planned(all.seen(&ggml_cuda));
    CHECK(p.at(one.position(one.moe)).role == role::launch);
    CHECK(p.explain().engine_launches == 0);
    CHECK(apart.explain().engine_launches > 0);
    CHECK(verify(view, p).proved);
}

TEST_CASE("a MOE_FFN of which steps would leave a part stays whole with the engine",
          "[plan][moe_ffn]") {
    moe_layer unknown({}, true);
    unknown.g[unknown.downs].reachable = false;
    const std::vector<reason> why = why_left_whole(unknown, unknown.seen());
    REQUIRE(why.size() == 2);
    CHECK(why[0] == reason::moe_ffn_in_part);
    CHECK(why[1] == reason::unreachable);
    const plan p = planned(unknown.seen());
    CHECK(verify(unknown.seen(), p).proved);
    check_walk(unknown.seen(), p);
    CHECK(difference(unknown.seen(), p) == "");
    const explanation e = p.explain();
    CHECK(std::count_if(e.not_fused.begin(), e.not_fused.end(), [](const left_node& l) {
              return l.sentence ==
                     "steps would leave 5 of the 15 launches that it stands for to "
                     "the engine";
          }) == 1);

    options asked;
    asked.error_on_fallback = true;
    CHECK(planner(instances::sm_90(), asked).plan(unknown.seen()).state().ok());
    asked = {};
    asked.enabled = false;
    CHECK(planner(instances::sm_90(), asked).plan(unknown.seen()).left().size() == 0);
}

TEST_CASE("a plan that does not launch at a MOE_FFN what stands inside is wrong",
          "[plan][moe_ffn]") {
    moe_layer c({}, true);
    const graph_view view = c.seen();
    const int at = c.position(c.moe);
    const auto proved = [&view](const plan& p) { return verify(view, p).proved; };
    const auto faulty = [&](const std::function<void(plan_contents&)>& by) {
        const shared<plan_contents> inside(new plan_contents(planned(view).contents()));
        by(*inside);
        return plan(inside);
    };
    CHECK(proved(faulty([](plan_contents&) {})));
    CHECK_FALSE(proved(faulty(
        [&](plan_contents& p) { p.nodes[static_cast<std::size_t>(at)].role = role::engine; })));
    CHECK_FALSE(proved(faulty(
        [&](plan_contents& p) { p.nodes[static_cast<std::size_t>(at)].role = role::covered; })));
    CHECK_FALSE(proved(faulty([](plan_contents& p) { p.steps.back().launch_at = 1; })));
    CHECK_FALSE(proved(faulty([](plan_contents& p) { p.steps.back().row = 0; })));
    CHECK_FALSE(proved(
        faulty([&](plan_contents& p) { --p.first_step_at[static_cast<std::size_t>(at) + 1]; })));
    CHECK_FALSE(proved(faulty([](plan_contents& p) { p.nodes.pop_back(); })));
}

TEST_CASE("two MOE_FFNs are judged apart", "[plan][moe_ffn]") {
    moe_layer c({}, true);
    graph_builder& g = c;
    const id n = g.scaled_norm(c.sum);
    const id second = g.node(op::moe_ffn, format::f32, {c.is.width, 1},
                             {n, c.router, c.ups, c.gates, g.input(format::q6_K, {256, 512, 16})});
    g[second].params[0] = 4;
    g.add(second, c.sum);
    const graph_view view = c.seen();
    const plan p = planned(view);
    CHECK(p.at(c.position(c.moe)).role == role::launch);
    CHECK(p.at(c.position(second)).role == role::engine);
    CHECK(left_why(p, c.position(second)) == reason::moe_ffn_in_part);
    CHECK(verify(view, p).proved);
    check_walk(view, p);
}

TEST_CASE("values inside a MOE_FFN lie in its scratch or in its result", "[plan][moe_ffn]") {
    moe_layer c({}, true);
    const graph_view engine = c.seen();
    written_out nodes;
    nodes.build(engine, moe_ffns(engine));
    const graph_view view = nodes.view();
    std::int64_t end = 0, in_result = 0;
    for (std::int32_t i = engine.tensor_count; i < view.tensor_count; ++i) {
        const tensor& t = view.at(i);
        CHECK(nodes.engine_tensor(i) == c.moe);
        if (t.kind == op::reshape && t.src[0] == c.norm) continue;
        in_result += t.data == c.g[c.moe].data;
        if (t.data == c.g[c.moe].data) continue;
        CHECK(t.data == static_cast<char*>(somewhere) + t.offset);
        end = std::max(end, static_cast<std::int64_t>(t.offset) + extent_bytes(t));
    }
    CHECK(in_result == c.is.chosen - 2);
    CHECK(end <= nodes.scratch_bytes());
    CHECK(end + 256 > nodes.scratch_bytes());
    CHECK(scratch_bytes(engine) == nodes.scratch_bytes());
}

TEST_CASE("MOE_FFNs share scratch, but not those that two streams may run at once",
          "[plan][moe_ffn]") {
    moe_layer c({}, true);
    const id second = c.one_node();
    c.add(second, c.sum);
    const std::int64_t one = scratch_bytes(moe_layer({}, true).seen());
    CHECK(scratch_bytes(c.seen()) == one);
    c.g[second].stream = 1;
    CHECK(scratch_bytes(c.seen()) == 2 * one);
}

TEST_CASE("what is no MOE_FFN stays with the engine, and why is said", "[plan][moe_ffn]") {
    const auto why = [](const change& by) {
        moe_layer c({}, true);
        by(c);
        const std::vector<reason> all = why_left_whole(c, c.seen());
        return all.size() == 1 ? all[0] : reason::none;
    };
    const auto chosen = [&why](std::int32_t n) {
        return why([n](moe_layer& c) { c.g[c.moe].params[0] = n; });
    };
    for (const std::int32_t n : {-1, 0, 1, 17}) CHECK(chosen(n) == reason::moe_ffn_chosen);
    moe_shape many;
    many.experts = 64;
    many.chosen = 33;
    moe_layer too_many(many, true);
    CHECK(why_left_whole(too_many, too_many.seen())[0] == reason::too_large);
    CHECK(why([](moe_layer& c) { c.g[c.moe].params[1] = 1; }) == reason::parameter);
    CHECK(why([](moe_layer& c) { c.g[c.moe].params[15] = 1; }) == reason::parameter);
    for (const int s : {1, 2, 4})
        CHECK(why([s](moe_layer& c) { c.g[c.moe].src[s] = no_tensor; }) == reason::missing_source);
    CHECK(why([](moe_layer& c) { c.g[c.moe].src[5] = c.x; }) == reason::extra_source);
    CHECK(why([](moe_layer& c) { c.g[c.moe].src[3] = no_tensor; }) == reason::moe_ffn_sizes);
    CHECK(why([](moe_layer& c) { c.g[c.moe].flags = 0; }) == reason::not_computed);
    CHECK(why([](moe_layer& c) { c.g[c.gates].type = format::q5_K; }) == reason::moe_ffn_values);
    CHECK(why([](moe_layer& c) { c.g[c.router].type = format::bf16; }) == reason::moe_ffn_values);
    CHECK(why([](moe_layer& c) { c.g[c.moe].type = format::f16; }) == reason::moe_ffn_values);
    for (const id moe_layer::*const of : {&moe_layer::ups, &moe_layer::gates, &moe_layer::downs,
                                          &moe_layer::router, &moe_layer::norm, &moe_layer::moe}) {
        CHECK(why([of](moe_layer& c) { c.g[c.*of].nb[0] *= 2; }) == reason::moe_ffn_gaps);
        CHECK(why([of](moe_layer& c) { c.g[c.*of].ne[3] = 2; }) == reason::moe_ffn_sizes);
    }
    CHECK(why([](moe_layer& c) { c.g.rename(c.moe, c.x); }) == reason::moe_ffn_gaps);
    CHECK(why([](moe_layer& c) { c.g[c.downs].ne[2] = 15; }) == reason::moe_ffn_sizes);
    CHECK(why([](moe_layer& c) {
              c.g[c.downs].ne[1] /= 2;
              for (const int d : {2, 3}) c.g[c.downs].nb[d] /= 2;
          }) == reason::moe_ffn_sizes);
    CHECK(why([](moe_layer& c) { c.g[c.router].ne[1] = 15; }) == reason::moe_ffn_sizes);
    moe_layer c({}, true);
    graph_view view = c.seen();
    view.scratch = nullptr;
    CHECK(why_left_whole(c, view) == std::vector<reason>{reason::moe_ffn_scratch});
}

TEST_CASE("a graph without addresses is planned without scratch", "[plan][moe_ffn]") {
    moe_layer c({}, true), bare({}, true);
    for (tensor& t : bare.tensors) t.data = nullptr;
    graph_view view = bare.seen();
    view.scratch = nullptr;
    const plan p = planned(view);
    check_same_steps(p, planned(c.seen()));
    for (int i = 0; i < 3; ++i)
        CHECK(p.missing(i) == p.covered(p.steps()[static_cast<std::size_t>(i)])[0]);
    bare.deallocate();  // then values may share memory
    CHECK(left_why(planned(bare.seen()), bare.position(bare.moe)) == reason::moe_ffn_in_part);
}

TEST_CASE("optimize asks for workspace enough for plans that take over a MOE_FFN",
          "[plan][moe_ffn]") {
    for (const std::int64_t tokens : {1, 4, 64}) {
        moe_shape s;
        s.tokens = tokens;
        moe_layer c(s, true);
        const ordering order = optimize(c.seen());
        REQUIRE(order.state.ok());
        CHECK(order.workspace_bound >= planned(c.seen()).workspace_bytes());
    }
}

TEST_CASE("a plan knows a graph again by its scratch too", "[plan][moe_ffn]") {
    moe_layer c({}, true);
    graph_view view = c.seen();
    const fingerprint before = fingerprint_of(view);
    view.scratch = nullptr;
    CHECK_FALSE(fingerprint_of(view) == before);
    c.g[c.moe].params[15] = 1;
    view.scratch = somewhere;
    CHECK_FALSE(fingerprint_of(view) == before);
}
