// What the benchmarks time is the same on both sides: each case, made smaller, computed by ggml's
// CPU backend and by Catena's kernels on the host executor, fused and each op alone, from the same
// bytes.
#include "catena_test/catch.hpp"

#include "chains.hpp"
#include "ggml_peer.hpp"
#include "planned.hpp"
#include "results.hpp"
#include "sums.hpp"
#include "unfused.hpp"

#include "catena/exec/host.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/kernel/row.hpp"

using namespace catena;
using namespace catena::bench;

namespace {

constexpr std::int64_t arena_bytes = std::int64_t{1} << 28;

/// Launches on the host executor; what failed, or nothing.
template <class Copies>
std::string run_on_host(const Copies& planned, const small_graph& g, const memory& arena) {
    exec::host_device device{7};
    const std::int64_t values = bytes_of_copies(g, 0), all = bytes_of_copies(g, 2);
    device.add("values", arena.base, static_cast<std::size_t>(values), exec::memory::initialized);
    device.add("weights", arena.base + values, static_cast<std::size_t>(all - values),
               exec::memory::constant);
    auto* workspace = device.allocate<std::byte>(
        "workspace", static_cast<std::size_t>(planned.workspace_bytes()) + 256,
        exec::memory::uninitialized);
    const status done = planned.launch(&device, workspace);
    return done.ok()                   ? ""
           : device.findings().empty() ? done.message
                                       : device.findings().back().message;
}

template <int Row>
void sum_kernel(exec::host& x, const void* args) {
    kernel::row_body<exec::host, sum_rows[Row].policy.row(), sum_alone>(
        x, *static_cast<const row_args*>(args));
}

table sums_on_host(const arch& target) {
    static const void* const kernels[] = {reinterpret_cast<const void*>(&sum_kernel<0>),
                                          reinterpret_cast<const void*>(&sum_kernel<1>),
                                          reinterpret_cast<const void*>(&sum_kernel<2>),
                                          reinterpret_cast<const void*>(&sum_kernel<3>)};
    static_assert(std::size(kernels) == sum_row_count, "a kernel for each row");
    return sums(target, kernels, launch_host);
}

}  // namespace

TEST_CASE("ggml and Catena compute the same from the bytes of a benchmark's case") {
    const table described = instances::sm_90();
    const table rows = instances::on_host(described);
    ggml_device ggml(GGML_BACKEND_DEVICE_TYPE_CPU, arena_bytes);
    struct run {
        const char* model;
        int tokens;
    };
    const run now =
        GENERATE(run{"llama-3.1-8b-q8_0", 1}, run{"qwen3-8b-q4km", 4}, run{"qwen3-30b-a3b-q4km", 2},
                 run{"qwen3-30b-a3b-q4km", 12}, run{"gpt-oss-20b-mxfp4", 1},
                 run{"gemma-3-4b-q4km", 3}, run{"phi-4-q4km", 1}, run{"olmo2-7b-q4km", 1});
    const model m = model::read(CATENA_TEST_DATA "/graphs", now.model);
    std::vector<chain_case> cases = chains_of(m, described);
    for (const char* timed_whole : {"llama-3.1-8b-q8_0", "qwen3-8b-q4km", "qwen3-30b-a3b-q4km"})
        if (now.model == std::string(timed_whole)) cases.push_back(layer_of(m, described).what);
    for (const chain_case& c : cases) {
        CAPTURE(now.model, now.tokens, c.name);
        const small_graph g = shrunk(cut(m, c.nodes, now.tokens));
        REQUIRE(bytes_of_copies(g, 2) <= arena_bytes);
        const std::vector<small_graph> copies = place_copies(g, 2, ggml.arena());

        poison_results(copies[0], ggml.arena());
        ggml_copies peer(ggml, copies);
        peer.compute();
        peer.synchronize();
        const auto expected = read_results(copies[0], ggml.arena());

        poison_results(copies[0], ggml.arena());
        const planned_copies planned(copies, rows);
        REQUIRE(planned.left() == "");
        REQUIRE(run_on_host(planned, g, ggml.arena()) == "");
        const auto found = read_results(copies[0], ggml.arena());
        REQUIRE(!found.empty());
        // What ggml and Catena quantize differently adds up from matmul to matmul.
        for (std::size_t i = 0; i < found.size(); ++i)
            CHECK(nmse(expected[i], found[i]) <= 5e-4 * c.values);

        const unfused_copies apart(copies, rows, sums_on_host(*rows.target));
        CAPTURE(apart.left());
        CHECK(apart.launches_of_one() >= planned.launches_of_one());
        poison_results(copies[0], ggml.arena());
        if (!apart.left().empty()) {
            seed_results(copies[0], ggml.arena());  // what the ops that are left out would write
            CHECK(run_on_host(apart, g, ggml.arena()) == "");
            continue;
        }
        REQUIRE(run_on_host(apart, g, ggml.arena()) == "");
        const auto one_by_one = read_results(copies[0], ggml.arena());
        for (std::size_t i = 0; i < found.size(); ++i) {
            CHECK(nmse(expected[i], one_by_one[i]) <= 5e-4 * c.values);
            CHECK(nmse(found[i], one_by_one[i]) <= 5e-4 * c.values);
        }
    }
}
