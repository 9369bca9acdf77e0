// Random graphs in random memory: whatever the planner does with them must read what the engine's
// order reads.
#include "arena.hpp"
#include "cases.hpp"

#include <random>

using namespace catena;
using namespace catena_test;

namespace {

/// A graph of norms, matmuls, adds and unknown ops over a few values, in an arena so small that
/// memory is reused all the time.
struct random_graph {
    graph_builder g;
    std::mt19937 random;
    std::vector<id> values;  // all [512, 2] f32

    explicit random_graph(unsigned seed) : random(seed) {
        values.push_back(g.input(format::f32, {512, 2}));
        values.push_back(g.input(format::f32, {512, 2}));
        while (g.nodes.size() < 40) grow();
        for (const id n : g.nodes)
            if (g[n].kind == op::other && below(2) == 0) g[n].allocated = (3 + below(2)) * 2048;
        deal_arena(g, random, {.places = 10, .apart = 2048});
    }

    int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }
    id any() {
        return values[values.size() - 1 -
                      static_cast<std::size_t>(
                          below(std::min(4, static_cast<int>(values.size()))))];
    }

    void grow() {
        static constexpr format formats[] = {format::q4_K, format::q6_K, format::q8_0,
                                             format::mxfp4, format::f32};
        switch (below(8)) {
            case 0:
            case 1: {
                const id norm = g.rms_norm(any());
                if (below(8) == 0) values.push_back(g.other({norm}));
                if (below(4) == 0) values.push_back(g.matmul(formats[below(3)], 512, any()));
                values.push_back(g.mul(norm, g.weight(format::f32, {512})));
                break;
            }
            case 2:
            case 3:
            case 4:
                values.push_back(g.matmul(formats[below(5)], 512, any()));
                break;
            case 5:
                values.push_back(g.add(any(), any()));
                break;
            case 6:
                values.push_back(g.other({any(), any()}));
                break;
            case 7: {
                const id flat = g.reshape(any(), {512, 2, 1});
                values.push_back(g.matmul(formats[below(3)], 512, flat));
                break;
            }
        }
        if (below(10) == 0) g[g.nodes.back()].flags |= flag_output;
    }
};

}  // namespace

TEST_CASE("plans of random graphs in random memory read what the engine would read", "[random]") {
    std::size_t steps = 0, hoisted = 0, split = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
        random_graph r(seed);
        INFO("seed " << seed);
        const graph_view view = r.g.view();
        const plan p = planner(toy_table()).plan(view);
        REQUIRE(p.state().ok());
        REQUIRE(inconsistency(view, p) == "");
        REQUIRE(difference(view, p) == "");
        steps += p.steps().size();
        for (const step& s : p.steps()) hoisted += members_of(s.what) > 1;
        for (const left_over& l : p.left()) split += l.what.why == reason::group_split;

        const int cut = 1 + r.below(view.size() - 1);
        for (const graph_view& part : {r.g.slice(0, cut), r.g.slice(cut, view.size())}) {
            const plan q = planner(toy_table()).plan(part);
            REQUIRE(inconsistency(part, q) == "");
            REQUIRE(difference(part, q) == "");
        }
    }
    CHECK(steps > 10000);  // the graphs are not too hard to plan
    CHECK(hoisted > 500);
    CHECK(split > 100);
}
