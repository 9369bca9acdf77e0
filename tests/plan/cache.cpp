// Plans that are kept: by the engine's id, by fingerprint.
#include "cases.hpp"

#include "catena/plan/cache.hpp"

#include <functional>

using namespace catena;
using namespace catena_test;

TEST_CASE("an unchanged graph gets the plan that it had", "[cache]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    plan_cache cache(planner{toy_table()});
    const plan& first = cache.plan_for(c.g.view());
    CHECK(first.steps().size() == 2);
    CHECK(&cache.plan_for(c.g.view()) == &first);
    graph_builder copy = c.g;  // the same content elsewhere
    CHECK(&cache.plan_for(copy.view()) == &first);
}

TEST_CASE("a known id is not looked at again, id 0 is none", "[cache]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    plan_cache cache(planner{toy_table()});
    CHECK(cache.find(7) == nullptr);
    const plan* made = &cache.plan_for(c.g.view(), 7);
    CHECK(cache.find(7) == made);
    CHECK(&cache.plan_for({}, 7) == made);
    CHECK(cache.find(0) == nullptr);
    CHECK(&cache.plan_for(c.g.view(), 8) == made);  // a new id of the same content
    CHECK(cache.find(8) == made);
}

TEST_CASE("everything that planning reads is in the fingerprint", "[cache]") {
    norm_case c;
    const id out = c.g.matmul(format::q4_K, 64, c.mul);
    const fingerprint before = fingerprint_of(c.g.view());
    CHECK(before == fingerprint_of(c.g.view()));
    const std::function<void(tensor&)> changes[] = {
        [](tensor& t) { t.kind = op::add; },      [](tensor& t) { t.sub = sub_op::silu; },
        [](tensor& t) { t.type = format::f16; },  [](tensor& t) { t.flags ^= flag_output; },
        [](tensor& t) { t.weight = !t.weight; },  [](tensor& t) { t.reachable = false; },
        [](tensor& t) { t.ne[3] += 1; },          [](tensor& t) { t.nb[2] += 4; },
        [](tensor& t) { t.src[2] = 0; },          [](tensor& t) { t.src[9] = 0; },
        [](tensor& t) { t.view_src = 0; },        [](tensor& t) { t.params[0] ^= 1; },
        [](tensor& t) { t.params[3] ^= 1; },      [](tensor& t) { t.buffer += 1; },
        [](tensor& t) { t.offset += 256; },       [](tensor& t) { t.data = nullptr; },
        [](tensor& t) { t.allocated = 1 << 20; }, [](tensor& t) { t.stream = 3; },
        [](tensor& t) { t.uses += 1; },
    };
    for (std::size_t i = 0; i < std::size(changes); ++i) {
        for (const id t : {out, c.norm}) {
            INFO("change " << i << " of tensor " << t);
            graph_builder changed = c.g;
            const graph_view view = changed.view();
            changes[i](changed[t]);
            CHECK_FALSE(before == fingerprint_of(view));
        }
    }
    const auto changes_print = [](tensor of, void (*change)(tensor&)) {
        graph_view view;
        view.tensors = &of;
        view.tensor_count = 1;
        const fingerprint unchanged = fingerprint_of(view);
        change(of);
        return !(unchanged == fingerprint_of(view));
    };
    tensor t;
    t.kind = op::flash_attn_ext;
    CHECK(changes_print(t, [](tensor& a) { a.params[4] = 128; }));
    for (const op kind : {op::other, op::clamp, op::unary}) {  // it may be the engine's own op
        t.kind = kind;
        CHECK(changes_print(t, [](tensor& a) { a.params[15] = 1; }));
    }
    t.kind = op::other;
    CHECK(changes_print(t, [](tensor& a) { a.op_name = "OWN"; }));
    graph_builder swapped = c.g;
    std::swap(swapped.nodes[0], swapped.nodes[1]);
    CHECK_FALSE(before == fingerprint_of(swapped.view()));
}

TEST_CASE("every number of a ROPE is in the fingerprint", "[cache]") {
    graph_builder g;
    const id x = g.input(format::f32, {64, 2, 3});
    const id t = g.node(op::rope, format::f32, {64, 2, 3}, {x, g.input(format::i32, {3})});
    const fingerprint before = fingerprint_of(g.view());
    for (std::int32_t& word : g[t].params) {
        word ^= 1;
        CHECK_FALSE(fingerprint_of(g.view()) == before);
        word ^= 1;
    }
}

TEST_CASE("a view without the tensors that it counts is refused as ever", "[cache]") {
    plan_cache cache(planner{toy_table()});
    graph_view view;
    view.tensor_count = view.node_count = 2;
    const plan& refused = cache.plan_for(view);
    CHECK(refused.state().code == status_code::invalid_argument);
    CHECK(refused.size() == 2);
    view = {};
    CHECK(cache.plan_for(view).state().ok());
}

TEST_CASE("the oldest plan makes room", "[cache]") {
    plan_cache cache(planner{toy_table()}, 2);
    graph_builder graphs[3];
    for (int i = 0; i < 3; ++i) {
        graphs[i].matmul(format::q4_K, 64 + i, graphs[i].input(format::f32, {512}));
        cache.plan_for(graphs[i].view(), static_cast<std::uint64_t>(i) + 1);
    }
    CHECK(cache.find(1) == nullptr);
    CHECK(cache.find(2) != nullptr);
    CHECK(cache.find(3) != nullptr);
}

TEST_CASE("as many graphs as a step is cut into keep their plans", "[cache]") {
    plan_cache cache(planner{toy_table()});
    constexpr int splits = 2 * 94 + 1;
    std::vector<graph_builder> graphs(splits);
    for (int i = 0; i < splits; ++i)
        graphs[static_cast<std::size_t>(i)].matmul(
            format::q4_K, 64 + i, graphs[static_cast<std::size_t>(i)].input(format::f32, {512}));
    for (int step = 0; step < 3; ++step)
        for (graph_builder& g : graphs) cache.plan_for(g.view());
    CHECK(cache.made() == splits);
}
