// Ops of an engine's own in plans: where they are taken over, where not, and that the proof knows
// them.
#include "cases.hpp"
#include "faults.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/launch/row.hpp"
#include "catena/pick/join.hpp"
#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include "catena_test/catch.hpp"

#include <cstring>

using namespace catena;
using namespace catena_test;

namespace {

bool is_tangent(const tensor& node, op_numbers&) { return node.sub == sub_op::tanh; }
bool is_bounded(const tensor& node, op_numbers& n) {
    std::memcpy(&n.a, &node.params[0], sizeof n.a);
    std::memcpy(&n.b, &node.params[1], sizeof n.b);
    return node.kind == op::clamp;
}
bool is_leaky(const tensor& node, op_numbers& n) {
    std::memcpy(&n.a, &node.params[0], sizeof n.a);
    return node.kind == op::other && node.params[0] != 0;
}
constexpr own_op listed[] = {{"tangent", is_tangent, nullptr},
                             {"bounded", is_bounded, nullptr},
                             {"leaky", is_leaky, nullptr}};
constexpr own_ops ops{listed, 3};
constexpr own_ops other_ops{listed, 1};

/// The set of sm_90 with places for own ops: behind each weight of a norm, and in every epilogue.
struct own_set {
    std::vector<row> rows;
    std::vector<lowered_chain> chains;

    own_set() {
        const table t = instances::sm_90();
        for (int i = 0; i < t.row_count; ++i) {
            row r = t.rows[i];
            if (r.computes.kind() != skeleton::row) {
                product_computation& c = r.computes.product();
                c.own = true;
                c.epilogue = c.epilogue | epilogue_part::own;
                rows.push_back(r);
                continue;
            }
            row_computation& c = r.computes.row();
            c.own = true;
            rows.push_back(r);
            c.stages = c.stages | stage_kind::own;
            rows.push_back(r);
        }
        for (int i = 0; i < t.chain_count; ++i) {
            const lowered_chain& from = t.chains[i];
            lowered_chain plain = from, own = from;
            own.count = 0;
            for (int s = 0; s < from.count; ++s) {
                stage one = from.stages[s];
                if (one.kind == stage_kind::epilogue)
                    plain.stages[s].parts = one.parts = one.parts | epilogue_part::own;
                own.stages[own.count++] = one;
                if (one.kind == stage_kind::mul_weight)
                    own.stages[own.count++] = {stage_kind::own, operand::none, {}, {}};
            }
            chains.push_back(plain);
            if (own.count > from.count && pattern_of(own).known) chains.push_back(own);
        }
    }

    table with(const own_ops* list) const {
        table t = instances::sm_90();
        t.rows = rows.data();
        t.row_count = static_cast<int>(rows.size());
        t.chains = chains.data();
        t.chain_count = static_cast<int>(chains.size());
        t.ops = list;
        return t;
    }
};

const table& own_table() {
    static const own_set set;
    static const table t = set.with(&ops);
    return t;
}

/// A norm, bounded; a matrix and its tangent; a matrix and its leaky result.
struct own_case {
    graph_builder g;
    id mul, clamp, up, tangent, down, leaky;

    explicit own_case(std::int64_t columns = 1) {
        mul = g.scaled_norm(g.input(format::f32, {512, columns}));
        clamp = g.same_shape(op::clamp, mul, {mul});
        put(clamp, 0, -1), put(clamp, 1, 2);
        up = g.matmul(format::q4_K, 256, clamp);
        tangent = g.unary(up, sub_op::tanh);
        down = g.matmul(format::q4_K, 512, tangent);
        leaky = g.other({down});
        put(leaky, 0, 0.1f);
    }
    void put(id node, int word, float value) {
        std::memcpy(&g[node].params[word], &value, sizeof value);
    }
    plan planned(const table& t = own_table()) {
        options asked;
        asked.verify = false;
        return planner(t, asked).plan(g.view());
    }
};

}  // namespace

TEST_CASE("of a node that computes no op of the list there is no call", "[own]") {
    own_case c;
    CHECK(ops.of(c.g[c.leaky]).function == own_function(2));
    c.put(c.leaky, 0, 0);
    CHECK(ops.of(c.g[c.leaky]).function == gate_function::none);
}

TEST_CASE("an engine's own ops are a stage of a row, a function and a part of an epilogue",
          "[own]") {
    for (const std::int64_t columns : {1, 40}) {
        own_case c(columns);
        const plan p = c.planned();
        CHECK(steps_of(p) == "2: 0 1 2, 3: 3 4, 5: 5 6");
        const verification v = verify(c.g.view(), p);
        CHECK(v.state.message == std::string());
        CHECK(v.proved);
        CHECK(p.args(0, nullptr).row.own.function == own_function(1));
        CHECK(p.args(0, nullptr).row.own.with.b == 2);
        for (const int step : {1, 2}) {
            const step_args a = p.args(step, nullptr);
            const matvec_member& m = columns == 1 ? a.matvec.member[0] : a.matmul.member[0];
            CHECK(m.function == (step == 1 ? own_function(0) : gate_function::none));
            CHECK(m.own.function == (step == 1 ? gate_function::none : own_function(2)));
            CHECK(m.own.with.a == (step == 1 ? 0 : 0.1f));
        }
    }
}

TEST_CASE("without a list nothing is an own op, and Catena's rows serve none", "[own]") {
    own_case c;
    static const own_set set;
    CHECK(steps_of(c.planned(set.with(nullptr))) == "3: 3, 5: 5");
    table catena_rows = instances::sm_90();
    catena_rows.ops = &ops;
    const plan p = c.planned(catena_rows);
    CHECK(verify(c.g.view(), p).proved);
    for (const id node : {c.clamp, c.tangent, c.leaky})
        CHECK(p.at(c.g.position(node)).role == role::engine);
}

TEST_CASE("an own op that others read beside, or that has a second source, stays", "[own]") {
    own_case read;
    read.g.other({read.mul});
    own_case fed;
    fed.g[fed.leaky].src[1] = fed.up;
    for (own_case* c : {&read, &fed}) {
        const plan p = c->planned();
        const id left = c == &read ? c->clamp : c->leaky;
        CHECK(p.at(c->g.position(left)).role == role::engine);
        CHECK(verify(c->g.view(), p).proved);
    }
}

TEST_CASE("the proof finds an own op that is another, left out, or has other numbers", "[own]") {
    using put_fault = void (*)(own_call&);
    const put_fault wrong[] = {[](own_call& o) { o.function = own_function(0); },
                               [](own_call& o) { o.function = gate_function::none; },
                               [](own_call& o) { o.with.a += 1; },
                               [](own_call& o) { o.with.b += 1; }};
    for (const put_fault put : wrong)
        for (const std::size_t step : {0u, 2u}) {
            own_case c;
            plan p = c.planned();
            plan_faults inside{p};
            put(step == 0 ? inside.row(step).own : inside.member(step, 0).own);
            CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
        }
    own_case c;
    plan p = c.planned();
    plan_faults{p}.member(1, 0).alpha = 1;
    CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
    const plan right = c.planned();
    c.put(c.clamp, 1, 3);  // the node has other numbers than the plan
    CHECK(verify(c.g.view(), right).state.code == status_code::wrong_plan);
}

TEST_CASE("the proof takes no node for an own op that reads a second source or is of another kind",
          "[own]") {
    using change = void (*)(own_case&);
    const change changes[] = {[](own_case& c) { c.g[c.leaky].src[1] = c.up; },
                              [](own_case& c) { c.g[c.leaky].src[1] = c.mul; },
                              [](own_case& c) { c.g[c.tangent].kind = op::soft_max; }};
    for (const change make : changes) {
        own_case c;
        const plan right = c.planned();
        REQUIRE(verify(c.g.view(), right).proved);
        make(c);
        CHECK(verify(c.g.view(), right).state.code == status_code::wrong_plan);
    }
}

TEST_CASE("an order for own ops keeps them behind their matrices, within the bound", "[own]") {
    for (const op kind : {op::unary, op::clamp}) {
        graph_builder g;
        const id x = g.scaled_norm(g.input(format::f32, {512, 1}));
        const id a = g.matmul(format::q4_K, 256, x), b = g.matmul(format::q4_K, 256, x);
        const id of_a = g.same_shape(kind, a, {a});
        if (kind == op::unary) g[of_a].sub = sub_op::tanh;
        g.unary(b, sub_op::tanh);
        CHECK(optimize(g.view()).order == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
        CHECK(optimize(g.view(), &ops).order == std::vector<std::int32_t>{0, 1, 2, 4, 3, 5});
    }
    own_case c;
    CHECK(c.planned().workspace_bytes() <= optimize(c.g.view(), &ops).workspace_bound);
    graph_index index;
    index.ops = &ops;
    REQUIRE(index.build(c.g.view()).ok());
    const slot_map slots(index);
    CHECK(slots.of(c.clamp, 512, 0).from == 0);  // a step may launch at the norm already
    CHECK(slots.of(c.tangent, 256, 0).until == 6);
}

TEST_CASE("all that may follow a matmul in its launch moves with it", "[own]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, 1}));
    const id a = g.matmul(format::q4_K, 256, x);
    g.other({a});
    id last = g.matmul(format::q4_K, 256, x);
    const int first = g.position(last);
    last = g.scale(last, 2);
    last = g.add(last, g.weight(format::f32, {256}));
    last = g.unary(last, sub_op::relu);
    last = g.same_shape(op::sqr, last, {last});
    last = g.same_shape(op::clamp, last, {last});
    last = g.add(last, g.input(format::f32, {256, 1}));
    REQUIRE(g.position(last) - first == max_followers);
    const ordering o = optimize(g.view(), &ops);
    CHECK(o.order.back() == g.position(a) + 1);
}

TEST_CASE("tables with different own ops cannot be joined, others can", "[own]") {
    const table own = own_table();
    table other = own;
    other.ops = &other_ops;
    const joined both{own, other};
    CHECK(std::string(both.rows().state.message).find("differ") != std::string::npos);
    const joined with_catena{instances::sm_90(), own};
    CHECK(with_catena.rows().state.ok());
    own_case c;
    CHECK(steps_of(c.planned(with_catena.rows())) == "2: 0 1 2, 3: 3 4, 5: 5 6");
}

TEST_CASE("a row that is launched by hand has an own op if its table has", "[own]") {
    const float x[4] = {};
    float y[4];
    row_args a;
    a.x = x, a.f32 = y, a.k = 4, a.rows = 1;
    const stage_set stages = stage_kind::rms_norm | stage_kind::own;
    CHECK(launch_row(own_table(), stages, a, nullptr).code == status_code::invalid_argument);
    a.own = {own_function(1), {-1, 1}};
    CHECK(launch_row(instances::sm_90(), stages, a, nullptr).code == status_code::invalid_argument);
    CHECK(launch_row(own_table(), stages, a, nullptr).code != status_code::invalid_argument);
}
