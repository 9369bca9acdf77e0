// Linear attention by the gated delta rule: its launch is run and compared, and each damage to what
// it reads or writes is found.
#include "run/check.hpp"

#include "catena/kernel/args.hpp"
#include "catena/plan/step.hpp"

#include "run_parts.hpp"
#include "tables.hpp"

#include <cstdint>
#include <functional>
#include <string>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

constexpr std::int64_t head_k = 64, value_heads = 4, key_heads = 2;

/// The delta rule with a state that is one of three, and the copy of the next state over the first.
/// The decay is a softplus times a factor, or there for each value of a key.
json::graph recalling_layer(std::int64_t tokens, bool by_value) {
    graph_builder b;
    const std::int64_t size = head_k * head_k * value_heads;
    const id all = b.input(format::f32, {size, 3});
    const id picked =
        b.node(op::get_rows, format::f32, {size, 1}, {all, b.input(format::i32, {1})});
    const id q = b.input(format::f32, {head_k, key_heads, tokens});
    const id keys = b.input(format::f32, {head_k, key_heads, tokens});
    const id v = b.input(format::f32, {head_k, value_heads, tokens});
    id decay = b.input(format::f32, {head_k, value_heads, tokens});
    if (!by_value) {
        const id softened = b.unary(b.input(format::f32, {value_heads, tokens}), sub_op::softplus);
        decay = b.reshape(b.mul(softened, b.weight(format::f32, {value_heads})),
                          {1, value_heads, tokens});
    }
    const id beta = b.input(format::f32, {1, value_heads, tokens});
    const id net =
        b.node(op::gated_delta_net, format::f32, {head_k * value_heads, tokens + head_k},
               {q, keys, v, decay, beta, b.reshape(picked, {head_k, head_k, value_heads})});
    b[net].params[0] = 1;
    const id to = b.view(all, {size});
    const id kept = b.node(op::cpy, format::f32, {size},
                           {b.view(net, {size}, 4 * head_k * value_heads * tokens), to});
    b.rename(kept, all);
    b.share(kept, to);
    b.other({b.view(net, {head_k, value_heads, tokens})});
    return as_file(b, "recalling");
}

/// What the only step of the layer is found to be.
step_result run_layer(std::int64_t tokens, bool by_value, const change<heads_args>& before = {},
                      const change<heads_args>& behind = {}) {
    const json::graph g = recalling_layer(tokens, by_value);
    const auto on = host_machine(1);
    const placement where{g, *on};
    const table t =
        changed_launch<heads_args>::table(on->equip(table_for("sm_90")), before, behind);
    const plan p = planner{t}.plan(where.view());
    REQUIRE(p.state().ok());
    REQUIRE(p.steps().size() == 1);
    CHECK(p.steps()[0].node_count == (by_value ? 3 : 5));
    checker check{p, where, *on, {}};
    return check.run(0);
}

/// "f32", "state", "f32 state": what a run found wrong; "fault": the launch did not end.
std::string wrong_in(const step_result& r) {
    std::string all = r.fault.empty() ? "" : "fault";
    for (const comparison& c : r.comparisons)
        if (!c.ok()) all += (all.empty() ? "" : " ") + c.of;
    return all;
}

}  // namespace

TEST_CASE("a launch that recalls agrees with the reference, as do values and state it writes",
          "[run][recalled]") {
    for (const std::int64_t tokens : {1, 3, 8})
        for (const bool by_value : {false, true}) {
            CAPTURE(tokens, by_value);
            const step_result r = run_layer(tokens, by_value);
            CHECK(wrong_in(r) == "");
            CHECK(r.comparisons.size() == 2);
            CHECK(r.computed == value_heads * head_k / 8);
            CHECK(r.computed == r.rows);
        }
}

TEST_CASE("what a launch that recalls reads or writes wrong is found", "[run][recalled]") {
    const auto before = [](const change<heads_args>& f, bool by_value = false) {
        return wrong_in(run_layer(3, by_value, f));
    };
    // The other states have not been written.
    CHECK(before([](heads_args& a) { a.recalled.state_id = nullptr; }) == "fault");
    CHECK(before([](heads_args& a) { a.recalled.decay_factor = nullptr; }) == "f32 state");
    CHECK(before([](heads_args& a) { a.recalled.by_value = false; }, true) == "f32 state");
    CHECK(before([](heads_args& a) { a.recalled.beta = a.recalled.decay; }) == "f32 state");
    CHECK(before([](heads_args& a) { a.recalled.keys = a.recalled.queries; }) == "f32 state");
    CHECK(before([](heads_args& a) { a.recalled.queries = a.recalled.keys; }) == "f32");
    CHECK(before([](heads_args& a) { a.member[0].scale *= 1.01f; }) == "f32");
    CHECK(before([](heads_args& a) { a.recalled.next_state = nullptr; }) == "state");
    const auto behind = [](const change<heads_args>& f) {
        return wrong_in(run_layer(3, false, {}, f));
    };
    CHECK(behind([](heads_args& a) { a.member[0].f32[head_k * value_heads * 3 - 1] += 0.5f; }) ==
          "f32");
    CHECK(behind([](heads_args& a) {
              a.recalled.next_state[head_k * head_k * value_heads - 1] += 0.5f;
          }) == "state");
}
