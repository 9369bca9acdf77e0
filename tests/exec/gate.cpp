// The gate functions of the kernels, on `real`, against those of the chain language, in double.
#include "catena/chain/gate.hpp"
#include "catena/kernel/gate.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>

using namespace catena;

namespace {

constexpr float alpha = 1.702f, limit = 7;  // those of gpt-oss
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

real gated(gate_function f, float gate, float value) {
    return kernel::gated(f, real{gate}, real{value}, real{alpha}, real{limit});
}

template <class Visit>
void for_each_function(Visit visit) {
    for (int f = 0; f < gate_function_count; ++f) {
        INFO(name(static_cast<gate_function>(f)));
        visit(static_cast<gate_function>(f));
    }
}

}  // namespace

TEST_CASE("a gated value is that of the reference, to a few roundings of the gate's size") {
    for_each_function([](gate_function f) {
        for (int i = -4000; i <= 4000; ++i)
            for (const float value : {1.0f, -2.5f, 9.0f}) {
                const float gate = static_cast<float>(i) / 100;
                const double wanted = chain::gated({f, double{alpha}, double{limit}}, gate, value);
                const double size =
                    f == gate_function::relu_squared ? double{gate} * gate : std::fabs(gate);
                const double allowed = 5e-7 * (size + 1) * (std::fabs(value) + 1);
                if (std::fabs(gated(f, gate, value).v - wanted) > allowed)
                    FAIL_CHECK("at " << gate);
            }
    });
}

TEST_CASE("far from zero a gate is open or shut") {
    for (const float far : {100.0f, 1e20f, std::numeric_limits<float>::max()}) {
        for (const auto f : {gate_function::silu, gate_function::gelu, gate_function::gelu_erf,
                             gate_function::gelu_quick, gate_function::relu}) {
            INFO(name(f));
            CHECK(gated(f, far, 1).v == far);
            CHECK(gated(f, -far, 1).v == 0);
        }
        CHECK(gated(gate_function::sigmoid, far, 3).v == 3);
        CHECK(gated(gate_function::sigmoid, -far, 3).v == 0);
        CHECK(gated(gate_function::swiglu_oai, far, far).v ==
              gated(gate_function::swiglu_oai, limit, limit).v);
        CHECK(gated(gate_function::swiglu_oai, -far, far).v == 0);
    }
    CHECK(gated(gate_function::silu, infinity, 2).v == infinity);
}

TEST_CASE("a NaN of the gate or of the value stays one") {
    for_each_function([](gate_function f) {
        for (const float other : {-3.0f, 0.0f, 3.0f}) {
            CHECK(is_nan(gated(f, not_a_number, other)));
            CHECK(is_nan(gated(f, other, not_a_number)));
        }
    });
}
