// What a plan does about its launches before anything is launched: kernels are made ready on the
// device, and a launch starts early only where that is safe.
#include "catena/match/ggml_cuda.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/log.hpp"
#include "catena/runtime.hpp"

#include "epilogue_cases.hpp"

#include <set>

using namespace catena;
using namespace catena_test;
using Catch::Contains;

namespace {

/// What the invented device was asked, which kernel it cannot load, and whether it has clusters.
struct {
    std::vector<std::pair<const void*, launch_config>> asked;
    const void* broken = nullptr;
    bool clusters = true;
} device;

status prepare(const void* kernel, const launch_config& config, int number) noexcept {
    CHECK(number == 2);
    device.asked.push_back({kernel, config});
    if (kernel == device.broken) return failure(status_code::device_error, "loading it failed");
    if (config.cluster > 1 && !device.clusters)
        return failure(status_code::no_clusters, "no cluster fits");
    return {};
}

/// A table on a device at hand. Its matvecs may have clusters.
struct table_at_hand {
    table t = full_table();
    arch target = toy_arch;
    std::vector<row> rows;
    std::vector<const void*> kernels;

    table_at_hand() : rows(t.rows, t.rows + t.row_count) {
        target.sms = 64;
        target.cluster_blocks = 8;
        for (row& r : rows)
            if (r.computes.kind() == skeleton::matvec) r.policy.matvec().cluster = 8;
        for (const row& r : rows) kernels.push_back(&r);
        t.target = &target;
        t.rows = rows.data();
        t.kernels = kernels.data();
        t.prepare = prepare;
        t.device_number = 2;
        device = {};
    }
    table_at_hand(const table_at_hand&) = delete;
    table_at_hand& operator=(const table_at_hand&) = delete;
};

/// A gated value, quantized by the launch that makes it, and its reader.
struct gated_case {
    graph_builder g;
    id norm = g.scaled_norm(g.input(format::f32, {512}));
    id value = g.glu(g.matmul(format::q4_K, 256, norm), g.matmul(format::q4_K, 256, norm));
    id out = g.matmul(format::q4_K, 64, value);
};

unsigned widest_cluster(const plan& p) {
    unsigned out = 0;
    for (const step& s : p.steps()) out = std::max(out, s.config.cluster);
    return out;
}

std::vector<bool> starts_early(const plan& p) {
    std::vector<bool> out;
    for (const step& s : p.steps()) out.push_back(s.config.dependent);
    return out;
}

}  // namespace

TEST_CASE("what a plan launches is made ready when the plan is made", "[ready]") {
    const table_at_hand rows;
    gated_case c;
    const plan p = planner(rows.t).plan(c.g.view());
    REQUIRE(p.state().ok());
    REQUIRE(p.steps().size() == 3);
    CHECK(widest_cluster(p) > 1);
    CHECK(p.counters().clusters_refused == 0);
    for (const step& s : p.steps()) {
        const auto asked = [&](const auto& a) {
            return a.first == &rows.rows[static_cast<std::size_t>(s.row)] &&
                   a.second.cluster == s.config.cluster &&
                   a.second.shared_bytes == s.config.shared_bytes;
        };
        CHECK(std::any_of(device.asked.begin(), device.asked.end(), asked));
    }
}

TEST_CASE("a kernel that cannot be made ready leaves all to the engine", "[ready]") {
    const table_at_hand rows;
    gated_case c;
    const plan good = planner(rows.t).plan(c.g.view());
    const std::int32_t row = good.steps()[0].row;
    device.broken = &rows.rows[static_cast<std::size_t>(row)];
    const plan p = planner(rows.t).plan(c.g.view());
    CHECK(p.steps().size() == 0);
    CHECK(p.at(1).role == role::engine);
    CHECK(p.state().code == status_code::device_error);
    CHECK_THAT(p.state().message, Contains(row_name(rows.t, row)) && Contains("on device 2") &&
                                      Contains("loading it failed") &&
                                      Contains("CATENA_CHAINS_OFF=norm does"));
    options without;
    without.chains_off = "norm";
    CHECK(planner(rows.t, without).plan(c.g.view()).state().ok());
}

TEST_CASE("a device without room for clusters gets a plan without, and that is told", "[ready]") {
    const table_at_hand rows;
    gated_case c;
    device.clusters = false;
    const plan p = planner(rows.t).plan(c.g.view());
    REQUIRE(p.state().ok());
    REQUIRE(p.steps().size() == 3);
    CHECK(widest_cluster(p) == 1);
    CHECK(p.counters().clusters_refused == 1);
    CHECK(p.counters().fallbacks() == 1);
    CHECK_THAT(summary(p), Contains("; 1 steps without clusters, for want of room"));
    CHECK(p.choice_of(1).best.config.cluster == 1);

    options strict;
    strict.error_on_fallback = true;
    const plan none = planner(rows.t, strict).plan(c.g.view());
    CHECK(none.steps().size() == 0);
    CHECK_THAT(none.state().message,
               Contains("runs without clusters, for which the device has no room"));
}

TEST_CASE("ggml-cuda waits in the kernels of these nodes, of the version that was read",
          "[ready]") {
    graph_builder g;
    const auto waits = [&](id node, std::string_view version = ggml_cuda_version) {
        return ggml_cuda.waits(g.view(), g.position(node), version);
    };
    const id x = g.input(format::f32, {64, 8});
    const id sum = g.add(x, x);
    CHECK(waits(sum));
    CHECK_FALSE(waits(sum, "0.25.2"));
    CHECK_FALSE(waits(sum, ""));
    CHECK_FALSE(waits(g.matmul(format::f16, 64, x)));
    CHECK_FALSE(waits(g.other({x})));
    const auto attention = [&](std::int64_t keys, std::int32_t of_a_query) {
        const id k = g.input(format::f16, {64, keys});
        const id t = g.node(op::flash_attn_ext, format::f32, {64, 1, 8}, {x, k, k});
        g[t].params[4] = of_a_query;
        return t;
    };
    CHECK(waits(attention(256, 0)));
    CHECK(waits(attention(4096, 512)));
    CHECK_FALSE(waits(attention(128, 0)));
    CHECK_FALSE(waits(attention(4096, 128)));
    const auto sorted = [&](std::int64_t values) {
        return g.node(op::argsort, format::i32, {values}, {g.input(format::f32, {values})});
    };
    CHECK(waits(sorted(1024)));
    CHECK_FALSE(waits(sorted(1025)));
    const id states = g.input(format::f32, {64, 64});
    CHECK(waits(g.node(op::gated_delta_net, format::f32, {64, 64}, {x, x, x, x, x, states})));
    graph_view view = g.view();
    CHECK_FALSE(node_by_node.waits(view, 0, ggml_cuda_version));
}

TEST_CASE("ggml-cuda multiplies quantized weights and few columns by a kernel that waits",
          "[ready]") {
    graph_builder g;
    const auto waits = [&](id node) {
        return ggml_cuda.waits(g.view(), g.position(node), ggml_cuda_version);
    };
    const id few = g.input(format::f32, {256, 4}), more = g.input(format::f32, {256, 5});
    CHECK(waits(g.matmul(format::q4_K, 64, few)));
    CHECK(waits(g.matmul(format::mxfp4, 64, few)));
    CHECK_FALSE(waits(g.matmul(format::q4_K, 64, more)));
    for (const format floats : {format::f32, format::f16, format::bf16})
        CHECK_FALSE(waits(g.matmul(floats, 64, few)));
    CHECK_FALSE(waits(g.matmul(format::q4_K, 64, g.input(format::f16, {256, 4}))));
    CHECK_FALSE(waits(g.mul_mat(g.input(format::q4_K, {256, 64}), few)));  // no weight: a result
    const id experts = g.weight(format::q4_K, {256, 64, 8});
    const auto picked = [&](std::int64_t tokens) {
        return g.mul_mat_id(experts, g.input(format::f32, {256, 1, tokens}),
                            g.input(format::i32, {2, tokens}));
    };
    CHECK(waits(picked(4)));
    CHECK_FALSE(waits(picked(5)));
}

TEST_CASE("behind attention to one tile of keys a step starts late, and each has its own plan",
          "[ready]") {
    graph_builder g;
    const id q = g.input(format::f32, {64, 1, 8}), k = g.input(format::f16, {64, 256});
    const id before =
        g.matmul(format::q4_K, 256, g.scaled_norm(g.other({g.input(format::f32, {512})})));
    const id attention = g.node(op::flash_attn_ext, format::f32, {64, 8}, {q, k, k, before});
    const id out = g.matmul(format::q4_K, 64, g.scaled_norm(g.reshape(attention, {512})));
    options asked;
    asked.engine_may_skip_wait = true;
    asked.engine_version = ggml_cuda_version;
    plan_cache cache(planner(toy_table(), asked));
    const auto early = [&] {
        const plan& p = cache.plan_for(g.view());
        REQUIRE(p.state().ok());
        REQUIRE(p.at(g.position(out)).step == 3);
        return p.steps()[2].config.dependent;
    };
    CHECK(early());
    g[attention].params[4] = 128;  // keys of a query
    CHECK_FALSE(early());
    g[attention].params[4] = 129;
    CHECK(early());
    g[k].ne[1] = 128;
    CHECK_FALSE(early());
    CHECK(cache.made() == 4);
}

TEST_CASE("behind a node of an engine that may skip its wait, a step starts late", "[ready]") {
    norm_case c;
    const id a = c.g.matmul(format::q4_K, 512, c.mul), b = c.g.matmul(format::q8_0, 256, c.mul);
    const id renamed = c.g.reshape(a, {512, 1});
    const id norm = c.g.scaled_norm(renamed);
    c.g.matmul(format::q4_K, 64, norm);
    const id engines = c.g.other({b});
    const id late = c.g.scaled_norm(c.g.other({engines}));
    c.g.matmul(format::q4_K, 64, late);
    options asked;
    const auto plan_now = [&] { return planner(toy_table(), asked).plan(c.g.view()); };
    INFO(plan_now().state().message);
    REQUIRE(steps_of(plan_now()) == "1: 0 1, 2: 2, 3: 3, 6: 5 6, 7: 7, 11: 10 11, 12: 12");
    CHECK(starts_early(plan_now()) == std::vector<bool>(7, true));

    asked.engine_may_skip_wait = true;
    const plan p = plan_now();
    // The first is the first of its graph. The reshape before the fourth launches nothing.
    CHECK(starts_early(p) == std::vector<bool>{false, true, true, true, true, false, true});
    CHECK_FALSE(p.choice_of(5).best.config.dependent);
    CHECK(p.choice_of(6).best.config.dependent);

    // A node between steps that its engine is known to wait in changes nothing.
    c.g[engines].kind = c.g[c.g.view().nodes[9]].kind = op::rope;
    CHECK_FALSE(starts_early(plan_now())[5]);  // of which version?
    asked.engine_version = ggml_cuda_version;
    CHECK(starts_early(plan_now())[5]);
    CHECK_FALSE(starts_early(plan_now())[0]);
    c.g[engines].kind = op::other;  // one of two is not known
    CHECK_FALSE(starts_early(plan_now())[5]);

    c.g[c.g.view().nodes[6]].stream = c.g[c.g.view().nodes[5]].stream = 1;
    CHECK_FALSE(starts_early(plan_now())[3]);  // another stream: what came before it is not known
}
