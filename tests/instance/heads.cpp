// Everything that a row of heads can make of them, with policies that the tables have and others.
#include "every_case.hpp"

using namespace catena;
using namespace catena_test;

namespace {

constexpr row_computation of_heads{
    .stages = stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::rope | stage_kind::store,
    .emits = cache_formats};

}  // namespace

TEST_CASE("Short heads, four to a block") {
    stands_every_case<of_heads,
                      row_policy{.threads = 128, .values = 4, .rows = 4, .vector = true}>();
}
TEST_CASE("Longer heads, one to a block") {
    stands_every_case<of_heads,
                      row_policy{.threads = 32, .values = 8, .rows = 1, .vector = true}>();
}
TEST_CASE("The longest heads, element by element") {
    stands_every_case<of_heads, row_policy{.threads = 96, .values = 16, .rows = 3}>();
}
