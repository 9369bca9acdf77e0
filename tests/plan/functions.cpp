// What a matmul's epilogue does with its result alone: functions without a gate, factors in memory.
#include "epilogue_cases.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr epilogue_set act = epilogue_set::of(epilogue_part::act);
constexpr epilogue_set factor = epilogue_set::of(epilogue_part::factor);

matvec_member only_member(const plan& p, int step) {
    return p.args(step, nullptr).matvec.member[0];
}

}  // namespace

TEST_CASE("an FFN without a gate is two launches behind its norm, bias and function included",
          "[functions]") {
    for (const bool squared : {false, true})
        for (const std::int64_t columns : {1, 40}) {
            graph_builder g;
            const id x = g.scaled_norm(g.input(format::f32, {512, columns}));
            const id up = g.add(g.matmul(format::q4_K, 256, x), g.weight(format::f32, {256}));
            id value = g.unary(up, squared ? sub_op::relu : sub_op::gelu);
            if (squared) value = g.same_shape(op::sqr, value, {value});
            g.matmul(format::q6_K, 512, value);
            const plan p = planned(g);
            CHECK(steps_of(p) == (squared ? "1: 0 1, 2: 2 3 4 5, 6: 6" : "1: 0 1, 2: 2 3 4, 5: 5"));
            CHECK(p.at(4).elided);
            CHECK(member(p, 1).epilogue == (act | epilogue_part::bias | epilogue_part::quantize));
            const auto a = p.args(1, nullptr);
            const matvec_member& m = columns == 1 ? a.matvec.member[0] : a.matmul.member[0];
            CHECK(m.up == nullptr);
            CHECK(m.function == (squared ? gate_function::relu_squared : gate_function::gelu));
        }
}

TEST_CASE("a function of experts' results is made where they are multiplied", "[functions]") {
    for (const std::int64_t tokens : {2, 40}) {
        graph_builder g;
        const id x = g.other({g.input(format::f32, {512, 1, tokens})});
        const id ids = g.input(format::i32, {2, tokens});
        g.unary(g.mul_mat_id(g.weight(format::q4_K, {512, 64, 5}), x, ids), sub_op::silu);
        CHECK(steps_of(planned(g)) == "1:, 1: 1 2");
    }
}

TEST_CASE("a RESHAPE between a matmul and its bias or function is no obstacle", "[functions]") {
    norm_case c;
    const id beta = c.g.matmul(format::q4_K, 32, c.mul);
    const id open = c.g.unary(c.g.reshape(beta, {1, 32, 1, 1}), sub_op::sigmoid);
    const id alpha = c.g.matmul(format::q4_K, 32, c.mul);
    c.g.add(c.g.reshape(alpha, {32, 1, 1}), c.g.weight(format::f32, {32}));
    const plan p = planned(c.g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 4 5 7");
    const matvec_args a = p.args(1, nullptr).matvec;
    CHECK(a.member[0].dst == c.g[open].data);
    CHECK(a.member[0].dst_nb1 == 32 * 4);
    CHECK(a.member[0].function == gate_function::sigmoid);
    CHECK(a.member[1].bias != nullptr);
}

TEST_CASE("of columns that a RESHAPE cuts otherwise results lie as the matmul numbers them",
          "[functions]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, 3}));
    const id y = g.reshape(g.matmul(format::q4_K, 256, x), {1, 256, 3});
    g.matmul(format::q4_K, 64, g.reshape(g.unary(y, sub_op::sigmoid), {256, 3}));
    const plan p = planned(g);
    CHECK(only_member(p, 1).function == gate_function::sigmoid);
    CHECK(only_member(p, 1).dst_nb1 == 256 * 4);
    CHECK_FALSE(member(p, 1).epilogue.has(epilogue_part::quantize));  // whose rows are 1 wide
}

TEST_CASE("of a product or a function that no matmul reads nothing is said, of a gated value it is",
          "[functions]") {
    norm_case c;
    c.g.other({c.g.matmul(format::q4_K, 256, c.mul)});
    const id x = c.g.input(format::f32, {256}), y = c.g.input(format::f32, {256});
    const id product = c.g.mul(x, y), function = c.g.unary(product, sub_op::silu);
    const id gated = c.g.mul(x, function);
    const plan p = planned(c.g);
    CHECK(left_why(p, c.g.position(product)) == reason::none);
    CHECK(left_why(p, c.g.position(function)) == reason::none);
    CHECK(left_why(p, c.g.position(gated)) == reason::not_read);
}

TEST_CASE("a function whose operand others read stays with the engine", "[functions]") {
    norm_case c;
    const id up = c.g.matmul(format::q4_K, 256, c.mul);
    c.g.unary(up, sub_op::gelu);
    SECTION("by a node") { c.g.other({up}); }
    SECTION("as an output") { c.g[up].flags |= flag_output; }
    CHECK(steps_of(planned(c.g)) == "1: 0 1, 2: 2");
}

TEST_CASE("a function that gates another value on its way to a matmul is the row step's",
          "[functions]") {
    graph_builder g;
    const id n = g.scaled_norm(g.input(format::f32, {512}));
    const id z = g.matmul(format::q4_K, 512, n);
    const id x = g.other({g.input(format::f32, {512})});
    const id value = g.mul(x, g.unary(z, sub_op::silu));
    const bool multiplied = GENERATE(false, true);
    if (multiplied) g.matmul(format::q4_K, 64, value);
    const plan p = planned(g);
    CHECK(steps_of(p) == (multiplied ? "1: 0 1, 2: 2, 5: 4 5, 6: 6" : "1: 0 1, 2: 2 4"));
}

TEST_CASE("a number in memory scales a product before its bias, in either order of operands",
          "[functions]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512}));
    const id one = g.weight(format::f32, {1});
    const id y = g.matmul(format::q4_K, 128, x);
    g.add(g.mul(y, one), g.weight(format::f32, {128}));
    const plan p = planned(g);
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3 4");
    CHECK(member(p, 1).epilogue == (factor | epilogue_part::bias));
    CHECK(only_member(p, 1).factor == g[one].data);
}

TEST_CASE("gate and up are scaled by their own numbers, or neither is", "[functions]") {
    for (const bool both : {true, false}) {
        norm_case c;
        const id s = c.g.weight(format::f32, {1}), t = c.g.weight(format::f32, {1});
        const id gate = c.g.mul(c.g.matmul(format::q4_K, 256, c.mul), s);
        const id up = c.g.matmul(format::q4_K, 256, c.mul);
        c.g.glu(gate, both ? c.g.mul(up, t) : up);
        const plan p = planned(c.g);
        CHECK(steps_of(p) == (both ? "1: 0 1, 2: 2 3 4 5 6" : "1: 0 1, 2: 2 3 4"));
        CHECK(only_member(p, 1).factor == c.g[s].data);
        CHECK(only_member(p, 1).up_factor == (both ? c.g[t].data : nullptr));
    }
}

TEST_CASE("a factor may be made on the way", "[functions]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, 3}));
    const id y = g.matmul(format::q4_K, 512, x);
    const id late = g.node(op::other, format::f32, {1}, {x});
    const id other = g.other({g.input(format::f32, {512, 3})});
    const id sum = g.add(g.mul(y, late), other);
    const plan p = planned(g);
    CHECK(steps_of(p) == "1: 0 1, 6: 2 5 6");  // where its last operand is there
    CHECK(only_member(p, 1).factor == g[late].data);
    CHECK(only_member(p, 1).dst == g[sum].data);
}

TEST_CASE("of experts a factor is one number for all, and no share of each", "[functions]") {
    for (const bool shares : {false, true}) {
        graph_builder g;
        const id x = g.other({g.input(format::f32, {512, 1, 3})});
        const id ids = g.input(format::i32, {2, 3});
        const id by = shares ? g.input(format::f32, {1, 2, 3}) : g.weight(format::f32, {1});
        g.mul(g.mul_mat_id(g.weight(format::q4_K, {512, 64, 5}), x, ids), by);
        CHECK(steps_of(planned(g)) == (shares ? "1:, 1: 1" : "1:, 1: 1 2"));
    }
}

TEST_CASE("a factor that the step overwrites, or that it makes itself, stays apart",
          "[functions]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512}));
    const id y = g.matmul(format::q4_K, 128, x);
    id by = g.input(format::f32, {1});
    SECTION("memory") { g.share(g.mul(y, by), by); }
    SECTION("one launch") {
        by = g.unary(g.matmul(format::q4_K, 1, x), sub_op::sigmoid);
        g.mul(y, by);
    }
    const plan p = planned(g);
    CHECK_FALSE(p.steps()[1].what.product().needs.epilogue.has(epilogue_part::factor));
}

TEST_CASE("each of few columns may have a factor", "[functions]") {
    const std::int64_t columns = GENERATE(2, 8, 9);
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, columns}));
    const id y = g.matmul(format::q4_K, 128, x);
    const bool repeated = columns == 8 && GENERATE(false, true);  // four numbers for eight
    const id by = g.input(format::f32, {1, repeated ? 4 : columns});
    g.mul(y, by);
    bool factors = columns <= 8 && !repeated;
    SECTION("without gaps") {}
    SECTION("with gaps") {
        g[by].nb[1] *= 2;
        factors = false;
    }
    const plan p = checked_plan(g, shipped_table());
    CHECK(member(p, 1).epilogue.has(epilogue_part::factor) == factors);
    if (!factors) return;
    const matvec_args a = p.args(1, nullptr).matvec;
    CHECK(a.member[0].factor == g[by].data);
    CHECK(a.member[0].factor_step == 1);
}

TEST_CASE("what is not a number in f32 is no factor", "[functions]") {
    graph_builder g;
    const id x = g.scaled_norm(g.input(format::f32, {512, 4}));
    const id y = g.matmul(format::q4_K, 128, x);
    SECTION("one for each row") { g.mul(y, g.weight(format::f32, {128})); }
    SECTION("f16") { g.mul(y, g.weight(format::f16, {1})); }
    const plan p = planned(g);
    CHECK(member(p, 1).epilogue.empty());
}
