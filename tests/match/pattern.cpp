#include "catena/match/pattern.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("a pattern tells the ops before the value and the matrices after it", "[pattern]") {
    const pattern p = pattern_of(chain_of("c", true, true, q4 | q6));
    CHECK(p.known);
    CHECK(p.residual);
    CHECK(p.value == value_kind::rms_norm);
    CHECK(p.scale);
    CHECK(p.sum_emits == format_set::of(format::f32));
    CHECK(p.emits == format_set::of(format::f32));
    CHECK(p.activations == format_set::of(format::q8_1));
    CHECK(p.dense == (q4 | q6));
    CHECK(p.expert == (q4 | q6));
    CHECK(p.length() == 3);
}

TEST_CASE("a chain that only quantizes has no ops before the value", "[pattern]") {
    const pattern p = pattern_of(chain_of("c", false, false, q8));
    CHECK(p.known);
    CHECK(p.length() == 0);
}

TEST_CASE("a chain of a shape that the matcher does not know is not looked for", "[pattern]") {
    lowered_chain bias = chain_of("c", false, true, q8);
    bias.stages[bias.count++] = {stage_kind::add, operand::bias, {}};  // behind the group
    CHECK_FALSE(pattern_of(bias).known);

    lowered_chain scaled_first;
    scaled_first.stages[scaled_first.count++] = {stage_kind::mul, operand::weight, {}};
    scaled_first.stages[scaled_first.count++] = {stage_kind::rms_norm, operand::none, {}};
    CHECK_FALSE(pattern_of(scaled_first).known);

    lowered_chain twice = chain_of("c", false, false, q8);
    for (int i = twice.count; i > 0; --i) twice.stages[i] = twice.stages[i - 1];
    ++twice.count;
    CHECK_FALSE(pattern_of(twice).known);

    CHECK_FALSE(pattern_of(lowered_chain{}).known);
}

TEST_CASE("chains that differ only in their matrices are one family", "[pattern]") {
    const pattern a = pattern_of(chain_of("a", false, true, q8));
    CHECK(same_family(a, pattern_of(chain_of("b", false, true, q4))));
    const pattern of_numbers = pattern_of(chain_of("e", false, true, numbers));
    CHECK(same_family(a, of_numbers));
    CHECK(of_numbers.activations == format_set::of(format::f32));
    CHECK_FALSE(same_family(a, pattern_of(chain_of("c", true, true, q8))));
    CHECK_FALSE(same_family(a, pattern_of(chain_of("d", false, false, q8))));
}
