// Everything that a row which recalls heads has to stand, with policies that the tables have and
// another one.
#include "every_case.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation of_delta_rules{.stages = stage_set::of(stage_kind::delta_rule),
                                         .emits = format_set::of(format::f32)};

}  // namespace

TEST_CASE("Recalled heads, four warps to a block") {
    stands_every_case<of_delta_rules,
                      row_policy{.threads = 128, .values = 4, .rows = 4, .vector = true}>();
}
TEST_CASE("Recalled heads, element by element, eight warps to a block") {
    stands_every_case<of_delta_rules, row_policy{.threads = 256, .values = 4, .rows = 8}>();
}
TEST_CASE("Longer recalled heads, a warp to a block") {
    stands_every_case<of_delta_rules,
                      row_policy{.threads = 32, .values = 8, .rows = 1, .vector = true}>();
}
