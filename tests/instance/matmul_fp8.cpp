// The matmul of fp8 with fp8: policies at the edges of what a body takes, and their bits.
#include "edge_tiles.hpp"

#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr product_computation tiles = {.kind = skeleton::matmul,
                                       .activation = format::fp8_group,
                                       .weights = format_set::of(format::fp8_e4m3),
                                       .epilogue = every_part};

constexpr matmul_policy lone_warp = lone_tile(8, 256);
constexpr matmul_policy plain = {
    .threads = 64, .rows = 32, .columns = 16, .piece = 128, .stages = 3};
constexpr matmul_policy wide = {.threads = 128,
                                .rows = 16,
                                .columns = 128,
                                .piece = 512,
                                .stages = 2,
                                .copy = copy_method::async};

constexpr matmul_policy sliced = sliced_tile(256), sliced_plain = sliced_plain_tile(256);

/// Warpgroups: one with two fragments and the fewest stages, and two with every stage.
constexpr matmul_policy one_group = {.threads = 128,
                                     .rows = 32,
                                     .columns = 32,
                                     .piece = 128,
                                     .stages = 3,
                                     .copy = copy_method::async,
                                     .product = tile_product::wgmma};
constexpr matmul_policy two_groups = {.threads = 256,
                                      .rows = 16,
                                      .columns = 128,
                                      .piece = 128,
                                      .stages = 4,
                                      .copy = copy_method::async,
                                      .product = tile_product::wgmma};

}  // namespace

TEST_CASE("A matmul of fp8 stands every case, and all its policies give the same bits") {
    stands_every_case({made<tiles, lone_warp>(), made<tiles, plain>(), made<tiles, wide>()});
    stands_every_case({made<tiles, sliced>(), made<tiles, sliced_plain>()});
    CHECK(bits_of_device(tiles));
}

TEST_CASE(
    "A matmul of fp8 by warpgroups stands every case, and all its policies give the same bits") {
    stands_every_case({made<tiles, one_group>(), made<tiles, two_groups>()});
    stands_every_case(
        {made<tiles, in_clusters(one_group)>(), made<tiles, in_clusters(two_groups)>()});
    CHECK(order_of(one_group) != order_of(plain));
}

TEST_CASE("A block whose part of K begins where a scale goes on takes the next one in time") {
    const instance on = made<tiles, in_clusters(one_group)>();
    const matvec_case c{.what = "",
                        .k = 7 * 128,  // parts of two groups of 128, scales of three
                        .members = {{format::fp8_e4m3, 17}},
                        .columns = 9,
                        .cluster = 4};
    check(on, c, run(on, c));
}
