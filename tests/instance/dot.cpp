// The inner product by dp4a: every format, policies that no table has.
#include "products.hpp"
#include "sampled.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy lone_warp = {
    .threads = 32, .rows = 3, .columns = 1, .piece = 2048, .stages = 1, .copy = copy_method::async};
constexpr matvec_policy three_warps = {.threads = 96,
                                       .rows = 6,
                                       .columns = 3,
                                       .piece = 1024,
                                       .stages = 3,
                                       .copy = copy_method::plain,
                                       .activation = activation_source::shared};
constexpr matvec_policy shared_bands = {.threads = 96,
                                        .rows = 2,
                                        .columns = 1,
                                        .piece = 1024,
                                        .stages = 2,
                                        .cluster = 8,
                                        .copy = copy_method::bulk,
                                        .activation = activation_source::shared};
constexpr matvec_policy half_warps = {
    .threads = 64, .rows = 4, .columns = 1, .piece = 512, .stages = 2, .copy = copy_method::bulk};
constexpr matvec_policy deep = {.threads = 64,
                                .rows = 1,
                                .columns = 2,
                                .piece = 1024,
                                .stages = 8,
                                .copy = copy_method::bulk,
                                .activation = activation_source::shared};

}  // namespace

TEST_CASE("Policies at the edges of what a matvec takes stand every case with the same bits") {
    every_format([]<format... F> {
        constexpr product_computation c = products<F...>;
        const std::vector<instance> rows = {made<c, lone_warp>(), made<c, three_warps>(),
                                            made<c, shared_bands>(), made<c, half_warps>(),
                                            made<c, deep>()};
        same_bits(rows);
        for (const instance& on : rows) {
            INFO(row_name(on.computes, on.policy, "test"));
            sweep(on, nullptr, sampled);
        }
    });
}
