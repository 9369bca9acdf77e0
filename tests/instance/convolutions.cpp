// Everything that a row which convolves can make of its channels, with policies that the tables
// have and another one.
#include "every_case.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation of_convolutions{.stages = stage_kind::convolve | stage_kind::rms_norm,
                                          .emits = format_set::of(format::f32)};

}  // namespace

TEST_CASE("Short heads of channels, four to a block") {
    stands_every_case<of_convolutions,
                      row_policy{.threads = 128, .values = 4, .rows = 4, .vector = true}>();
}
TEST_CASE("Short heads of channels, eight to a block") {
    stands_every_case<of_convolutions,
                      row_policy{.threads = 256, .values = 4, .rows = 8, .vector = true}>();
}
TEST_CASE("Longer heads of channels, element by element") {
    stands_every_case<of_convolutions, row_policy{.threads = 256, .values = 8, .rows = 8}>();
}
TEST_CASE("Heads of channels, one to a block") {
    stands_every_case<of_convolutions,
                      row_policy{.threads = 32, .values = 8, .rows = 1, .vector = true}>();
}
