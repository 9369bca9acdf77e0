// Gated values that their readers' launch makes: which ones, and how they are handed over.
#include "cases.hpp"
#include "random/tables.hpp"

#include "catena/pick/measured.hpp"
#include "catena/plan/explain.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// What the engine made of a token, times a function of a gate, and who multiplies that.
struct gated_case {
    std::int64_t k = 512, tokens = 1;
    graph_builder g = {};
    id x = g.other({g.input(format::f32, {k, tokens})});
    id gate = g.other({g.input(format::f32, {k, tokens})});

    /// The value and its product, behind x and gate.
    id multiply(id made_of, id gated_by, sub_op f = sub_op::silu) {
        return g.matmul(format::q4_K, 64, flat(g.mul(made_of, g.unary(gated_by, f))));
    }
    /// A norm of each head of x.
    id normed(std::int64_t head) { return g.scaled_norm(g.reshape(x, {head, k / head * tokens})); }
    id flat(id t) { return g[t].ne[0] == k ? t : g.reshape(t, {k, tokens}); }
    /// The gate head by head, each beside something else.
    id apart(std::int64_t head) {
        const id both = g.other({g.input(format::f32, {2 * head, k / head})});
        const id half = g.view(both, {head, k / head}, head * 4);
        g[half].nb[1] = g[both].nb[1];
        return half;
    }
    plan planned(const options& asked = {}) { return checked_plan(g, norm_inside_table(), asked); }
};

/// Why the launch of the readers makes no value that is gated.
reason apart_because(const plan& p) {
    REQUIRE(p.chains().size() == 1);
    REQUIRE(p.steps().size() == 2);
    return p.chains()[0].norm_apart.why;
}

bool gates_in_step_of_its_own(const plan& p) {
    return p.steps().size() == 2 && p.steps()[0].what.kind() == skeleton::row;
}

}  // namespace

TEST_CASE("a gated value is made by the launch that alone reads it", "[gated]") {
    gated_case c;
    c.multiply(c.x, c.gate);
    const plan p = c.planned();
    CHECK(steps_of(p) == "4: 2 3 4");
    CHECK((p.at(2).elided && p.at(3).elided));
    CHECK(p.workspace_bytes() == 0);
    CHECK(gates_inside(p.steps()[0].what.product()));
    CHECK_FALSE(makes_norm(p.steps()[0].what));
    CHECK(p.explain().chains[0].inside);
    CHECK_FALSE(p.explain().chains[0].from_epilogue);
    const matvec_args a = p.args(0, nullptr).matvec;
    CHECK(a.x == c.g[c.x].data);
    CHECK(a.x_bytes == 2048);
    CHECK(a.norm_weight == nullptr);
    CHECK(a.gate.data == c.g[c.gate].data);
    CHECK(a.gate.k == 512);
    CHECK(a.gate.function == gate_function::silu);
}

TEST_CASE("a gate is read head by head where it lies", "[gated]") {
    gated_case c;
    const id half = c.apart(32);
    const id copy = c.g.node(op::cont, format::f32, {512}, {half});
    c.multiply(c.x, copy, sub_op::sigmoid);
    const plan p = c.planned();
    CHECK(steps_of(p) == "7: 4 5 6 7");
    const matvec_args a = p.args(0, nullptr).matvec;
    CHECK(a.gate.data == c.g[half].data);
    CHECK(a.gate.nb1 == 256);
    CHECK(a.gate.k == 32);
    CHECK(a.gate.function == gate_function::sigmoid);
}

TEST_CASE("a launch norms the heads that it gates", "[gated]") {
    const std::int64_t head = GENERATE(32, 64, 128);
    gated_case c;
    const id norm = c.normed(head);
    c.multiply(norm, c.g.reshape(c.gate, {head, 512 / head}));
    const plan p = c.planned();
    CHECK(steps_of(p) == "9: 3 4 6 7 9");
    const matvec_args a = p.args(0, nullptr).matvec;
    CHECK(a.x == c.g[c.x].data);
    CHECK(a.norm_weight == c.g[c.g[norm].src[1]].data);
    CHECK(a.eps == 1e-6f);
    CHECK(a.gate.k == head);
    CHECK(a.gate.nb1 == 4 * head);
    CHECK(p.steps()[0].what.product().gate_k == head);
}

TEST_CASE("the halves of a tensor are a gate and what it gates", "[gated]") {
    gated_case c;
    const id both = c.g.other({c.g.input(format::f32, {1024})});
    c.g.matmul(format::q4_K, 64, c.g.glu_of_halves(both));
    const plan p = c.planned();
    CHECK(steps_of(p) == "4: 3 4");
    const matvec_args a = p.args(0, nullptr).matvec;
    const auto* const first = static_cast<const std::byte*>(c.g[both].data);
    CHECK(static_cast<const void*>(a.gate.data) == first);
    CHECK(a.x == first + 2048);
}

TEST_CASE(
    "a norm of heads that a launch of matrices cannot make has a step of its own, with a reason",
    "[gated]") {
    gated_case c;
    SECTION("long heads") { c.multiply(c.normed(256), c.g.reshape(c.gate, {256, 2})); }
    SECTION("gaps between heads") {
        const id wide = c.g.other({c.g.input(format::f32, {96, 8})});
        const id heads = c.g.view(wide, {64, 8});
        c.g[heads].nb[1] = c.g[wide].nb[1];
        c.multiply(c.g.scaled_norm(heads), c.g.reshape(c.gate, {64, 8}));
    }
    CHECK(apart_because(c.planned()) == reason::no_norm_inside);
}

TEST_CASE("a gated value that a launch of matrices cannot make has a step of its own", "[gated]") {
    gated_case c{.tokens = GENERATE(1, 2)};
    options asked;
    SECTION("several columns") {
        c.multiply(c.x, c.gate);
        if (c.tokens == 1) asked.pick.same_bits = true;  // bits that must not depend on columns
    }
    SECTION("a function without a value") {
        c.g.matmul(format::q4_K, 64, c.g.unary(c.gate, sub_op::silu));
    }
    SECTION("a gate that is not aligned") {
        c.g[c.gate].offset += 4;
        c.g[c.gate].data = static_cast<std::byte*>(c.g[c.gate].data) + 4;
        c.multiply(c.x, c.gate);
    }
    SECTION("a value that others read, too") {
        c.multiply(c.x, c.gate);
        c.g.other({c.g[c.g.nodes.back()].src[1]});
    }
    CHECK(gates_in_step_of_its_own(c.planned(asked)));
}

TEST_CASE("medians decide who gates if all three launches have one", "[gated]") {
    gated_case c;
    c.multiply(c.normed(64), c.g.reshape(c.gate, {64, 8}));
    options same_bits;
    same_bits.pick.same_bits = true;
    const plan inside = c.planned(), apart = c.planned(same_bits);
    REQUIRE(inside.steps().size() == 1);
    REQUIRE(apart.steps().size() == 2);
    const auto planned_with = [&](float us) {
        std::vector<measurement> medians;
        const auto add = [&medians](const step& s, float median) {
            medians.push_back({problem_key(s.what), s.row, median, 0});
        };
        add(apart.steps()[0], 3), add(apart.steps()[1], 4), add(inside.steps()[0], us);
        std::sort(medians.begin(), medians.end(),
                  [](const auto& a, const auto& b) { return a.problem < b.problem; });
        table rows = norm_inside_table();
        rows.measured = medians.data();
        rows.measured_count = static_cast<int>(medians.size());
        return checked_plan(c.g, rows);
    };
    CHECK(steps_of(planned_with(6.5f)) == steps_of(inside));
    const plan slower = planned_with(7.5f);
    CHECK(apart_because(slower) == reason::norm_slower);
    CHECK(slower.chains()[0].norm_apart.have == 7500);
}

TEST_CASE("a result may lie where a gated value would that nobody writes", "[gated]") {
    gated_case c;
    const id value = c.g.mul(c.x, c.g.unary(c.gate, sub_op::silu));
    c.g.share(c.g.matmul(format::q4_K, 512, value), value);
    CHECK(steps_of(c.planned()) == "4: 2 3 4");
}

TEST_CASE("somebody may take the place of a norm of heads that nobody writes", "[gated]") {
    gated_case c;
    const id norm = c.normed(64);
    const id opened = c.g.unary(c.g.reshape(c.gate, {64, 8}), sub_op::silu);
    const id value = c.g.mul(norm, opened);
    c.g.share(c.g.other({c.g.input(format::f32, {512})}), norm);
    c.g.matmul(format::q4_K, 64, c.flat(value));
    CHECK(gates_inside(c.planned().steps()[0].what.product()));
}

TEST_CASE("a launch that norms the heads that it gates reads a copy of the gate", "[gated]") {
    gated_case c;
    const id copy = c.g.node(op::cont, format::f32, {64, 8}, {c.apart(64)});
    c.multiply(c.normed(64), copy);
    const plan p = c.planned();
    REQUIRE(p.steps().size() == 1);
    CHECK(p.args(0, nullptr).matvec.gate.data == c.g[copy].data);
}

TEST_CASE("a norm is gated where it lies if its heads are not those of the gate", "[gated]") {
    gated_case c;
    const id norm = c.normed(64);
    c.multiply(c.g.reshape(norm, {128, 4}), c.g.reshape(c.gate, {128, 4}));
    const plan p = c.planned();
    REQUIRE(p.steps().size() == 1);
    CHECK(p.args(0, nullptr).matvec.x == c.g[norm].data);
}

TEST_CASE("a gate whose place somebody takes has been read by a step of its own", "[gated]") {
    gated_case c;
    SECTION("a node between") {
        const id value = c.g.mul(c.x, c.g.unary(c.gate, sub_op::silu));
        c.g.share(c.g.other({c.g.input(format::f32, {512})}), c.gate);
        c.g.matmul(format::q4_K, 64, value);
    }
    SECTION("the result of the product") { c.g.share(c.multiply(c.x, c.gate), c.gate); }
    SECTION("the result of the product, where x was") { c.g.share(c.multiply(c.x, c.gate), c.x); }
    SECTION("the result of the product, behind a norm of heads") {
        const id norm = c.normed(64);
        c.g.share(c.multiply(norm, c.g.reshape(c.gate, {64, 8})), c.gate);
    }
    CHECK(gates_in_step_of_its_own(c.planned()));
}
