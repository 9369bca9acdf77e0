// Norms of two launches: the launch that begins one, then that which ends it, agree with the norm,
// whatever deals their rows.
#include "matvec_data.hpp"
#include "order.hpp"
#include "sweep.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Fewer threads than a band has rows at most: a lane quantizes rows that lie apart.
constexpr matvec_policy four = {.threads = 128,
                                .min_blocks = 3,
                                .rows = 16,
                                .columns = 8,
                                .piece = 256,
                                .stages = 2,
                                .slices = 4,
                                .copy = copy_method::bulk,
                                .activation = activation_source::shared,
                                .product = inner_product::mma};
constexpr matvec_policy two_teams = [] {
    matvec_policy p = four;
    p.threads = 256, p.stages = 3, p.copy = copy_method::plain;
    return p;
}();
constexpr matvec_policy one_warp_each = [] {
    matvec_policy p = four;
    p.slices = 0;
    return p;
}();

/// Adds up slots.
constexpr matvec_policy of_experts = {.threads = 128,
                                      .min_blocks = 4,
                                      .rows = 2,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 2,
                                      .cluster = 8,
                                      .copy = copy_method::bulk,
                                      .activation = activation_source::shared};

constexpr product_computation computes = products<format::q4_K, format::q6_K>;

/// A launch that ends a norm and begins two.
matvec_case both(int columns) {
    const epilogue_set quantized = epilogue_set::of(epilogue_part::quantize);
    return {.what = "",
            .k = 2304,
            .members = {{.type = format::q4_K,
                         .rows = 544,
                         .parts = quantized | epilogue_part::residual,
                         .begins = true},
                        {.type = format::q6_K,
                         .rows = 96,
                         .parts = every_part,
                         .function = gate_function::silu,
                         .begins = true}},
            .columns = columns,
            .band_rows = 64,
            .ends = true};
}

}  // namespace

TEST_CASE("A norm of two launches has the same bits in bands and blocks of any size") {
    for (const int columns : {2, 8}) {
        const matvec_outputs wanted = run(made<computes, four>(), both(columns));
        check(made<computes, four>(), both(columns), wanted);
        for (const int band_rows : {64, 128, 192, 256})
            for (const int width : {1, 2, 3}) {
                INFO(columns << " columns, bands of " << band_rows << ", width " << width);
                matvec_case c = both(columns);
                c.band_rows = band_rows, c.width = width;
                CHECK(run(made<computes, four>(), c) == wanted);
                CHECK(run(made<computes, two_teams>(), c) == wanted);
            }
    }
}

TEST_CASE("A norm of sums of slots has the same bits in bands and blocks of any size") {
    const epilogue_set parts = epilogue_set::of(epilogue_part::quantize) | epilogue_part::combine;
    const matvec_case one = {.what = "",
                             .k = 1280,
                             .members = {{.type = format::q4_K,
                                          .rows = 544,
                                          .parts = parts | epilogue_part::residual,
                                          .begins = true},
                                         {.type = format::q6_K,
                                          .rows = 96,
                                          .parts = parts | epilogue_part::bias,
                                          .begins = true}},
                             .experts = 3,
                             .slots = 3,
                             .x_slots = 3,
                             .ids = {2, 0, 1, 0, 1, 2},
                             .band_rows = 32};
    const instance on = made<computes, of_experts>();
    const matvec_outputs wanted = run(on, one);
    check(on, one, wanted);
    for (const int band_rows : {64, 128, 256})
        for (const int width : {1, 4})
            for (const int cluster : {1, 2, 4, 8}) {
                INFO("bands of " << band_rows << ", width " << width << ", cluster " << cluster);
                matvec_case c = one;
                c.band_rows = band_rows, c.width = width, c.cluster = cluster;
                CHECK(run(on, c) == wanted);
            }
}

TEST_CASE("Policies stand every case of a norm of two launches") {
    for (const instance& on :
         {made<computes, four>(), made<computes, two_teams>(), made<computes, of_experts>()})
        for (matvec_case& c : begun_cases(computes, on.policy.matvec())) {
            INFO(row_name(on.computes, on.policy, "test") << ": " << c.what);
            check(on, c, run(on, c));
        }
    CHECK(begun_cases(computes, one_warp_each).empty());
}
