// What the proof knows of ggml's ops and of launches, against what the matcher knows: two readings
// of the same sources, which must agree. tests/ggml/gates.cpp holds the formulas against a ggml.
#include "catena/chain/gate.hpp"
#include "catena/match/detail/gated.hpp"
#include "catena/match/op_name.hpp"
#include "catena/plan/detail/verify/rope.hpp"
#include "catena/plan/detail/verify/value.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/gate_formula.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

using namespace catena;

namespace {

constexpr double alpha = 1.702, limit = 7;

/// Fails unless a formula of the proof is f(x) * y as the chain language says it.
void check_same(const proof::gate_formula& formula, gate_function f) {
    for (int i = -200; i <= 200; ++i)
        for (const double y : {-9.0, 0.5, 9.0}) {
            const double x = i / 20.0;
            const double wanted = chain::gated({f, alpha, limit}, x, y);
            const double have = catena_test::value_of(formula, x, y, alpha, limit);
            if (!(std::abs(have - wanted) <= 1e-6 * (1 + std::abs(wanted))))
                FAIL_CHECK("at " << x << ", " << y << ": " << have << ", not " << wanted);
        }
}

}  // namespace

TEST_CASE("the proof and the matcher know the same gates of ggml, by the same formulas",
          "[verify]") {
    int known = 0;
    for (const sub_op_spelling& s : sub_op_spellings) {
        CAPTURE(s.name);
        const gate_function f = function_of(s.kind);
        const proof::gate_formula formula = proof::formula_of(s.kind);
        CHECK(formula.known() == (f != gate_function::none));
        if (!formula.known()) continue;
        ++known;
        check_same(formula, f);
    }
    CHECK(known == 12);
}

TEST_CASE("the proof knows the formula of each function of a launch", "[verify]") {
    for (int i = 0; i < gate_function_count; ++i) {
        const auto f = static_cast<gate_function>(i);
        CAPTURE(name(f));
        const proof::gate_formula formula = proof::formula_of(f);
        CHECK(formula.known() == (f != gate_function::none));
        if (f == gate_function::none || f == gate_function::relu_squared) continue;
        check_same(formula, f);
    }
    const proof::value x = proof::single(1);
    const proof::value relu = proof::function_of(proof::formula_of(sub_op::relu), x);
    CHECK(proof::function_of(gate_function::relu_squared, x).hash == proof::times(relu, relu).hash);
}

TEST_CASE("values of different gates differ", "[verify]") {
    const proof::value x = proof::single(1);
    for (int i = 1; i < gate_function_count; ++i)
        for (int j = 1; j < i; ++j) {
            const auto f = static_cast<gate_function>(i), g = static_cast<gate_function>(j);
            CAPTURE(name(f), name(g));
            CHECK(proof::function_of(f, x).hash != proof::function_of(g, x).hash);
        }
}

TEST_CASE("the proof and the matcher read the same numbers of a ROPE", "[verify]") {
    for (const std::int32_t mode : {0, 1, 2, 8, 24, 40}) {
        CAPTURE(mode);
        std::int32_t words[16];
        for (int i = 0; i < 16; ++i) {
            const float f = 1.5f + static_cast<float>(i);
            std::memcpy(&words[i], &f, sizeof f);
        }
        words[2] = mode;
        const rope_numbers a = rope_of(words), b = proof::numbers_of_rope(words);
        CHECK(a.pairs == b.pairs);
        CHECK(a.dims == b.dims);
        CHECK(a.first == b.first);
        CHECK(a.context == b.context);
        CHECK(a.base == b.base);
        CHECK(a.scale == b.scale);
        CHECK(a.mix == b.mix);
        CHECK(a.magnitude == b.magnitude);
        CHECK(a.fast == b.fast);
        CHECK(a.slow == b.slow);
        for (int i = 0; i < 4; ++i) CHECK(a.section[i] == b.section[i]);
    }
}
