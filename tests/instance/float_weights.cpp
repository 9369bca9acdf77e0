// The inner product of float weights: every plain format, policies that no table has.
#include "order.hpp"
#include "sampled.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr matvec_policy fma_warp = {.threads = 32,
                                    .rows = 1,
                                    .columns = 1,
                                    .piece = 256,
                                    .stages = 3,
                                    .copy = copy_method::bulk,
                                    .product = inner_product::fma};
constexpr matvec_policy three_fma_warps = {.threads = 96,
                                           .rows = 2,
                                           .columns = 8,
                                           .piece = 1024,
                                           .stages = 2,
                                           .copy = copy_method::plain,
                                           .product = inner_product::fma};
constexpr matvec_policy shared_columns = {.threads = 64,
                                          .rows = 4,
                                          .columns = 8,
                                          .piece = 512,
                                          .stages = 2,
                                          .copy = copy_method::bulk,
                                          .activation = activation_source::shared,
                                          .product = inner_product::fma};

}  // namespace

TEST_CASE("A matvec of float weights stands every case with the same bits, whatever its policy") {
    constexpr product_computation c = {
        .kind = skeleton::matvec,
        .activation = format::f32,
        .weights = format_set::of(format::f32) | format::f16 | format::bf16 | format::fp8_e4m3,
        .epilogue = every_part};
    const std::vector<instance> rows = {made<c, fma_warp>(), made<c, three_fma_warps>(),
                                        made<c, shared_columns>()};
    same_bits(rows);
    for (const instance& on : rows) {
        INFO(row_name(on.computes, on.policy, "test"));
        sweep(on, nullptr, sampled);
    }
}
