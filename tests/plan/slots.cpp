#include "catena/plan/detail/order/slots.hpp"

#include "catena/plan/detail/draft/builder.hpp"
#include "catena/plan/detail/result/writer.hpp"

#include "epilogue_cases.hpp"

#include <optional>

using namespace catena;
using namespace catena_test;

namespace {

slot_map slots_of(graph_builder& g, graph_index& index) {
    CHECK(index.build(g.view()).ok());
    return slot_map(index);
}

}  // namespace

TEST_CASE("values that are read again while another is made lie in another slot", "[slots]") {
    graph_builder g;
    const id x = g.input(format::f32, {512, 4});
    const id a = g.scaled_norm(x);
    const id first = g.matmul(format::q4_K, 512, a);
    const id b = g.scaled_norm(first);
    g.matmul(format::q4_K, 64, b);
    const id c = g.scaled_norm(first);
    g.matmul(format::q4_K, 64, c);
    graph_index index;
    const slot_map slots = slots_of(g, index);
    CHECK(slots.slots() == 1);
    CHECK(slots.bound() == 4096);  // 4 rows of 8 blocks of 128 bytes, the largest layout

    g.matmul(format::q4_K, 64, a);
    const slot_map more = slots_of(g, index);
    CHECK(more.slots() == 2);
    CHECK(more.of(a, 512, 0).slot != more.of(b, 512, 0).slot);
    CHECK(more.of(a, 512, 0).slot != more.of(c, 512, 0).slot);
    CHECK(more.of(b, 512, 0).slot == more.of(c, 512, 0).slot);
}

TEST_CASE("a value that an epilogue may quantize lives from the first matmul of its group on",
          "[slots]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id a = g.scaled_norm(x);
    const id gate = g.matmul(format::q4_K, 512, a);
    const id up = g.matmul(format::q4_K, 512, a);
    const id value = g.glu(gate, up);
    g.matmul(format::q4_K, 512, value);
    graph_index index;
    const slot_map slots = slots_of(g, index);
    CHECK(slots.of(value, 512, 0).from == g.position(gate));
    CHECK(slots.slots() == 2);
}

TEST_CASE("readers of different row lengths and streams have copies of their own", "[slots]") {
    graph_builder g;
    const id a = g.scaled_norm(g.input(format::f32, {256, 2}));
    g.matmul(format::q8_0, 64, a);
    g.matmul(format::q8_0, 64, g.reshape(a, {512}));
    const id other = g.matmul(format::q8_0, 64, a);
    g[other].stream = 1;
    graph_index index;
    const slot_map slots = slots_of(g, index);
    CHECK(slots.slots() == 3);
    CHECK(slots.of(a, 256, 0).slot != slots.of(a, 512, 0).slot);
    CHECK(slots.of(a, 256, 0).slot != slots.of(a, 256, 1).slot);
    CHECK(slots.of(a, 256, 0).until == g.position(other));  // who reads other rows may share it
}

TEST_CASE("a slot is dealt again on its stream, behind its last reader", "[slots]") {
    for (const std::int32_t stream : {0, 1}) {
        graph_builder g;
        const id x = g.input(format::f32, {512});
        const id first = g.matmul(format::q4_K, 64, g.scaled_norm(x));
        const id behind = g.matmul(format::q4_K, 64, g.scaled_norm(x));
        for (std::size_t n = 3; n < g.nodes.size(); ++n) g[g.nodes[n]].stream = stream;
        REQUIRE(g.position(first) == 2);
        REQUIRE(g.position(behind) == 5);
        graph_index index;
        CHECK(slots_of(g, index).slots() == 1 + stream);
    }
    graph_builder g;
    const id a = g.scaled_norm(g.input(format::f32, {512}));
    const id read = g.matmul(format::q4_K, 512, a);  // where the next activation may be made
    g.matmul(format::q4_K, 64, read);
    graph_index index;
    CHECK(slots_of(g, index).slots() == 2);
}

TEST_CASE("no plan needs more than the bound, whatever it fuses", "[slots]") {
    for (const std::int64_t columns : {1, 2, 4, 9}) {
        graph_builder g;
        id x = g.input(format::f32, {512, columns});
        for (int layer = 0; layer < 3; ++layer) {
            const id a = g.scaled_norm(x);
            x = g.matmul(format::q4_K, 512, a);
            g.matmul(format::q6_K, 64, a);
        }
        graph_index index;
        const slot_map slots = slots_of(g, index);
        CHECK(checked_plan(g).workspace_bytes() <= slots.bound());
        options off;
        off.chains_off = "norm.q4_q6";
        CHECK(checked_plan(g, off).workspace_bytes() <= slots.bound());
    }
}

TEST_CASE("the layers of a graph reuse one workspace", "[slots]") {
    graph_builder g;
    id x = g.input(format::f32, {512});
    for (int layer = 0; layer < 4; ++layer) x = g.matmul(format::q4_K, 512, g.scaled_norm(x));
    const plan p = checked_plan(g);
    CHECK(p.chains().size() == 4);
    CHECK(p.workspace_bytes() == 768);
}

TEST_CASE("activations that are alive together lie side by side", "[slots]") {
    graph_builder g;
    const id x = g.input(format::f32, {512});
    const id a = g.scaled_norm(x);
    const id b = g.scaled_norm(x);
    g.matmul(format::q4_K, 64, a);
    g.matmul(format::q4_K, 64, b);
    const plan p = checked_plan(g);
    CHECK(p.workspace_bytes() == 2 * 768);
    CHECK(p.chains()[0].workspace_offset[0] != p.chains()[1].workspace_offset[0]);
}

TEST_CASE("layouts of one value that two steps write lie side by side", "[slots]") {
    table t = full_table();
    std::vector<lowered_chain> chains(t.chains, t.chains + t.chain_count);
    for (lowered_chain& c : chains)
        if (std::string(c.name) == "norm.q4_q6")
            for (int i = 0; i < c.count; ++i)
                if (!c.stages[i].formats.empty() && c.stages[i].formats == (q4 | q6))
                    c.stages[i].formats = q4;
    t.chains = chains.data();
    graph_builder g;
    const id x = g.input(format::f32, {512, 40});
    const id a = g.scaled_norm(x);
    g.matmul(format::q4_K, 512, a);
    const id between = g.other({x});
    g.matmul(format::q6_K, 512, a);  // no norm's chain lists it: a step of its own quantizes for it
    g.other({between});
    const id last = g.matmul(format::q4_K, 512, a);
    g.share(last, between);  // it cannot stand at the first
    const plan p = planned(g, t);
    REQUIRE(steps_of(p) == "1: 0 1, 2: 2, 4:, 4: 4, 6: 6");
    CHECK(p.workspace_bytes() == 2 * p.chains()[0].workspace_bytes);
}

namespace {

/// Two norms, the second of the first one's product, and a node of the engine behind.
struct drafted_plan {
    graph_builder g;
    graph_index index;
    premises known{toy_table(), {}};
    std::optional<draft> made;

    drafted_plan() {
        const id a = g.scaled_norm(g.input(format::f32, {512}));
        const id b = g.scaled_norm(g.matmul(format::q4_K, 512, a));
        g.other({g.matmul(format::q4_K, 64, b)});
        CHECK(index.build(g.view()).ok());
        plan_builder(made.emplace(index, known)).build();
    }
    status written() {
        plan_contents out;
        return plan_writer(*made, out).write();
    }
};

}  // namespace

TEST_CASE("a step that launches while its slot is another's is no plan", "[slots]") {
    drafted_plan d;
    step& last = d.made->steps.back();
    SECTION("as it was drafted it is one") {
        CHECK(planner(toy_table()).plan(d.g.view()).state().ok());
    }
    SECTION("too late to read") {
        last.launch_at = d.g.view().size() - 1;
        CHECK(d.written().code == status_code::wrong_plan);
    }
    SECTION("too early to write") {
        d.made->steps[static_cast<std::size_t>(d.made->activations.back().made_by)].launch_at = 0;
        CHECK(d.written().code == status_code::wrong_plan);
    }
}

TEST_CASE("a reader that no step covers, of a value that is not written, is no plan", "[slots]") {
    drafted_plan d;
    d.made->activations.back().found.readers.back().node = d.g.view().size() - 1;
    const status s = d.written();
    CHECK(s.code == status_code::wrong_plan);
    CHECK(std::string(s.message).find("node 6 reads a value that no step writes") !=
          std::string::npos);
}
