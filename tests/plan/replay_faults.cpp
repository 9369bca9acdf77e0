// The replay has to see each kind of fault: a plan held against another graph than its own, and a
// workspace that is used wrongly.
#include "cases.hpp"
#include "replay_workspace.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr format q8_1 = format::q8_1;

/// A value of 256 f32 that a node made.
std::vector<symbolic_memory::run> value(std::int32_t writer) { return {{0, 1024, writer, 7}}; }

workspace_part part(std::int64_t first, std::int64_t last, std::int32_t writer = 0) {
    return {first, last, q8_1, 0, value(writer)};
}

/// Does `text` speak of that?
bool says(const std::string& text, const char* what) {
    INFO("text: " << text);
    return text.find(what) != std::string::npos;
}

/// Two norms that are alive together, and a matmul of each.
struct two_values {
    graph_builder g;
    id x = g.input(format::f32, {512});
    id a = g.scaled_norm(x);
    id b = g.scaled_norm(g.other({x}));
    id of_a = g.matmul(format::q4_K, 64, a);
    id of_b = g.matmul(format::q4_K, 64, b);
    graph_view view = g.view();
    plan p = planner(toy_table()).plan(view);

    two_values() { REQUIRE(difference(view, p) == ""); }
};

}  // namespace

TEST_CASE("a launch may read what was written there last, and nothing else", "[replay]") {
    workspace_memory memory(2048);
    REQUIRE(memory.launch({0, {}, {part(0, 576)}}) == "");
    CHECK(memory.launch({0, {part(0, 576)}, {}}) == "");
    CHECK(says(memory.launch({0, {part(0, 576, 1)}, {}}), "another value"));
    CHECK(says(memory.launch({0, {part(0, 1152)}, {}}), "were written"));
    CHECK(says(memory.launch({0, {part(768, 1344)}, {}}), "hold no activation"));
    workspace_part other_layout = part(0, 576);
    other_layout.layout = format::q8_1_mmq_d4;
    CHECK(says(memory.launch({0, {other_layout}, {}}), "were written"));
    REQUIRE(memory.launch({0, {}, {part(512, 1088)}}) == "");
    CHECK(says(memory.launch({0, {part(0, 576)}, {}}), "were written"));
}

TEST_CASE("a launch writes over nothing that it reads or writes itself", "[replay]") {
    workspace_memory memory(2048);
    REQUIRE(memory.launch({0, {}, {part(0, 576)}}) == "");
    CHECK(memory.launch({0, {part(0, 576)}, {part(768, 1344)}}) == "");
    CHECK(says(memory.launch({0, {part(0, 576)}, {part(512, 1088)}}), "launch that reads them"));
    CHECK(says(memory.launch({0, {}, {part(768, 1344), part(1280, 1856)}}), "written twice"));
}

TEST_CASE("a launch stays inside the workspace, where it is aligned", "[replay]") {
    workspace_memory memory(1024);
    CHECK(says(memory.launch({0, {}, {part(512, 1088)}}), "not in it"));
    CHECK(says(memory.launch({0, {}, {part(-256, 320)}}), "not in it"));
    CHECK(says(memory.launch({0, {}, {part(128, 704)}}), "not aligned"));
}

TEST_CASE("two streams share no byte of the workspace", "[replay]") {
    workspace_memory memory(2048);
    REQUIRE(memory.launch({0, {}, {part(0, 576)}}) == "");
    CHECK(memory.launch({1, {}, {part(768, 1344)}}) == "");
    CHECK(says(memory.launch({1, {part(0, 576)}, {}}), "two streams"));
    CHECK(says(memory.launch({1, {}, {part(512, 1088)}}), "two streams"));
}

TEST_CASE("a matmul that reads another activation than its step is seen", "[replay]") {
    two_values c;
    REQUIRE(c.p.at(c.g.position(c.of_b)).step != c.p.at(c.g.position(c.of_a)).step);
    c.g[c.of_b].src[1] = c.a;
    CHECK(says(difference(c.g.view(), c.p), "another value than they hold"));
}

TEST_CASE("a step over two streams is seen", "[replay]") {
    two_values c;
    c.g[c.g[c.a].src[0]].stream = 1;  // its norm, which the MUL's step covers
    CHECK(says(difference(c.g.view(), c.p), "another stream"));
}

TEST_CASE("a node that moves, and meets one of another stream, is seen", "[replay]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id mul = g.scaled_norm(x);
    g.matmul(format::q4_K, 64, mul);
    const id later = g.other({g.input(format::f32, {512})});
    const plan p = planner(toy_table()).plan(g.view());
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2");
    g.share(later, x);
    CHECK(difference(g.view(), p) == "");
    g[later].stream = 1;  // it waits for the norm alone, which runs later than the engine thinks
    CHECK(says(difference(g.view(), p), "node 0: it moves, and meets node 3 of another stream"));
}

TEST_CASE("the stride of a dimension of one tells no two places apart", "[replay]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    for (int d = 1; d < 4; ++d) g[x].nb[d] = 8192;
    const id mul = g.scaled_norm(g.add(x, g.input(format::f32, {512})));
    g.other({g.matmul(format::q4_K, 64, mul), mul});
    g.share(mul, x);
    CHECK(steps_of(checked_plan(g)) == "2: 0 1 2, 3: 3");
}
