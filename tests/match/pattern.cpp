#include "catena/match/pattern.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

using namespace catena;
using namespace catena_test;

TEST_CASE("a pattern tells the ops before the value and the matrices after it", "[pattern]") {
    const pattern p = pattern_of(chain_of("c", true, true, q4 | q6));
    CHECK(p.known);
    CHECK(p.has(stage_kind::add_residual));
    CHECK(p.stages.has(stage_kind::rms_norm));
    CHECK(p.has(stage_kind::mul_weight));
    CHECK(p.sum_emits == format_set::of(format::f32));
    CHECK(p.emits == format_set::of(format::f32));
    CHECK(p.activations == format_set::of(format::q8_1));
    CHECK(p.dense == (q4 | q6));
    CHECK(p.expert == (q4 | q6));
    CHECK(p.stages.size() == 4);  // and the number that x may be times
}

TEST_CASE("a chain that only quantizes has no ops before the value", "[pattern]") {
    const pattern p = pattern_of(chain_of("c", false, false, q8));
    CHECK(p.known);
    CHECK(p.stages.empty());
}

TEST_CASE("a chain of a shape that the matcher does not know is not looked for", "[pattern]") {
    lowered_chain bias = chain_of("c", false, true, q8);
    bias.stages[bias.count++] = {stage_kind::add_bias, operand::bias, {}};  // behind the group
    CHECK_FALSE(pattern_of(bias).known);

    lowered_chain scaled_first;
    scaled_first.stages[scaled_first.count++] = {stage_kind::mul_weight, operand::weight, {}};
    scaled_first.stages[scaled_first.count++] = {stage_kind::rms_norm, operand::none, {}};
    CHECK_FALSE(pattern_of(scaled_first).known);

    lowered_chain twice = chain_of("c", false, false, q8);
    for (int i = twice.count; i > 0; --i) twice.stages[i] = twice.stages[i - 1];
    ++twice.count;
    CHECK_FALSE(pattern_of(twice).known);

    CHECK_FALSE(pattern_of(lowered_chain{}).known);
}

TEST_CASE("a stage twice, or one where another took its place, is no pattern", "[pattern]") {
    const auto known = [](std::initializer_list<stage> stages) {
        lowered_chain c;
        for (const stage& s : stages) c.stages[c.count++] = s;
        return pattern_of(c).known;
    };
    const stage experts{stage_kind::combine, operand::none, {}};
    const stage residual{stage_kind::add_residual, operand::residual, {}};
    const stage bias{stage_kind::add_bias, operand::bias, {}};
    const stage norm{stage_kind::rms_norm, operand::none, {}};
    const stage layer_norm{stage_kind::layer_norm, operand::none, {}};
    const stage weight{stage_kind::mul_weight, operand::weight, {}};
    const stage next_weight{stage_kind::mul_next_weight, operand::next_weight, {}};
    const stage gate{stage_kind::gate, operand::gate, {}};
    const stage glu{stage_kind::glu, operand::gate, {}};
    const stage joined{stage_kind::join_residual, operand::residual, {}};
    const stage next_norm{stage_kind::next_norm, operand::none, {}};
    const stage emit{stage_kind::emit, operand::none, format_set::of(format::f32)};

    CHECK(known({experts, residual, norm, weight, emit}));
    CHECK_FALSE(known({residual, experts, norm, weight, emit}));
    CHECK_FALSE(known({residual, residual, norm, weight, emit}));
    CHECK(known({norm, weight, bias, gate, emit}));
    CHECK_FALSE(known({norm, weight, bias, bias, emit}));
    CHECK_FALSE(known({norm, weight, weight, emit}));
    CHECK_FALSE(known({norm, weight, gate, gate, emit}));
    CHECK_FALSE(known({glu, glu, emit}));
    CHECK(known({norm, weight, joined, emit, next_norm, next_weight, emit}));
    CHECK_FALSE(known({norm, weight, joined, emit, next_norm, emit}));
    CHECK_FALSE(known({norm, weight, joined, emit, next_weight, emit}));
    CHECK_FALSE(known({norm, weight, joined, emit, layer_norm, next_weight, emit}));
    CHECK_FALSE(known({residual, norm, weight, joined, emit}));
}

TEST_CASE("chains that differ only in their matrices are one family", "[pattern]") {
    const pattern a = pattern_of(chain_of("a", false, true, q8));
    CHECK(same_family(a, pattern_of(chain_of("b", false, true, q4))));
    const pattern of_floats = pattern_of(chain_of("e", false, true, numbers));
    CHECK(same_family(a, of_floats));
    CHECK(of_floats.activations == format_set::of(format::f32));
    CHECK_FALSE(same_family(a, pattern_of(chain_of("c", true, true, q8))));
    CHECK_FALSE(same_family(a, pattern_of(chain_of("d", false, false, q8))));
}
