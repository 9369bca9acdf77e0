// The matmul of fp8 with fp8: policies at the edges of what a body takes, and their bits.
#include "order.hpp"

#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr computation tiles = {.kind = skeleton::matmul,
                               .activation = format::fp8_group,
                               .weights = format_set::of(format::fp8_e4m3),
                               .epilogue = every_part};

constexpr policy lone_warp = {
    .threads = 32, .rows = 64, .columns = 8, .piece = 256, .stages = 2, .copy = copy_method::bulk};
constexpr policy plain = {.threads = 64, .rows = 32, .columns = 16, .piece = 128, .stages = 3};
constexpr policy wide = {.threads = 128,
                         .rows = 16,
                         .columns = 128,
                         .piece = 512,
                         .stages = 2,
                         .copy = copy_method::async};

/// Warps that share rows: all of a block, and two pairs with more slices than a short K has pieces.
constexpr policy sliced = {.threads = 128,
                           .rows = 64,
                           .columns = 16,
                           .piece = 256,
                           .stages = 2,
                           .slices = 4,
                           .copy = copy_method::bulk};
constexpr policy sliced_plain = {
    .threads = 256, .rows = 32, .columns = 32, .piece = 256, .stages = 3, .slices = 4};

void stands_every_case(const std::vector<instance>& rows) {
    for (const instance& on : rows) {
        INFO(row_name(on.computes, on.numbers, "test"));
        sweep(on);
    }
    same_bits_of_tiles(rows);
}

}  // namespace

TEST_CASE("A matmul of fp8 stands every case, and all its policies give the same bits") {
    stands_every_case({made<tiles, lone_warp>(), made<tiles, plain>(), made<tiles, wide>()});
    stands_every_case({made<tiles, sliced>(), made<tiles, sliced_plain>()});
    CHECK(bits_of_device(tiles));
}
