// A server plans and launches for weeks: what 100,000 cycles leave in memory.
#include "catena/plan/cache.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/counted_memory.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr int cycles = 100'000;

status count_launch(const void*, const launch_config&, const void*, std::size_t,
                    void* stream) noexcept {
    ++*static_cast<std::int64_t*>(stream);
    return {};
}

table counting_table() {
    static const char code[toy_row_count] = {};
    static const void* kernels[toy_row_count];
    for (int i = 0; i < toy_row_count; ++i) kernels[i] = code + i;
    table t = toy_table();
    t.kernels = kernels;
    t.launch = count_launch;
    return t;
}

planner made(bool verify) {
    options asked;
    asked.verify = verify;
    return planner(counting_table(), asked);
}

/// A norm and a matmul that reads it: two steps.
struct small_layer {
    graph_builder g;
    explicit small_layer(std::int64_t rows) {
        g.matmul(format::q4_K, rows, g.scaled_norm(g.input(format::f32, {512})));
    }
};

alignas(256) std::byte workspace[4096];

/// Launches the plan; the launches, or -1 if one failed.
std::int64_t launched(const plan& p) {
    std::int64_t count = 0;
    for (int i = 0; i < p.size(); ++i)
        if (!p.launch(i, &count, workspace).ok()) return -1;
    return count;
}

/// How far operator new has gone beyond a mark.
struct growth {
    std::size_t calls = allocated.calls, blocks = allocated.blocks, peak = allocated.peak;

    std::size_t in_calls() const { return allocated.calls - calls; }
    std::size_t in_blocks() const { return allocated.blocks - blocks; }
    /// malloc gives a block up to a tenth more than is asked for, as what was freed before allows.
    bool in_bytes() const { return allocated.peak > peak + peak / 10; }
};

void plan_and_launch(const planner& plans, int times) {
    small_layer layer(64);
    const graph_view view = layer.g.view();
    std::int64_t count = launched(plans.plan(view));
    REQUIRE(count == 2);
    const growth since;
    for (int i = 1; i < times; ++i) count += launched(plans.plan(view));
    CHECK(since.in_blocks() == 0);
    CHECK_FALSE(since.in_bytes());
    CHECK(since.in_calls() > static_cast<std::size_t>(times));
    CHECK(count == 2 * std::int64_t{times});
}

}  // namespace

TEST_CASE("plans that are made, launched and destroyed leave nothing in memory", "[load]") {
    plan_and_launch(made(false), cycles);
}

TEST_CASE("plans that are proved leave nothing in memory", "[load]") {
    plan_and_launch(made(true), cycles / 20);
}

TEST_CASE("a plan that is kept is found and launched without memory", "[load]") {
    small_layer layer(64);
    const graph_view view = layer.g.view();
    plan_cache cache(made(false));
    const std::uint64_t uid = GENERATE(std::uint64_t{0}, std::uint64_t{7});  // by fingerprint, id
    std::int64_t count = launched(cache.plan_for(view, uid));
    const growth since;
    for (int i = 1; i < cycles; ++i) count += launched(cache.plan_for(view, uid));
    CHECK(since.in_calls() == 0);
    CHECK(count == 2 * std::int64_t{cycles});
    CHECK(cache.made() == 1);
}

TEST_CASE("a full cache does not grow, whatever it is asked for", "[load]") {
    small_layer layers[] = {small_layer(64), small_layer(96), small_layer(32)};
    graph_view views[3];
    for (int i = 0; i < 3; ++i) views[i] = layers[i].g.view();
    plan_cache cache(made(false), 2);
    std::int64_t count = 0;
    const auto turn = [&] {  // the plan that is asked for next has always just been dropped
        for (const graph_view& view : views) count += launched(cache.plan_for(view));
    };
    turn();
    turn();
    const growth since;
    for (int i = 6; i < cycles; i += 3) turn();
    CHECK(since.in_blocks() == 0);
    CHECK_FALSE(since.in_bytes());
    CHECK(cache.made() == count / 2);
    CHECK(count >= 2 * std::int64_t{cycles});
}
