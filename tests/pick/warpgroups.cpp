// Tiles by warpgroups: where they may run, what they are called, and when an H100 gets them.
#include "catena/kernel/layout.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena_test/catch.hpp"

#include <vector>

using namespace catena;

namespace {

constexpr matmul_policy warpgroups = {.threads = 256,
                                      .rows = 32,
                                      .columns = 128,
                                      .piece = 64,
                                      .stages = 4,
                                      .copy = copy_method::async,
                                      .product = tile_product::wgmma};
constexpr matmul_policy warps = {.threads = 256,
                                 .min_blocks = 2,
                                 .rows = 16,
                                 .columns = 64,
                                 .piece = 64,
                                 .stages = 3,
                                 .copy = copy_method::async};

/// The policy of fp8, whose layout does not differ.
constexpr matmul_policy fp8_warpgroups = {.threads = 256,
                                          .rows = 32,
                                          .columns = 128,
                                          .piece = 128,
                                          .stages = 4,
                                          .copy = copy_method::async,
                                          .product = tile_product::wgmma};
constexpr matmul_policy fp8_warps = {.threads = 256,
                                     .rows = 32,
                                     .columns = 128,
                                     .piece = 128,
                                     .stages = 4,
                                     .copy = copy_method::async};

constexpr row fp8_tiles(const matmul_policy& n) {
    const product_computation c = {.kind = skeleton::matmul,
                                   .activation = format::fp8_group,
                                   .weights = format_set::of(format::fp8_e4m3)};
    return {.computes = c, .policy = n, .order = order_of(n), .evidence = {}};
}

constexpr row wide_tiles(const matmul_policy& n) {
    const product_computation c = {.kind = skeleton::matmul,
                                   .activation = by_warpgroups(n) ? format::f16_mma : format::f32,
                                   .weights = format_set::of(format::f16)};
    return {.computes = c, .policy = n, .order = order_of(n), .evidence = {}};
}

product_problem product(const matmul_policy& by, std::int32_t rows, std::int64_t columns) {
    product_problem p;
    p.needs = wide_tiles(by).computes.product();
    p.k = 4096;
    p.columns = columns;
    p.member_count = 1;
    p.member[0] = {.type = format::f16, .rows = rows};
    return p;
}

}  // namespace

TEST_CASE("warpgroups multiply on sm_90, and neither before nor after", "[tiles]") {
    const product_problem p = product(warpgroups, 4096, 512);
    for (const char* there : {"host", "sm_90"}) {
        INFO(there);
        CHECK(constraint(wide_tiles(warpgroups), p, *arch_named(there)).why == limit::none);
    }
    for (const char* not_there : {"sm_80", "sm_89", "sm_100", "sm_120"}) {
        INFO(not_there);
        const rejection r = constraint(wide_tiles(warpgroups), p, *arch_named(not_there));
        CHECK(r.why == limit::warpgroups);
        CHECK(sentence(r) == "the arch does not multiply by warpgroups (sm_90 alone does)");
    }
}

TEST_CASE("a warpgroup's tile is swizzled without gaps, has an order and a name of its own",
          "[tiles]") {
    const format_set f16 = format_set::of(format::f16);
    CHECK(tile_row_bytes(warpgroups, f16) == 128);
    CHECK(tile_block_bytes(warpgroups, f16) == 128);
    CHECK(tile_stage_bytes(warpgroups, f16) == 49152);
    CHECK(wide_tiles(warpgroups).order != wide_tiles(warps).order);
    CHECK(row_name(wide_tiles(warpgroups), "toy") ==
          "matmul.f16.t256_r32_c128_p64_async4_wgmma.toy");
}

TEST_CASE("an H100 multiplies large products by warpgroups, and small ones by warps", "[tiles]") {
    const std::vector<row> rows = {wide_tiles(warps), wide_tiles(warpgroups)};
    table t;
    t.target = arch_named("sm_90");
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    const auto by_warpgroups = [&t](std::int32_t rows, std::int64_t columns) {
        return pick(product(warpgroups, rows, columns), t).predicted_us <
               pick(product(warps, rows, columns), t).predicted_us;
    };
    CHECK(by_warpgroups(4096, 2048));
    CHECK(by_warpgroups(14336, 512));
    CHECK(!by_warpgroups(4096, 16));
    CHECK(!by_warpgroups(1024, 128));
}

TEST_CASE("blocks of a cluster share a tile where that leaves fewer values of K to an SM",
          "[tiles]") {
    const arch h100 = *arch_named("sm_90");
    matmul_policy n = warpgroups;  // tiles of 128 x 128, a step of 64 values
    n.rows = 16;
    n.cluster = 4;
    const auto shares = [&](std::int32_t rows, std::int64_t columns, std::int64_t k,
                            const arch& a) {
        product_problem p = product(n, rows, columns);
        p.k = k;
        const row r = wide_tiles(n);
        const launch_shape shape = shape_of_launch(r, p, a, 1);
        const launch_config c = config_of(r, p, a, shape);
        CHECK(c.blocks == blocks_of(r, p, shape.band) * c.cluster);
        return c.cluster;
    };
    CHECK(shares(4096, 512, 4096, h100) == 1);  // 128 tiles for 132 SMs
    CHECK(shares(2048, 512, 4096, h100) == 2);  // 64 tiles
    CHECK(shares(1024, 512, 8192, h100) == 4);  // 32 tiles
    CHECK(shares(1024, 512, 512, h100) == 1);   // handing over takes longer
    CHECK(shares(4224, 512, 4096, h100) == 1);  // 132
    CHECK(shares(4352, 512, 4096, h100) == 4);  // 136: five turns of quarters for two whole ones
    CHECK(shares(128, 128, 128, h100) == 1);    // a block would have no step
    arch few = h100;
    few.cluster_blocks = 2;
    CHECK(shares(1024, 512, 8192, few) == 2);
    few.cluster_blocks = 1;
    CHECK(shares(1024, 512, 8192, few) == 1);

    product_problem experts = product(n, 128, 512);
    experts.expert = true;
    experts.tokens = 512;
    experts.member[0].experts = 8;
    CHECK(config_of(wide_tiles(n), experts, h100,
                    shape_with_bands(wide_tiles(n), experts, h100, 1, 128))
              .cluster == 1);
    CHECK(shared_bytes(wide_tiles(n), experts, 0) > 3 * 128 * 128 * 4);  // sums of three blocks
}

TEST_CASE("of fp8 a step of warpgroups is 128 values, and a stage has their scales", "[tiles]") {
    const format_set fp8 = format_set::of(format::fp8_e4m3);
    CHECK(step_values(fp8_warpgroups, fp8) == 128);
    CHECK(tile_row_bytes(fp8_warpgroups, fp8) == 128);
    CHECK(tile_scale_bytes(fp8_warpgroups, fp8) == 2048);  // of 256 rows and 128 columns
    CHECK(tile_scale_bytes(fp8_warps, fp8) == 0);
    CHECK(tile_stage_bytes(fp8_warpgroups, fp8) == 50 * 1024);
    CHECK(fp8_tiles(fp8_warpgroups).order != fp8_tiles(fp8_warps).order);
}

TEST_CASE(
    "an H100 multiplies large products of fp8 by warpgroups, and small ones, or with the same "
    "bits, by warps",
    "[tiles]") {
    matmul_policy plain = fp8_warps;
    plain.copy = copy_method::plain;
    const std::vector<row> rows = {fp8_tiles(fp8_warpgroups), fp8_tiles(fp8_warps),
                                   fp8_tiles(plain)};
    table t;
    t.target = arch_named("sm_90");
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    const auto picked_for = [&](std::int32_t n, std::int64_t columns, int alignment = 256,
                                bool same_bits = false) {
        product_problem p = product(warps, n, columns);
        p.needs = rows[0].computes.product();
        p.member[0].type = format::fp8_e4m3;
        p.alignment = alignment;
        return pick(p, t, {.same_bits = same_bits}).row;
    };
    CHECK(picked_for(4096, 2048) == 0);
    CHECK(picked_for(14336, 512) == 0);
    CHECK(picked_for(1024, 16) == 1);
    CHECK(picked_for(4096, 2048, 8) == 2);
    CHECK(picked_for(4096, 2048, 256, true) == 1);
    CHECK(picked_for(4096, 2048, 8, true) == 2);
}

TEST_CASE("of fp8, a tile by warps takes longer where ptxas makes it of f16", "[tiles]") {
    product_problem p = product(warps, 4096, 2048);
    const row r = fp8_tiles(fp8_warps);
    p.needs = r.computes.product();
    p.member[0].type = format::fp8_e4m3;
    const auto us = [&](const arch& a) {
        return predicted_us(r, p, a, shape_of_launch(r, p, a, 1));
    };
    const auto fp8 = [](const char* name) {
        arch a = *arch_named(name);
        a.compute_capability = 89;
        return a;
    };
    for (const char* name : {"sm_90", "sm_100"}) CHECK(us(*arch_named(name)) > us(fp8(name)));
    CHECK(us(*arch_named("sm_120")) == us(fp8("sm_120")));
}
