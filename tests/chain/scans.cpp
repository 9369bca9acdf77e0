// The scan of a state space in the chain language: how it is spelled, and what it means.
#include "catena/chain/catalogue.hpp"
#include "catena/chain/parts.hpp"
#include "catena/chain/reference.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace catena::chain;
using namespace catena;

namespace {

constexpr lowered_chain lowered = lower("scanned", ssm_scan | emit<f32>);

/// What softplus makes this step of.
double dt_of(double step) { return std::log(std::expm1(step)); }

/// A head of one value and two tokens, with a state of two numbers.
inputs two_tokens() {
    inputs in;
    in.k = 1, in.heads = 1, in.rows = 2, in.state_size = 2;
    in.state = {4, 8};
    in.x = {3, 5};
    in.dt = {dt_of(1), dt_of(2)};
    in.a = {std::log(0.5)};
    in.b = {1, 0, 0, 1};
    in.c = {1, 1, 1, 10};
    return in;
}

void check(const std::vector<double>& found, const std::vector<double>& wanted) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found[i] - wanted[i]) < 1e-12);
}

}  // namespace

TEST_CASE("a chain that scans is spelled and lowered as it was written") {
    CHECK(std::string(lowered.signature) == "ssm_scan | emit<f32>");
    const row_computation c = row_part(lowered);
    CHECK(c.stages == stage_set::of(stage_kind::ssm_scan));
    CHECK(c.emits == format_set::of(f32));
    CHECK_FALSE(emits_sum(lowered, 1));
    CHECK(complete<flow_after<flow{}, decltype(ssm_scan | emit<f32>)>>());
}

TEST_CASE("rows that scan serve no other heads, and no others serve theirs") {
    const stage_set all = row_part(lowered).stages;
    CHECK(serves(all, all));
    for (const stage_kind other :
         {stage_kind::rms_norm, stage_kind::store, stage_kind::convolve, stage_kind::delta_rule}) {
        CHECK_FALSE(serves(all, stage_set::of(other)));
        CHECK_FALSE(serves(stage_set::of(other), all));
    }
}

TEST_CASE("a token of step 1 leaves a half of the state here, and adds b * x; c makes the value") {
    // (4, 8) / 2 + (3, 0), and then, with step 2, a quarter of that plus (0, 5 * 2).
    const outputs out = reference(lowered, two_tokens());
    check(out.value, {5 + 4, 1.25 + 10 * 11});
    check(out.state, {1.25, 11});
}

TEST_CASE("a share of x is added to the value, and z gates the sum") {
    inputs in = two_tokens();
    in.d = {2};
    check(reference(lowered, in).value, {9 + 6, 111.25 + 10});
    in.z = {0, 1};
    check(reference(lowered, in).value, {0, 121.25 / (1 + std::exp(-1))});
}

TEST_CASE("a long step is dt itself") {
    inputs in = two_tokens();
    in.a = {0};
    in.dt = {1000, 30};
    check(reference(lowered, in).state, {4 + 3000, 8 + 150});
}

TEST_CASE("neighboring heads share b and c of a group") {
    inputs in;
    in.k = 1, in.heads = 4, in.rows = 4, in.state_size = 1, in.groups = 2;
    in.state = {0, 0, 0, 0};
    in.x = {1, 1, 1, 1};
    in.dt = {100, 100, 100, 100}, in.a = {0, 0, 0, 0};
    in.b = {1, 10}, in.c = {1, 1};
    check(reference(lowered, in).value, {100, 100, 1000, 1000});
}

TEST_CASE("operands of a scan that have other lengths are refused") {
    for (std::vector<double> inputs::*const operand :
         {&inputs::dt, &inputs::a, &inputs::b, &inputs::c, &inputs::d, &inputs::z,
          &inputs::state}) {
        inputs in = two_tokens();
        in.d = {1, 1}, in.z = {1, 1, 1};  // one number more than there is
        if (operand != &inputs::d) in.d.pop_back();
        if (operand != &inputs::z) in.z.pop_back();
        if (operand != &inputs::d && operand != &inputs::z) (in.*operand).pop_back();
        CHECK_THROWS_AS(reference(lowered, in), std::invalid_argument);
    }
}
