// The phases of a matvec's blocks, on an executor that numbers what they reach.
#include "order.hpp"

#include "catena/instances/phases.hpp"
#include "catena/kernel/phase.hpp"
#include "catena_test/catch.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

using block_phases = std::array<int, kernel::phase_count>;  // 0: not reached
std::map<int, block_phases> reached_by;
int so_far = 0;

struct timed : exec::host {
    void reached(kernel::phase at) {
        if (warp() != 0 || lane() != 0) return;
        reached_by[block()][static_cast<std::size_t>(at)] = ++so_far;
    }
};

template <auto C, policy_of<C.kind> P>
instance timed_instance() {
    return on_host(C, P, reinterpret_cast<const void*>(&instances::run_on_host<C, P, timed>),
                   row_name(C, P, "test"));
}

constexpr matvec_policy one_column = {.threads = 64,
                                      .rows = 2,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 3,
                                      .copy = copy_method::bulk,
                                      .activation = activation_source::shared};
constexpr matvec_policy sliced = {.threads = 128,
                                  .rows = 16,
                                  .columns = 8,
                                  .piece = 256,
                                  .stages = 2,
                                  .slices = 4,
                                  .copy = copy_method::bulk,
                                  .activation = activation_source::shared,
                                  .product = inner_product::mma};
constexpr matvec_policy deferred_norm = [] {
    matvec_policy p = one_column;
    p.placement = norm_placement::deferred;
    return p;
}();
constexpr product_computation normed_q4_K = {
    .kind = skeleton::matvec,
    .stages = stage_kind::rms_norm | stage_kind::mul_weight,
    .activation = format::q8_1,
    .weights = format_set::of(format::q4_K)};

template <auto C, matvec_policy P>
void all_phases_are_reached_in_order(bool early) {
    INFO(row_name(C, P, "test") << (early ? ", weights early" : ""));
    matvec_case c{.what = "phases", .k = 2048, .members = {{format::q4_K, 40}}, .band_rows = 16};
    c.early = early;
    c.norm = c.as_f32 = has_norm(C.stages);
    const auto plain = run(made<C, P>(), c);
    reached_by.clear();
    CHECK(run(timed_instance<C, P>(), c) == plain);
    CHECK(reached_by.size() == 3);
    for (const auto& [block, phases] : reached_by) {
        INFO("block " << block);
        CHECK(phases[0] > 0);
        for (std::size_t i = 1; i < phases.size(); ++i) CHECK(phases[i] > phases[i - 1]);
    }
}

/// A block of a launch of `timed_kernel` that began at `begun` ns, as the GPU leaves it.
instances::timed_block left_by_block(std::int32_t block, std::uint64_t weight,
                                     std::uint64_t begun) {
    instances::timed_block out = {.name = instances::number_of("timed_kernel"),
                                  .weight = weight,
                                  .block = block,
                                  .blocks = 2,
                                  .threads = 64,
                                  .columns = 1,
                                  .k = 2048,
                                  .rows = 40,
                                  .ns = {},
                                  .cycles = {}};
    for (std::size_t i = 0; i < kernel::phase_count; ++i) out.ns[i] = begun + i, out.cycles[i] = i;
    return out;
}

}  // namespace

TEST_CASE("Of each matrix the times of its last launch are told, a line for each block") {
    instances::timed_kernels& all = instances::timed_kernels_of_program();
    const instances::timed_kernels before = all;
    all.names[instances::number_of("timed_kernel")] = "timed_kernel";
    all.files.push_back([] {
        return std::vector{left_by_block(1, 4096, 30), left_by_block(0, 4096, 10),
                           left_by_block(0, 8192, 50)};
    });
    all.files.push_back([] {
        return std::vector{left_by_block(0, 4096, 20), left_by_block(0, 8192, 40)};
    });
    const std::vector<std::string> lines = instances::phases_so_far();
    all = before;
    CHECK(lines == std::vector<std::string>{
                       "timed_kernel 0 2 64 1 2048 40 4096 20 21 22 23 24 25 26 0 1 2 3 4 5 6",
                       "timed_kernel 1 2 64 1 2048 40 4096 30 31 32 33 34 35 36 0 1 2 3 4 5 6",
                       "timed_kernel 0 2 64 1 2048 40 8192 50 51 52 53 54 55 56 0 1 2 3 4 5 6"});
}

TEST_CASE("A launch whose phases are timed has the same bits, and each block reaches all of them") {
    for (const bool early : {true, false}) {
        all_phases_are_reached_in_order<products<format::q4_K>, one_column>(early);
        all_phases_are_reached_in_order<products<format::q4_K>, sliced>(early);
        all_phases_are_reached_in_order<normed_q4_K, deferred_norm>(early);
    }
}
