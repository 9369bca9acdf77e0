// What a CONT gathers for matmuls: quantized where it lies, by a step of its own or by who reads
// it.
#include "cases.hpp"
#include "random/tables.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// What 16 heads made of each token, a head behind the other, side by side for a matmul: nodes 0
/// to 3.
struct heads_case {
    std::int64_t tokens = 1;
    graph_builder g = {};
    id made = g.other({g.input(format::f32, {32, tokens, 16})});
    id turned = permuted();
    id copy = g.node(op::cont, format::f32, {512, tokens}, {turned});
    id product = g.matmul(format::q4_K, 64, copy);

    id permuted() {
        const id t = g.view(made, {32, 16, tokens});
        g[t].kind = op::permute;
        g[t].nb[1] = g[made].nb[2];
        g[t].nb[2] = g[made].nb[1];
        return t;
    }
};

plan planned_copies(graph_builder& g, const table& rows = shipped_table(),
                    const options& asked = {}) {
    return checked_plan(g, rows, asked);
}

}  // namespace

TEST_CASE("what lies in order is quantized in rows of the matmul", "[copies]") {
    heads_case c;
    options asked;
    asked.pick.same_bits = true;  // or its only reader would quantize it
    const plan p = checked_plan(c.g, shipped_table(), asked);
    CHECK(steps_of(p) == "2: 2, 3: 3");
    CHECK(p.at(2).elided);
    const row_problem& what = p.steps()[0].what.row();
    CHECK(what.k == 512);
    CHECK(what.rows == 1);
    const row_args a = p.args(0, nullptr).row;
    CHECK(a.gate == c.g[c.made].data);
    CHECK(a.x == nullptr);
    CHECK(a.f32 == nullptr);
    CHECK(a.function == gate_function::none);
}

TEST_CASE("what does not is gathered row by row", "[copies]") {
    heads_case c{3};
    const bool read = GENERATE(false, true);
    if (read) c.g.other({c.copy});
    const plan p = planned_copies(c.g);
    CHECK(steps_of(p) == "2: 2, 3: 3");
    CHECK(p.at(2).elided == !read);
    CHECK(p.steps()[0].what.row().k == 32);
    CHECK(p.steps()[0].what.row().quant_k == 512);
    const row_args a = p.args(0, nullptr).row;
    CHECK(a.rows == 48);
    CHECK(a.n1 == 16);
    CHECK(a.gate_at.nb1 == 3 * 128);
    CHECK(a.gate_at.nb2 == 128);
    CHECK(a.f32 == (read ? c.g[c.copy].data : nullptr));
    if (read) CHECK(a.f32_at.nb1 == 128);
    if (read) CHECK(a.f32_at.nb2 == 16 * 128);
}

TEST_CASE("a copy that nobody multiplies, or that no kernel reads in rows, is the engine's",
          "[copies]") {
    heads_case c{3};
    SECTION("columns") {
        std::swap(c.g[c.turned].ne[0], c.g[c.turned].ne[1]);
        std::swap(c.g[c.turned].nb[0], c.g[c.turned].nb[1]);
        CHECK(steps_of(planned_copies(c.g)) == "3:, 3: 3");
    }
    SECTION("of another type") {
        c.g[c.turned].type = format::f16;
        CHECK(planned_copies(c.g).at(2).step < 0);
    }
    SECTION("heads that end within a block") {
        for (const id t : {c.made, c.turned}) c.g[t].ne[0] = 8;
        c.g[c.turned].ne[1] = c.g[c.made].ne[2] = 64;
        CHECK(steps_of(planned_copies(c.g)) == "3:, 3: 3");
    }
    SECTION("read by others") {
        heads_case other;
        other.g.nodes.pop_back();
        other.g.other({other.copy});
        CHECK(planned_copies(other.g).steps().size() == 0);
    }
}

TEST_CASE("the launch that alone reads a copy reads what is copied", "[copies]") {
    heads_case c;
    const table rows = norm_inside_table();
    SECTION("nothing is copied") {
        const plan p = planned_copies(c.g, rows);
        CHECK(steps_of(p) == "3: 2 3");
        CHECK(p.at(2).elided);
        CHECK(p.workspace_bytes() == 0);
        const matvec_args a = p.args(0, nullptr).matvec;
        CHECK(a.x == c.g[c.made].data);
        CHECK(a.x_bytes == 2048);
        CHECK(quantizes_inside(p.steps()[0].what));
    }
    SECTION("not where its result takes the place") {
        c.g.share(c.product, c.made);
        CHECK(steps_of(planned_copies(c.g, rows)) == "2: 2, 3: 3");
    }
    SECTION("not where a node between writes there") {
        graph_builder& g = c.g;
        g.nodes.pop_back();
        g.share(g.other({g.input(format::f32, {512})}), c.made);
        g.matmul(format::q4_K, 64, c.copy);
        CHECK(steps_of(planned_copies(g, rows)) == "2: 2, 4: 4");
    }
    SECTION("not where rows lie apart") {
        heads_case two{2};
        CHECK(steps_of(planned_copies(two.g, rows)) == "2: 2, 3: 3");
    }
}

TEST_CASE("a gate that is copied for its function alone is read where it lies", "[copies]") {
    graph_builder g;
    const std::int64_t tokens = GENERATE(1, 3);
    // Each head has its query beside its gate.
    const id both = g.other({g.input(format::f32, {64, 16, tokens})});
    const id half = g.view(both, {32, 16, tokens}, 128);
    g[half].nb[1] = g[both].nb[1];
    g[half].nb[2] = g[both].nb[2];
    const id copy = g.node(op::cont, format::f32, {512, tokens}, {half});
    const id made = g.other({g.input(format::f32, {512, tokens})});
    const id value = g.mul(made, g.unary(copy, sub_op::sigmoid));
    g.matmul(format::q4_K, 64, value);
    const auto planned = [&g] {
        options asked;
        asked.pick.same_bits = true;  // or the launch of its only reader would gate
        return planned_copies(g, shipped_table(), asked);
    };
    SECTION("by the step that gates") {
        const plan p = planned();
        CHECK(steps_of(p) == "5: 2 4 5, 6: 6");
        CHECK(p.steps()[0].what.row().k == 32);
        CHECK(p.steps()[0].what.row().rows == 16 * tokens);
        const row_args a = p.args(0, nullptr).row;
        CHECK(a.gate == g[half].data);
        CHECK(a.gate_at.nb1 == 256);
        CHECK(a.x == g[made].data);
        CHECK(a.x_at.nb1 == 128);
        CHECK(a.x_at.nb2 == 2048);
    }
    SECTION("not if others read the copy") {
        g.other({copy});
        CHECK(steps_of(planned()) == "5: 4 5, 6: 6");
    }
    SECTION("not if the gated value's rows lie apart") {
        const id wide = g.other({g.input(format::f32, {1024, tokens})});
        const id part = g.view(wide, {512, tokens});
        g[part].nb[1] = 4096;
        const id again = g.node(op::cont, format::f32, {512, tokens}, {half});
        g.matmul(format::q4_K, 64, g.mul(part, g.unary(again, sub_op::silu)));
        CHECK(planned().at(9).step == (tokens == 1 ? 2 : -1));
    }
}
