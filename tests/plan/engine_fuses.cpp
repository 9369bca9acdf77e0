// What an engine does in one launch with the nodes around it is not taken apart.
#include "epilogue_cases.hpp"
#include "random/tables.hpp"

#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/cache.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/optimize.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// A router of 32 experts whose function picks some: nodes 0 to 3 are norm, MUL, matmul and
/// function.
struct router_case {
    graph_builder g;
    id x = g.scaled_norm(g.input(format::f32, {512}));
    id logits = g.matmul(format::q4_K, 32, x);
    id values = g.unary(logits, sub_op::sigmoid);
    id sorted = values;

    void biased() { sorted = g.add(values, g.weight(format::f32, {32})); }
    id picked() {
        const id order = g.node(op::argsort, format::i32, {32}, {sorted});
        return g.view(order, {4});
    }
    void gather(id ids) {
        g.node(op::get_rows, format::f32, {1, 4}, {g.reshape(values, {1, 32}), ids});
    }
};

}  // namespace

TEST_CASE("the function by which experts are picked is the engine's, with a bias and without",
          "[engine_fuses]") {
    router_case c;
    const bool bias = GENERATE(false, true);
    if (bias) c.biased();
    const id ids = c.picked();
    const bool gathered = GENERATE(true, false);
    if (gathered)
        c.gather(ids);
    else
        c.g.other({c.values});
    const plan p = planned(c.g);
    CHECK((p.at(3).step < 0) == gathered);
    CHECK(left_why(p, 3) == (gathered ? reason::engine_fuses : reason::none));
}

TEST_CASE("what is sorted by groups of experts is no one launch of an engine", "[engine_fuses]") {
    router_case c;
    c.biased();
    c.g.other({c.g.reshape(c.sorted, {8, 4})});  // the best of each group
    c.gather(c.picked());
    CHECK(member(planned(c.g), 1).epilogue.has(epilogue_part::act));
}

TEST_CASE("in the order that is asked for a function stays with what picks experts by it",
          "[engine_fuses]") {
    router_case c;
    const id ids = c.picked();
    c.gather(ids);
    const id other = c.g.matmul(format::q4_K, 64, c.x);
    const ordering o = optimize(c.g.view());
    CHECK(o.order[3] == c.g.position(other));
    CHECK(o.order[4] == c.g.position(c.values));
}

TEST_CASE("so does a function that no launch makes", "[engine_fuses]") {
    norm_case c;
    const id z = c.g.matmul(format::q4_K, 32, c.mul);
    const id made = c.g.unary(z, sub_op::softplus);
    c.g.other({made});
    const id other = c.g.matmul(format::q4_K, 64, c.mul);
    const ordering o = optimize(c.g.view());
    CHECK(o.order[3] == c.g.position(other));
    CHECK(o.order[4] == c.g.position(made));
}

TEST_CASE("a soft cap is the engine's, a SCALE before anything else is not", "[engine_fuses]") {
    norm_case c;
    const id scaled = c.g.scale(c.g.matmul(format::q4_K, 32, c.mul), 0.5f);
    const sub_op function = GENERATE(sub_op::tanh, sub_op::softplus);
    const id made = c.g.unary(scaled, function);
    const bool capped = GENERATE(true, false);
    if (capped)
        c.g.scale(made, 2);
    else
        c.g.other({made});
    const bool fused = capped && function == sub_op::tanh;
    CHECK(steps_of(planned(c.g)) == (fused ? "1: 0 1, 2: 2" : "1: 0 1, 2: 2 3"));
}

TEST_CASE("the SCALE of a soft cap is not done with the norm before it", "[engine_fuses]") {
    norm_case c;
    c.g.scale(c.g.unary(c.g.scale(c.mul, 0.5f), sub_op::tanh), 2);
    CHECK(planned(c.g).steps().size() == 0);  // one launch of the engine's, as without it
}

TEST_CASE("the activation of a convolution is the engine's, its result is quantized",
          "[engine_fuses]") {
    graph_builder g;
    const id state = g.other({g.input(format::f32, {512, 1})});
    const op kind = GENERATE(op::ssm_conv, op::other);
    id y = g.same_shape(kind, state, {state, g.weight(format::f32, {4, 512})});
    if (GENERATE(false, true)) y = g.add(y, g.weight(format::f32, {512}));
    const id made = g.unary(y, sub_op::silu);
    g.matmul(format::q4_K, 64, made);
    const plan p = planned(g, shipped_table());
    const int node = g.position(made);
    CHECK((p.at(node).step < 0) == (kind == op::ssm_conv));
    CHECK(left_why(p, node) == (kind == op::ssm_conv ? reason::engine_fuses : reason::none));
    CHECK(p.counters().served == 1);
}

TEST_CASE("an engine that names its own model keeps what that says, not what ggml-cuda fuses",
          "[engine_fuses]") {
    router_case c;
    c.gather(c.picked());
    graph_view view = c.g.view();
    const int function = c.g.position(c.values);
    CHECK(planner(full_table()).plan(view).at(function).step < 0);
    view.engine = &node_by_node;
    CHECK(planner(full_table()).plan(view).at(function).step >= 0);
    CHECK(!(fingerprint_of(view) == fingerprint_of(c.g.view())));
}

TEST_CASE("a norm that no matmul reads is taken from an engine that needs two launches for it",
          "[engine_fuses]") {
    graph_builder g;
    g.other({g.scaled_norm(g.input(format::f32, {512}))});
    graph_view view = g.view();
    CHECK(planner(full_table()).plan(view).counters().served == 0);
    view.engine = &node_by_node;
    const plan p = planner(full_table()).plan(view);
    CHECK(p.at(0).step >= 0);
    CHECK(p.at(1).step == p.at(0).step);
}
