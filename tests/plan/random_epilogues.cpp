// Random graphs whose matmuls are followed by all that a step may take over: what steps quantize on
// their way, and who reads it, must be what the engine's order makes and reads.
#include "arena.hpp"
#include "epilogue_cases.hpp"

#include "catena_test/problems.hpp"

using namespace catena;
using namespace catena_test;

namespace {

struct random_layers {
    graph_builder g;
    std::mt19937 random;
    std::vector<id> values;

    explicit random_layers(unsigned seed) : random(seed) {
        static constexpr std::int64_t columns[] = {1, 2, 4, 9, 40};
        const std::int64_t many = columns[below(5)];
        for (int i = 0; i < 2; ++i) values.push_back(g.input(format::f32, {512, many}));
        while (g.nodes.size() < 30) {
            grow();
            if (below(14) == 0) g[g.nodes.back()].flags |= flag_output;
        }
        if (below(4) != 0) deal_arena(g, random, {.places = 24, .apart = 1024 * many});
    }

    int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    id any() {
        const int recent = std::min(5, static_cast<int>(values.size()));
        return values[values.size() - 1 - static_cast<std::size_t>(below(recent))];
    }
    /// A value as wide, itself if chance finds no other.
    id like(id t) {
        for (int tries = 0; tries < 8; ++tries)
            if (const id o = any(); g[o].ne[0] == g[t].ne[0]) return o;
        return t;
    }
    std::int64_t width() { return 256 << below(3); }

    void grow() {
        static constexpr format formats[] = {format::q4_K, format::q4_K, format::q6_K, format::q8_0,
                                             format::f32};
        const id x = any();
        switch (below(15)) {
            case 0:
            case 1:
                return values.push_back(g.scaled_norm(x));
            case 2:
            case 3:
            case 4:
                for (int n = below(3); n >= 0; --n)
                    values.push_back(g.matmul(formats[below(5)], width(), x));
                return;
            case 5:
                return values.push_back(g.add(x, like(x)));
            case 6:
                return values.push_back(g.glu(x, like(x)));
            case 7:
                return values.push_back(g.mul(x, g.unary(like(x), sub_op::silu)));
            case 8:
                return values.push_back(g.add(x, g.weight(format::f32, {g[x].ne[0]})));
            case 9:
                return values.push_back(g.scale(x, 2));
            case 10:
                return values.push_back(g.other({x, any()}));
            case 12:
                return values.push_back(g.mul(x, g.weight(format::f32, {1})));
            case 13:
                return values.push_back(g.mul(x, g.node(op::other, format::f32, {1}, {any()})));
            case 14: {
                const id r = g.reshape(x, {g[x].ne[0], 1, g[x].ne[1]});
                const id f =
                    g.unary(below(2) == 0 ? x : r, below(2) == 0 ? sub_op::relu : sub_op::gelu);
                const id value = g[f].sub == sub_op::relu ? g.same_shape(op::sqr, f, {f}) : f;
                return values.push_back(g.reshape(value, {g[x].ne[0], g[x].ne[1]}));
            }
            case 11: {
                const std::int64_t rows = width();
                const id gate = g.matmul(format::q4_K, rows, x);
                const id value = g.glu(gate, g.matmul(format::q4_K, rows, x));
                const id other = like(value);
                return values.push_back(other == value ? value : g.add(value, other));
            }
        }
    }
};

}  // namespace

TEST_CASE("plans of random graphs with epilogues read what the engine would read", "[random]") {
    const table rows = full_table();
    std::size_t quantized = 0, residuals = 0, functions = 0, factors = 0, apart = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        random_layers r(seed);
        INFO("seed " << seed);
        options asked;
        if (r.below(4) == 0) asked.chains_off = "norm.q4_q6";
        const graph_view view = r.g.view();
        const plan p = planner(rows, asked).plan(view);
        REQUIRE(p.state().ok());
        REQUIRE(inconsistency(view, p) == "");
        REQUIRE(difference(view, p) == "");
        for (const step& s : p.steps()) {
            quantized += epilogue_of(s.what).has(epilogue_part::quantize);
            residuals += epilogue_of(s.what).has(epilogue_part::residual);
            functions += epilogue_of(s.what).has(epilogue_part::act);
            factors += epilogue_of(s.what).has(epilogue_part::factor);
        }
        for (const left_over& l : p.left()) apart += l.what.why == reason::group_split;
    }
    CHECK(quantized > 1000);  // the graphs are not too hard to plan
    CHECK(residuals > 1000);
    CHECK(functions > 100);
    CHECK(factors > 200);
    CHECK(apart > 100);
}
