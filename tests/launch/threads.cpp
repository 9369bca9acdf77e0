// Threads plan and launch on two GPUs of different archs at once.
#define CATENA_HAS_KERNELS 1
#include "catena/instances/for_device.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include "runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/many_threads.hpp"

#include <atomic>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

const char code[2][toy_row_count] = {};

/// The invented rows as the set of an arch, with the kernels code[number].
table set_of(const char* arch, int number) {
    static const void* kernels[2][toy_row_count];
    for (int i = 0; i < toy_row_count; ++i) kernels[number][i] = code[number] + i;
    table t = toy_table();
    t.target = arch_named(arch);
    t.kernels = kernels[number];
    t.launch = launch_cuda;
    return t;
}

std::vector<std::uint32_t> blocks_of(const plan& p) {
    std::vector<std::uint32_t> out;
    for (const step& s : p.steps()) out.push_back(s.config.blocks);
    return out;
}

alignas(256) std::byte workspace[8192];

}  // namespace

TEST_CASE_METHOD(two_gpus, "threads plan and launch on two GPUs, each with its own set",
                 "[launch]") {
    const table hopper = set_of("sm_90", 0), ampere = set_of("sm_80", 1);
    const table of_device[] = {instances::for_device(0, {hopper, ampere}),
                               instances::for_device(1, {hopper, ampere})};
    graph_builder g;
    const id norm = g.scaled_norm(g.input(format::f32, {512}));
    g.matmul(format::q4_K, 20'000, norm);
    g.matmul(format::q8_0, 20'000, norm);
    const graph_view view = g.view();
    std::atomic<int> next{0}, failed{0}, equal{0};
    std::vector<std::uint32_t> blocks[thread_count];
    in_many_threads([&] {
        const int own = next++, device = own % 2;
        const plan p = planner(of_device[device]).plan(view);
        failed += !p.state().ok();
        runtime.device = device;
        for (int i = 0; i < p.size(); ++i) failed += !p.launch(i, nullptr, workspace).ok();
        failed += runtime.device != device || runtime.last != cudaSuccess;
        blocks[own] = blocks_of(p);
    });
    CHECK(failed == 0);
    CHECK(runtime.launched == 3 * thread_count);
    REQUIRE(blocks[0].size() == 3);
    CHECK(blocks[0] != blocks[1]);  // other limits, other bands
    for (int i = 2; i < thread_count; ++i) CHECK(blocks[i] == blocks[i % 2]);
    for (const auto& [kernel, device] : runtime.loaded) {
        const auto* const at = static_cast<const char*>(kernel);
        CHECK(device == (at >= code[1] && at < code[1] + toy_row_count ? 1 : 0));
    }
}
