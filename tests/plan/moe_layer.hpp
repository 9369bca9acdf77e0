// A layer of experts whose router and experts are one MOE_FFN, or the nodes that it stands for; and
// what their plans have in common.
#pragma once

#include "cases.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/step.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace catena_test {

/// Memory that nothing reads: where the scratch would be.
inline void* const somewhere = reinterpret_cast<void*>(std::uintptr_t{5} << 40);

struct moe_shape {
    std::int64_t tokens = 1, experts = 16, chosen = 4, width = 512, inner = 256;
    format gates = format::q4_K, downs = format::q6_K;
    bool merged = false;
};

/// Calls `test` with split and merged weights, each with one token and with four.
template <class F>
void each_moe_shape(const F& test) {
    for (const bool merged : {false, true})
        for (const std::int64_t tokens : {1, 4}) {
            CAPTURE(merged, tokens);
            moe_shape s;
            s.merged = merged;
            s.tokens = tokens;
            test(s);
        }
}

/// A norm, a router with its experts, and the sum with what was normed; the router and the experts
/// are one node or as many as llama.cpp builds for them.
struct moe_layer : graph_builder {
    moe_shape is;
    graph_builder& g = *this;
    id x, norm, router, ups, gates = catena::no_tensor, downs, moe, sum;

    moe_layer(const moe_shape& s, bool whole) : is(s) {
        const std::int64_t up_rows = is.merged ? 2 * is.inner : is.inner;
        x = g.input(format::f32, {is.width, is.tokens});
        norm = g.scaled_norm(x);
        router = g.weight(format::f32, {is.width, is.experts});
        ups = g.weight(is.gates, {is.width, up_rows, is.experts});
        if (!is.merged) gates = g.weight(is.gates, {is.width, is.inner, is.experts});
        downs = g.weight(is.downs, {is.inner, is.width, is.experts});
        moe = whole ? one_node() : all_nodes();
        sum = g.add(moe, x);
        g[sum].flags |= catena::flag_output;
    }

    id one_node() {
        const id t = g.node(op::moe_ffn, format::f32, {is.width, is.tokens},
                            {norm, router, ups, gates, downs});
        g[t].params[0] = static_cast<std::int32_t>(is.chosen);
        return t;
    }

    id all_nodes() {
        const shape all = {is.experts, is.tokens}, some = {is.chosen, is.tokens};
        const shape single = {1, is.chosen, is.tokens};
        const id logits = g.mul_mat(router, norm);
        const id scores = g.same_shape(op::soft_max, logits, {logits});
        set(scores, {1});
        const id rows = g.reshape(scores, {1, is.experts, is.tokens});
        const id sorted = g.node(op::argsort, format::i32, all, {scores});
        g[sorted].params[0] = 1;
        const id ids = g.view(sorted, some);
        for (int d = 1; d < 4; ++d) g[ids].nb[d] = g[sorted].nb[d];
        const id picked = g.reshape(g.node(op::get_rows, format::f32, single, {rows, ids}), some);
        const id total = g.node(op::sum_rows, format::f32, {1, is.tokens}, {picked});
        const id least = g.same_shape(op::clamp, total, {total});
        set(least, {6.103515625e-5f, std::numeric_limits<float>::infinity()});
        const id weights = g.reshape(g.same_shape(op::div, picked, {picked, least}), single);
        const id column = g.reshape(norm, {is.width, 1, is.tokens});
        const id gated = is.merged ? g.glu_of_halves(g.mul_mat_id(ups, column, ids))
                                   : glu_of(g.mul_mat_id(gates, column, ids), column, ids);
        const id each = g.mul(g.mul_mat_id(downs, gated, ids), weights);
        id out = slot(each, 0);
        std::vector<id> slots;
        for (std::int64_t s = 1; s < is.chosen; ++s) slots.push_back(slot(each, s));
        for (const id s : slots) out = g.add(out, s);
        return out;
    }
    id glu_of(id gate, id column, id ids) { return g.glu(gate, g.mul_mat_id(ups, column, ids)); }
    void set(id t, std::initializer_list<float> words) {
        std::memcpy(g[t].params, words.begin(), words.size() * sizeof(float));
    }
    id slot(id each, std::int64_t s) {
        const id t = g.view(each, {is.width, is.tokens}, s * g[each].nb[1]);
        g[t].nb[1] = g[each].nb[2];
        g[t].nb[2] = g[t].nb[3] = g[t].nb[1] * is.tokens;
        return t;
    }

    catena::graph_view seen(const catena::engine_model* engine = &catena::node_by_node) {
        catena::graph_view out = g.view();
        out.engine = engine;
        out.scratch = somewhere;
        return out;
    }
};

inline catena::plan planned(const catena::graph_view& view) {
    const catena::plan p = catena::planner(catena::instances::sm_90()).plan(view);
    CHECK(p.state().message == std::string());
    return p;
}

/// The numbers with which a step sends tokens to experts, if it does.
inline catena::routing_numbers routing_of(const catena::plan& p, std::size_t step) {
    const catena::step_args args = p.args(static_cast<int>(step), nullptr);
    return args.of_routing() ? args.route.numbers : args.matvec.routing.numbers;
}

/// What two plans must have in common whose nodes are counted differently.
inline void check_same_steps(const catena::plan& a, const catena::plan& b) {
    REQUIRE(a.steps().size() == b.steps().size());
    for (std::size_t i = 0; i < a.steps().size(); ++i) {
        CAPTURE(i);
        const catena::step &s = a.steps()[i], &t = b.steps()[i];
        CHECK(a.rows().chains[a.chains()[static_cast<std::size_t>(s.chain)].chain].name ==
              b.rows().chains[b.chains()[static_cast<std::size_t>(t.chain)].chain].name);
        CHECK(s.row == t.row);
        CHECK(s.what == t.what);
        CHECK(s.bytes == t.bytes);
        const catena::routing_numbers r = routing_of(a, i), q = routing_of(b, i);
        CHECK(r.chosen == q.chosen);
        CHECK(r.normalized == q.normalized);
        CHECK(r.least == q.least);
    }
    CHECK(a.workspace_bytes() == b.workspace_bytes());
}

/// Does an engine's loop launch each step once, at or behind the first node that it covers?
inline void check_walk(const catena::graph_view& view, const catena::plan& p) {
    REQUIRE(p.size() == view.size());
    std::size_t next = 0;
    for (int i = 0; i < p.size(); ++i) {
        CAPTURE(i);
        CHECK((p.at(i).role == catena::role::launch) == (p.steps_at(i).size() > 0));
        CHECK((p.at(i).role == catena::role::engine) == (p.at(i).step < 0));
        for (const catena::step& s : p.steps_at(i)) {
            CHECK(&s == &p.steps()[next++]);
            CHECK(s.launch_at == i);
        }
    }
    CHECK(next == p.steps().size());
    for (const catena::step& s : p.steps()) {
        REQUIRE(s.node_count > 0);
        const auto nodes = p.covered(s);
        CHECK(std::is_sorted(nodes.begin(), nodes.end()));
        CHECK(std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end());
        for (const std::int32_t n : nodes) {
            REQUIRE(n >= 0);
            REQUIRE(n < p.size());
            CHECK(p.at(n).role != catena::role::engine);
        }
    }
    for (const catena::planned_chain& c : p.chains()) {
        CHECK(c.activation < view.tensor_count);
        CHECK(std::max(c.node, c.sum) < p.size());
    }
    for (const catena::left_over& l : p.left()) CHECK(l.what.node < p.size());
}

}  // namespace catena_test
