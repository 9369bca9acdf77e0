// The inner product by mma: every format, policies that no table has.
#include "products.hpp"
#include "sampled.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy mma_warp = {.threads = 32,
                                    .rows = 16,
                                    .columns = 8,
                                    .piece = 256,
                                    .stages = 1,
                                    .copy = copy_method::plain,
                                    .product = inner_product::mma};
constexpr matvec_policy three_mma_warps = {.threads = 96,
                                           .rows = 16,
                                           .columns = 8,
                                           .piece = 768,
                                           .stages = 2,
                                           .copy = copy_method::bulk,
                                           .activation = activation_source::shared,
                                           .product = inner_product::mma};

/// Warps that share rows: two teams, with more warps than a short K has pieces, and one.
constexpr matvec_policy two_teams = {.threads = 256,
                                     .rows = 16,
                                     .columns = 8,
                                     .piece = 256,
                                     .stages = 2,
                                     .slices = 4,
                                     .copy = copy_method::bulk,
                                     .activation = activation_source::shared,
                                     .product = inner_product::mma};
constexpr matvec_policy one_team = {.threads = 128,
                                    .rows = 16,
                                    .columns = 8,
                                    .piece = 256,
                                    .stages = 3,
                                    .slices = 4,
                                    .copy = copy_method::async,
                                    .activation = activation_source::shared,
                                    .product = inner_product::mma};
constexpr matvec_policy eight_warps = {.threads = 256,
                                       .rows = 16,
                                       .columns = 8,
                                       .piece = 512,
                                       .stages = 2,
                                       .slices = 8,
                                       .copy = copy_method::bulk,
                                       .activation = activation_source::shared,
                                       .product = inner_product::mma};

}  // namespace

TEST_CASE("A matvec by mma stands every case with the same bits, whatever its policy") {
    every_format([]<format... F> {
        constexpr product_computation c = products<F...>;
        const std::vector<instance> rows = {made<c, mma_warp>(), made<c, three_mma_warps>()};
        same_bits(rows);
        for (const instance& on : rows) {
            INFO(row_name(on.computes, on.policy, "test"));
            sweep(on, nullptr, sampled);
        }
    });
}

TEST_CASE("Warps that share K stand every case, with the same bits in teams of as many") {
    every_format([]<format... F> {
        constexpr product_computation c = products<F...>;
        same_bits({made<c, two_teams>(), made<c, one_team>()});
        for (const instance& on : {made<c, two_teams>(), made<c, eight_warps>()}) {
            INFO(row_name(on.computes, on.policy, "test"));
            sweep(on, nullptr, sampled);
        }
    });
}
