#include "catena/pick/name.hpp"
#include "catena/plan/explain.hpp"
#include "catena/runtime.hpp"

#include "cases.hpp"

#include <cstring>

using namespace catena;
using namespace catena_test;
using Catch::Contains;

namespace {

struct call {
    const void* kernel;
    launch_config config;
    std::size_t bytes;
    row_args row;
    matvec_args matvec;
};

/// The invented device: it writes down what it is asked to launch. `stream` is its log.
struct recorder {
    std::vector<call> calls;
    bool refuse = false;
};

status record(const void* kernel, const launch_config& config, const void* args, std::size_t bytes,
              void* stream) noexcept {
    auto& log = *static_cast<recorder*>(stream);
    if (log.refuse) return failure(status_code::device_error, "the device is asleep");
    call c{kernel, config, bytes, {}, {}};
    if (bytes == sizeof(row_args)) std::memcpy(&c.row, args, bytes);
    if (bytes == sizeof(matvec_args)) std::memcpy(&c.matvec, args, bytes);
    log.calls.push_back(c);
    return {};
}

table recording_table() {
    static const char code[toy_row_count] = {};
    static const std::vector<const void*> kernels = [] {
        std::vector<const void*> out;
        for (const char& c : code) out.push_back(&c);
        return out;
    }();
    table t = toy_table();
    t.kernels = kernels.data();
    t.launch = record;
    return t;
}

alignas(256) std::byte workspace[4096];

/// Two layers with a reader of f32.
struct two_layers {
    graph_builder g;
    id x = g.input(format::f32, {512, 2});
    id first = g.scaled_norm(x);
    id a = g.matmul(format::q4_K, 512, first);
    id b = g.matmul(format::q6_K, 512, first);
    id sum = g.add(a, b);
    id second = g.scaled_norm(sum);
    id c = g.matmul(format::q8_0, 96, second);
    id tail = g.other({second});
};

}  // namespace

TEST_CASE("the engine's loop runs every node once, itself or through a step", "[launch]") {
    two_layers t;
    const graph_view graph = t.g.view();
    const plan p = planner(recording_table()).plan(graph);
    recorder log;
    std::vector<int> run_myself;
    for (int i = 0; i < graph.size(); ++i) switch (p.at(i).role) {
            case role::engine:
                run_myself.push_back(i);
                break;
            case role::launch:
                REQUIRE(p.launch(i, &log, workspace).ok());
                break;
            case role::covered:
                break;
        }
    CHECK(steps_of(p) == "1: 0 1, 2: 2 3, 6: 4 5 6, 7: 7");
    CHECK(run_myself == std::vector<int>{8});
    REQUIRE(log.calls.size() == 4);

    const row_args& r = log.calls[2].row;
    CHECK(log.calls[2].bytes == sizeof(row_args));
    CHECK(r.x == t.g[t.a].data);
    CHECK(r.residual == t.g[t.b].data);
    CHECK(r.sum == nullptr);
    CHECK(r.f32 == t.g[t.second].data);
    CHECK(r.q8_1 == log.calls[3].matvec.x);
    CHECK(r.k == 512);
    CHECK(r.rows == 2);
    CHECK(r.quant_k == 512);
    CHECK(r.quant_blocks == 16);
    CHECK(r.x_at.nb1 == 2048);
    CHECK(log.calls[2].config.blocks == 2);
    CHECK(log.calls[2].config.threads == 128);

    const matvec_args& m = log.calls[1].matvec;
    CHECK(log.calls[1].bytes == sizeof(matvec_args));
    CHECK(m.x == workspace);
    CHECK(m.ids == nullptr);
    CHECK(m.x_bytes == 576);
    CHECK(m.k == 512);
    CHECK(m.columns == 2);
    CHECK(m.members == 2);
    CHECK(m.weights_early);
    CHECK(m.member[0].weight == t.g[t.g[t.a].src[0]].data);
    CHECK(m.member[0].weight_bytes == 512 * 288);
    CHECK(m.member[0].row_bytes == 288);
    CHECK(m.member[0].dst == t.g[t.a].data);
    CHECK(m.member[0].dst_nb1 == 2048);
    CHECK(m.member[0].type == format::q4_K);
    CHECK(m.member[1].type == format::q6_K);
    CHECK(m.member[1].first_band == (512 + m.band_rows - 1) / m.band_rows);
    CHECK(m.bands == 2 * m.member[1].first_band);
    CHECK(log.calls[1].config.blocks == static_cast<std::uint32_t>(m.bands));
}

TEST_CASE("a plan outlives its graph and can be copied", "[launch]") {
    recorder log;
    plan copy;
    {
        two_layers t;
        const plan p = planner(recording_table()).plan(t.g.view());
        copy = p;
    }
    CHECK(copy.launch(1, &log, workspace).ok());
    CHECK(log.calls.size() == 1);
    CHECK(copy.explain().steps.size() == 4);
}

TEST_CASE("a node that cannot launch all its steps launches none", "[launch]") {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {512})});
    const id out = g.matmul(format::q4_K, 64, x);
    g[out].data = nullptr;
    const plan p = planner(recording_table()).plan(g.view());
    REQUIRE(steps_of(p) == "1:, 1: 1");
    recorder log;
    const status s = p.launch(1, &log, workspace);
    CHECK(s.code == status_code::invalid_argument);
    CHECK_THAT(s.message, Contains("node 1 has no address"));
    CHECK(log.calls.empty());
}

TEST_CASE("a node that the plan has never seen is the engine's", "[launch]") {
    CHECK(plan().at(0).role == role::engine);
    two_layers t;
    const plan p = planner(recording_table()).plan(t.g.view());
    CHECK(p.at(-1).role == role::engine);
    CHECK(p.at(p.size()).role == role::engine);
}

TEST_CASE("equal graphs get equal plans, and planning leaves the planner as it was", "[launch]") {
    two_layers t;
    const planner planner(recording_table());
    const plan a = planner.plan(t.g.view());
    const plan b = planner.plan(t.g.view());
    CHECK(steps_of(a) == steps_of(b));
    for (std::size_t i = 0; i < a.steps().size(); ++i) {
        CHECK(a.steps()[i].row == b.steps()[i].row);
        CHECK(a.steps()[i].what == b.steps()[i].what);
    }
}

TEST_CASE("a launch that cannot be is refused with a sentence", "[launch]") {
    two_layers t;
    recorder log;
    table rows = recording_table();
    const auto launch = [&](void* with = workspace, int node = 1) {
        return planner(rows).plan(t.g.view()).launch(node, &log, with);
    };
    CHECK(launch().ok());
    log.calls.clear();
    status s;
    SECTION("without workspace") {
        s = launch(nullptr);
        CHECK(s.code == status_code::invalid_argument);
        CHECK_THAT(s.message, Contains("node 1: the workspace is null; the plan needs"));
    }
    SECTION("with a workspace that is not aligned") {
        s = launch(workspace + 16);
        CHECK(s.code == status_code::invalid_argument);
        CHECK_THAT(s.message, Contains("is not aligned to 256 bytes"));
    }
    SECTION("of a node that is not there") {
        s = launch(workspace, 9);
        CHECK_THAT(s.message, Contains("node 9 is not in the plan, which has 9 nodes"));
        CHECK_THAT(launch(workspace, -1).message, Contains("node -1"));
    }
    SECTION("of a graph without addresses") {
        t.g[t.x].data = nullptr;
        s = launch();
        CHECK(s.code == status_code::invalid_argument);
        CHECK_THAT(s.message, Contains("an operand of node 0 has no address"));
    }
    SECTION("of rows without code") {
        rows.kernels = nullptr;
        s = launch();
        CHECK(s.code == status_code::no_kernel);
        CHECK_THAT(s.message, Contains("of the toy table has no code here: link its instances"));
    }
    SECTION("on a device that refuses") {
        log.refuse = true;
        s = launch();
        CHECK(s.code == status_code::device_error);
        CHECK(std::string(s.message) == "the device is asleep");
    }
    CHECK_FALSE(s.ok());
    CHECK(log.calls.empty());
}

TEST_CASE("a node where nothing starts launches nothing", "[launch]") {
    two_layers t;
    recorder log;
    CHECK(planner(recording_table()).plan(t.g.view()).launch(8, &log, nullptr).ok());
    CHECK(log.calls.empty());
}

TEST_CASE("misaligned operands get rows that take them", "[launch]") {
    norm_case c;
    c.g.matmul(format::q4_K, 64, c.mul);
    c.g[c.x].data = static_cast<std::byte*>(c.g[c.x].data) + 4;
    const plan p = checked_plan(c.g);
    CHECK(p.steps()[0].what.row().alignment == 4);
    CHECK(row_name(p.rows(), p.steps()[0].row) == "scale_add_rms_norm_mul.f32_q8_1.t64_v0.toy");
    c.g[c.x].data = nullptr;
    c.g[c.x].offset = 8;
    CHECK(checked_plan(c.g).steps()[0].what.row().alignment == 8);
}
