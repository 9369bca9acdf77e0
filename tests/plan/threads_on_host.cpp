// Threads that compute at once, each on a host executor of its own, by one table.
#include "catena/exec/host/launch.hpp"
#include "catena/format/random.hpp"
#include "catena/instances/host_instance.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/many_threads.hpp"

#include <atomic>
#include <iterator>
#include <span>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

constexpr instances::host_instance kernels[] = {
    {norm_row, kept_row, &instances::run_on_host<norm_row, kept_row>},
    {matvec_of(q8), narrow_matvec, &instances::run_on_host<matvec_of(q8), narrow_matvec>}};
constexpr instances::host_family family = {kernels, static_cast<int>(std::size(kernels))};
constexpr const instances::host_family* families[] = {&family};

/// Gives a tensor memory, and a leaf its values.
void place(tensor& t, std::uint64_t seed, exec::host_device& device) {
    const auto bytes = static_cast<std::size_t>(extent_bytes(t));
    const bool leaf = t.kind == op::none;
    auto* const at = device.allocate<std::byte>("tensor", bytes,
                                                t.weight ? exec::memory::constant
                                                : leaf   ? exec::memory::initialized
                                                         : exec::memory::uninitialized);
    t.data = at;
    if (leaf && t.type == format::q8_0) fill_random_blocks(t.type, seed, 0, std::span(at, bytes));
    if (leaf && t.type == format::f32)
        fill_random_values(seed, 0, std::span(static_cast<float*>(t.data), bytes / sizeof(float)));
}

/// A norm and a matmul that reads it, planned and computed with another order of threads for each
/// seed. Empty if a launch failed.
std::vector<float> computed(std::uint64_t seed) {
    graph_builder g;
    const id result = g.matmul(format::q8_0, 16, g.scaled_norm(g.input(format::f32, {512})));
    exec::host_device device(seed);
    for (std::size_t i = 0; i < g.tensors.size(); ++i) place(g.tensors[i], i, device);
    const table rows = instances::on_host(toy_table(), families, 1);
    const plan p = planner(rows).plan(g.view());
    void* const workspace = device.allocate<std::byte>(
        "workspace", static_cast<std::size_t>(p.workspace_bytes()), exec::memory::uninitialized);
    for (int i = 0; i < p.size(); ++i)
        if (!p.launch(i, &device, workspace).ok()) return {};
    const auto* const first = static_cast<const float*>(g[result].data);
    return {first, first + g[result].ne[0]};
}

}  // namespace

TEST_CASE("threads compute the same bits at once as one does alone, in any order", "[threads]") {
    std::vector<std::vector<float>> at_once(thread_count);
    std::atomic<int> next{0};
    in_many_threads([&] {  // the first to call on_host
        const int own = next++;
        at_once[static_cast<std::size_t>(own)] = computed(static_cast<std::uint64_t>(own) + 1);
    });
    const std::vector<float> alone = computed(0);
    REQUIRE(alone.size() == 16);
    for (const std::vector<float>& result : at_once) CHECK(result == alone);
}
