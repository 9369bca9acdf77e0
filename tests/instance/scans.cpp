// Everything that a row which scans has to stand, with policies that the tables have and another
// one.
#include "every_case.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation of_scans{.stages = stage_set::of(stage_kind::ssm_scan),
                                   .emits = format_set::of(format::f32)};

}  // namespace

TEST_CASE("Scanned heads, four warps to a block") {
    stands_every_case<of_scans,
                      row_policy{.threads = 128, .values = 4, .rows = 4, .vector = true}>();
}
TEST_CASE("Scanned heads of longer states, four warps to a block") {
    stands_every_case<of_scans,
                      row_policy{.threads = 128, .values = 8, .rows = 4, .vector = true}>();
}
TEST_CASE("Scanned heads, element by element, eight warps to a block") {
    stands_every_case<of_scans, row_policy{.threads = 256, .values = 8, .rows = 8}>();
}
TEST_CASE("Scanned heads, a warp to a block") {
    stands_every_case<of_scans,
                      row_policy{.threads = 32, .values = 4, .rows = 1, .vector = true}>();
}
