// Everything that a row of routing can do, with policies that the tables have and others.
#include "every_case.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation all{.stages = stage_kind::score | stage_kind::choose | stage_kind::weigh,
                              .emits = format_set::of(format::f32)};

}  // namespace

TEST_CASE("A token has a warp") {
    stands_every_case<all, row_policy{.threads = 32, .values = 4}>();
}
TEST_CASE("A token has a block") {
    stands_every_case<all, row_policy{.threads = 96, .values = 8}>();
}
TEST_CASE("A token has a block for many experts") {
    stands_every_case<all, row_policy{.threads = 256, .values = 4}>();
}
