// The order before allocation: what moves, what stays, what may not change it.
#include "cases.hpp"

#include "catena/match/detail/index.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/plan/optimize.hpp"

#include <map>
#include <numeric>
#include <set>

using namespace catena;
using namespace catena_test;

namespace {

/// Attention as Llama has it: Q and its rope, K and its rope, V; then gate, up and the GLU.
struct layer_case {
    graph_builder g;
    id x, q, k, v, rope_q, rope_k, gate, up, value;

    explicit layer_case(std::int64_t columns = 1) {
        x = g.input(format::f32, {512, columns});
        const id a = g.scaled_norm(x);
        q = g.matmul(format::q4_K, 512, a);
        rope_q = g.other({q});
        k = g.matmul(format::q4_K, 256, a);
        rope_k = g.other({k});
        v = g.matmul(format::q6_K, 256, a);
        const id b = g.scaled_norm(g.add(g.other({rope_q, rope_k, v}), x));
        gate = g.matmul(format::q4_K, 1024, b);
        up = g.matmul(format::q4_K, 1024, b);
        value = g.glu(gate, up);
        g.matmul(format::q4_K, 512, value);
    }
    int at(const ordering& o, id t) {
        const int p = g.position(t);
        return static_cast<int>(std::find(o.order.begin(), o.order.end(), p) - o.order.begin());
    }
};

/// The graph with its nodes in the new order.
graph_builder reordered(const graph_builder& g, const ordering& o) {
    graph_builder out = g;
    for (std::size_t i = 0; i < o.order.size(); ++i)
        out.nodes[i] = g.nodes[static_cast<std::size_t>(o.order[i])];
    return out;
}

/// Heads of each token, a gate of theirs, and the matrix that multiplies what is gated.
struct gated_heads {
    std::int64_t tokens = 1;
    graph_builder g = {};
    id x = g.other({g.input(format::f32, {128, 4 * tokens})});
    id gate = g.other({g.input(format::f32, {128, 4 * tokens})});
    id product = no_tensor;

    void multiply(id value) {
        product = g.matmul(format::q4_K, 64, g.reshape(value, {512, tokens}));
    }
    /// What must live until that matrix has run.
    std::set<id> kept() {
        const ordering o = optimize(g.view());
        REQUIRE(o.state.ok());
        std::set<id> out;
        for (const keep_alive& k : o.keep)
            if (k.until >= g.position(product)) out.insert(k.tensor);
        return out;
    }
};

}  // namespace

TEST_CASE("members of a group stand together behind the first", "[optimize]") {
    layer_case c;
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    const int first = c.at(o, c.q);
    CHECK(c.at(o, c.k) == first + 1);
    CHECK(c.at(o, c.v) == first + 2);
    CHECK(c.at(o, c.rope_q) == first + 3);
    CHECK(c.at(o, c.rope_k) == first + 4);
}

TEST_CASE("as many readers of one value move to the first as a plan looks at together",
          "[optimize]") {
    graph_builder g;
    const id value = g.scaled_norm(g.input(format::f32, {512}));
    const id first = g.matmul(format::q4_K, 64, value);
    g.other({first});
    for (int i = 1; i < 2 * readers_together; ++i) g.other({g.matmul(format::q4_K, 64, value)});
    const ordering o = optimize(g.view());
    REQUIRE(o.state.ok());
    const auto multiplies = [&](std::int32_t p) {
        return g[g.nodes[static_cast<std::size_t>(p)]].kind == op::mul_mat;
    };
    const auto begin = std::find_if(o.order.begin(), o.order.end(), multiplies);
    CHECK(std::find_if_not(begin, o.order.end(), multiplies) - begin == readers_together);
}

TEST_CASE("a function and the MUL that it gates move together, or not at all", "[optimize]") {
    layer_case c;
    const bool of_group = GENERATE(false, true);
    const id a = c.g.scaled_norm(c.x);
    const id gate = c.g.matmul(format::q4_K, 512, a);
    const id other = of_group ? c.g.matmul(format::q4_K, 512, a) : no_tensor;
    c.g.other({gate});
    const id closed = c.g.matmul(format::q4_K, 512, a);
    const id later = of_group ? other : c.g.other({a});
    const id opened = c.g.unary(closed, sub_op::silu);
    const id product = c.g.mul(later, opened);
    c.g.matmul(format::q4_K, 64, product);
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    CHECK(c.at(o, product) == c.at(o, opened) + 1);
}

TEST_CASE("a function that gates by a number for each row moves behind its matrix", "[optimize]") {
    layer_case c;
    const id a = c.g.scaled_norm(c.x);
    const id value = c.g.matmul(format::q4_K, 512, a);
    c.g.other({value});
    const id gate = c.g.matmul(format::q4_K, 1, a);
    const id other = c.g.other({value});
    const id opened = c.g.unary(gate, sub_op::sigmoid);
    c.g.other({c.g.mul(other, opened)});
    const ordering o = optimize(c.g.view());
    REQUIRE(o.state.ok());
    CHECK(c.at(o, opened) == c.at(o, gate) + 1);
}

TEST_CASE("nodes outside groups keep their order, and sources run before their readers",
          "[optimize]") {
    layer_case c;
    const ordering o = optimize(c.g.view());
    graph_builder moved = reordered(c.g, o);
    graph_index index;
    CHECK(index.build(moved.view()).ok());  // a reader before its source is malformed
    std::vector<std::int32_t> sorted = o.order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int32_t> all(c.g.nodes.size());
    std::iota(all.begin(), all.end(), 0);
    CHECK(sorted == all);
    std::vector<std::int32_t> others;
    for (const std::int32_t p : o.order)
        if (c.g[c.g.nodes[static_cast<std::size_t>(p)]].kind != op::mul_mat) others.push_back(p);
    CHECK(std::is_sorted(others.begin(), others.end()));
}

TEST_CASE("the order depends on topology alone", "[optimize]") {
    layer_case one(1), many(512);
    const ordering o = optimize(one.g.view());
    CHECK(o.order == optimize(many.g.view()).order);
    one.g.deallocate();
    CHECK(o.order == optimize(one.g.view()).order);
}

TEST_CASE("an order that is applied is left as it is", "[optimize]") {
    layer_case c;
    graph_builder moved = reordered(c.g, optimize(c.g.view()));
    const ordering again = optimize(moved.view());
    CHECK(std::is_sorted(again.order.begin(), again.order.end()));
}

TEST_CASE("biases move with their matmul, residuals do not", "[optimize]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    const id a = g.scaled_norm(x);
    const id q = g.matmul(format::q4_K, 512, a);
    const id biased_q = g.add(q, g.weight(format::f32, {512}));
    g.other({biased_q});
    const id k = g.matmul(format::q4_K, 512, a);
    const id biased_k = g.add(k, g.weight(format::f32, {512}));
    const id sum = g.add(biased_k, x);
    const ordering o = optimize(g.view());
    std::vector<id> order;
    for (const std::int32_t p : o.order) order.push_back(g.nodes[static_cast<std::size_t>(p)]);
    const auto first = std::find(order.begin(), order.end(), q);
    CHECK(std::vector<id>(first, first + 4) == std::vector<id>{q, biased_q, k, biased_k});
    CHECK(order.back() == sum);
}

TEST_CASE("a member takes the names of its activation with it", "[optimize]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id a = g.scaled_norm(x);
    const id q = g.matmul(format::q4_K, 64, a);
    g.other({q});
    const id name = g.reshape(a, {512, 1, 1});
    const id k = g.matmul(format::q4_K, 64, name);
    const ordering o = optimize(g.view());
    graph_builder moved = reordered(g, o);
    graph_index index;
    REQUIRE(index.build(moved.view()).ok());
    CHECK(index.position(k) == index.position(q) + 2);
    CHECK(index.position(name) == index.position(q) + 1);
}

TEST_CASE("matmuls of other ids, kinds, precisions and streams are not moved together",
          "[optimize]") {
    graph_builder g;
    const id a = g.scaled_norm(g.input(format::f32, {512}));
    const id first = g.matmul(format::q4_K, 64, a);
    g.other({first});
    const id precise = g.matmul(format::q4_K, 64, a);
    g[precise].params[3] = 10;
    const id elsewhere = g.matmul(format::q4_K, 64, a);
    g[elsewhere].stream = 1;
    const id skipped = g.matmul(format::q4_K, 64, a);
    g[skipped].flags = 0;
    const ordering o = optimize(g.view());
    CHECK(std::is_sorted(o.order.begin(), o.order.end()));
}

TEST_CASE("nothing moves before a node that writes its operand in place", "[optimize]") {
    graph_builder g;
    const auto write = [&g](id what, id to) {
        const id t = g.same_shape(op::add, to, {to, what});
        g.rename(t, to);
    };
    const id x = g.input(format::f32, {512});
    const id a = g.scaled_norm(x);
    g.matmul(format::q4_K, 512, a);
    const id room = g.input(format::f32, {512});
    SECTION("the activation") {
        write(x, a);
        g.matmul(format::q4_K, 512, a);
    }
    SECTION("a leaf that is added") {
        write(x, room);
        g.add(g.matmul(format::q4_K, 512, a), room);
    }
    const ordering o = optimize(g.view());
    const auto written = std::find(o.order.begin(), o.order.end(), 3);
    const auto reader = std::find(o.order.begin(), o.order.end(), g.view().size() - 1);
    CHECK(written < reader);
}

TEST_CASE("what a step may read late is kept alive until then", "[optimize]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    id normed = g.rms_norm(x), value = g.mul(normed, g.weight(format::f32, {512}));
    std::map<id, std::int32_t> want;
    SECTION("what a norm's own launch reads, until the last of the norm") {
        want[x] = g.position(value);
        g.other({value});
    }
    SECTION("what is normed, until the last that joins a matrix which reads the norm") {
        const id made = g.matmul(format::q4_K, 64, value);
        want[x] = g.position(g.unary(made, sub_op::silu));
    }
    SECTION("not if there is none: a norm that is no RMSNorm") {
        g[normed].kind = op::norm;
        want[x] = g.position(value);
        g.unary(g.matmul(format::q4_K, 64, value), sub_op::silu);
    }
    SECTION("a value that no step makes, until the last that joins its matrix") {
        const id read = g.other({value, g.weight(format::f32, {512})});
        const id made = g.matmul(format::q4_K, 64, read);
        want[read] = g.position(g.unary(made, sub_op::silu));
        want[x] = g.position(value);
    }
    SECTION("what is copied for a matrix") {
        const id from = g.other({value}), copy = g.same_shape(op::cont, from, {from});
        want[from] = g.position(g.matmul(format::q4_K, 64, copy));
        want[x] = g.position(value);
    }
    SECTION("what a launch adds to its results, until the last that it adds") {
        const id one = g.other({g.input(format::f32, {512})});
        const id other = g.other({g.input(format::f32, {512})});
        const id sum = g.add(g.matmul(format::q4_K, 512, value), one);
        want[x] = want[one] = g.position(g.add(sum, other));
    }
    const ordering o = optimize(g.view());
    std::map<id, std::int32_t> kept;
    for (const keep_alive& k : o.keep) kept[k.tensor] = std::max(kept[k.tensor], k.until);
    CHECK(kept == want);
    CHECK(o.peak_after >= o.peak_before);
}

TEST_CASE("results are kept until the last op that joins the matrices which read them",
          "[optimize]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    const id made = g.add(g.matmul(format::q4_K, 512, x), g.weight(format::f32, {512}));
    id value = no_tensor;
    SECTION("a result as it is") { value = made; }
    SECTION("a function of it") { value = g.unary(made, sub_op::gelu); }
    const id last = g.unary(g.matmul(format::q4_K, 512, value), sub_op::silu);
    const ordering o = optimize(g.view());
    CHECK(kept_until(g, o, value) == g.position(last));
    for (const keep_alive& k : o.keep) CHECK((k.tensor == x || k.tensor == value));
}

TEST_CASE("what is gated is kept alive until the matrices that read it, in prompts too",
          "[optimize]") {
    gated_heads c{.tokens = GENERATE(1, 512)};
    const id opened = c.g.unary(c.gate, sub_op::silu);
    SECTION("heads as they are") {
        c.multiply(c.g.mul(c.x, opened));
        CHECK(c.kept() == std::set{c.x, c.gate});
    }
    SECTION("a norm, and its input") {
        const id norm = c.g.scaled_norm(c.x);
        c.multiply(c.g.mul(norm, opened));
        CHECK(c.kept() == std::set{c.x, norm, c.gate});
    }
    SECTION("the norm of other heads") {
        const id norm = c.g.reshape(c.g.scaled_norm(c.x), {64, 8 * c.tokens});
        const id gate = c.g.reshape(c.gate, {64, 8 * c.tokens});
        c.multiply(c.g.mul(norm, c.g.unary(gate, sub_op::silu)));
        CHECK(c.kept() == std::set{c.x, norm, gate});
    }
    SECTION("a norm that a GLU gates") {
        const id norm = c.g.scaled_norm(c.x);
        c.multiply(c.g.glu(c.gate, norm));
        CHECK(c.kept() == std::set{c.x, norm, c.gate});
    }
    SECTION("a norm that no launch of matrices makes") {
        const id normed = c.g.rms_norm(c.x);
        c.g[normed].kind = op::norm;
        const id norm = c.g.mul(normed, c.g.weight(format::f32, {128}));
        c.multiply(c.g.mul(norm, opened));
        CHECK(c.kept() == std::set{norm, c.gate});
    }
    SECTION("a gate that is copied, and its copy") {
        const id copy = c.g.same_shape(op::cont, c.gate, {c.gate});
        c.multiply(c.g.mul(c.x, c.g.unary(copy, sub_op::silu)));
        CHECK(c.kept() == std::set{c.x, c.gate, copy});
    }
    SECTION("a GLU's sources") {
        c.multiply(c.g.glu(c.gate, c.x));
        CHECK(c.kept() == std::set{c.x, c.gate});
    }
    SECTION("factors of a product without a function") {
        c.multiply(c.g.mul(c.x, c.gate));
        CHECK(c.kept() == std::set{c.x, c.gate});
    }
    SECTION("the two halves of a tensor") {
        const id both = c.g.other({c.g.input(format::f32, {256, 4 * c.tokens})});
        c.multiply(c.g.glu_of_halves(both));
        CHECK(c.kept() == std::set{both});
    }
}

TEST_CASE("nothing is kept alive to be gated where others read the value, or its launch gates it",
          "[optimize]") {
    gated_heads c;
    SECTION("others read the value") {
        const id value = c.g.glu(c.gate, c.x);
        c.g.other({value});
        c.multiply(value);
    }
    SECTION("an engine reads the value later") {
        const id value = c.g.glu(c.gate, c.x);
        c.g.read_outside(value);
        c.multiply(value);
    }
    SECTION("the value is wanted in the end") {
        const id value = c.g.glu(c.gate, c.x);
        c.g[value].flags |= flag_output;
        c.multiply(value);
    }
    SECTION("experts read the value") {
        const id value = c.g.reshape(c.g.glu(c.gate, c.x), {512, 1, 1});
        c.product = c.g.mul_mat_id(c.g.weight(format::q4_K, {512, 64, 4}), value,
                                   c.g.input(format::i32, {2, 1}));
    }
    SECTION("the value is the matrix") {
        const id value = c.g.glu(c.gate, c.x);
        c.product = c.g.mul_mat(value, c.g.input(format::f32, {128}));
    }
    SECTION("the launch of two matrices gates their results") {
        const id gate = c.g.matmul(format::q8_0, 128, c.x);
        c.multiply(c.g.glu(gate, c.g.matmul(format::q8_0, 128, c.x)));
    }
    SECTION("so does that of one matrix with two halves") {
        c.multiply(c.g.glu_of_halves(c.g.matmul(format::q8_0, 256, c.x)));
    }
    CHECK(c.kept().empty());
}

TEST_CASE(
    "results that no launch of their matrices gates are kept alive till the next ones read them",
    "[optimize]") {
    gated_heads c;
    id activation = c.x;
    format type = format::q8_0;
    SECTION("of two activations") { activation = c.gate; }
    SECTION("of two formats") { type = format::q4_0; }
    const id one = c.g.matmul(format::q8_0, 128, c.x);
    id two = c.g.matmul(type, 128, activation);
    SECTION("behind a bias") { two = c.g.add(two, c.g.weight(format::f32, {128})); }
    SECTION("read by others") { c.g.other({two}); }
    c.multiply(c.g.glu(one, two));
    CHECK(c.kept().count(one) == 1);
    CHECK(c.kept().count(two) == 1);
}

TEST_CASE("a malformed view has no order, and says why", "[optimize]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    g[x].ne[0] = -1;
    const ordering o = optimize(g.view());
    CHECK_FALSE(o.state.ok());
    CHECK(o.order.empty());
}

TEST_CASE("a plan of the order's topology stays within its workspace bound", "[optimize]") {
    for (const std::int64_t columns : {1, 4, 512}) {
        layer_case c(512);
        const ordering o = optimize(c.g.view());
        layer_case smaller(columns);
        graph_builder moved = reordered(smaller.g, o);
        CHECK(checked_plan(moved).workspace_bytes() <= o.workspace_bound);
        CHECK(checked_plan(smaller.g).workspace_bytes() <= o.workspace_bound);
    }
}

TEST_CASE("names that lie nowhere yet need no more workspace than the bound", "[optimize]") {
    graph_builder g;
    const id mul = g.scaled_norm(g.input(format::f32, {512, 2}));
    g.matmul(format::q4_K, 64, mul);
    const id name = g.reshape(mul, {512, 2, 1});
    g.matmul(format::q4_K, 64, name);
    const std::int64_t bound = optimize(g.view()).workspace_bound;
    g[name].buffer = no_buffer;
    const plan p = planner(toy_table()).plan(g.view());
    CHECK(steps_of(p) == "1: 0 1, 2: 2 4");
    CHECK(p.workspace_bytes() <= bound);
}

TEST_CASE("the peak has a result and what it is made of", "[optimize]") {
    graph_builder g;
    id x = g.input(format::f32, {256});
    for (int i = 0; i < 3; ++i) x = g.other({x});
    const ordering o = optimize(g.view());
    CHECK(o.peak_before == 2 * 1024);
    CHECK(o.peak_after == 2 * 1024);
}

TEST_CASE("a MUL of one factor is ordered as what it is, whatever it multiplies", "[optimize]") {
    layer_case c;
    const id product = c.g.matmul(format::q4_K, 512, c.value);
    c.g.node(op::mul, format::f32, {512}, {product});
    CHECK(optimize(c.g.view()).state.ok());
}
