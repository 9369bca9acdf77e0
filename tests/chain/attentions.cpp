// Attention in the chain language: how it is spelled, and what it means.
#include "catena/chain/catalogue.hpp"
#include "catena/chain/parts.hpp"
#include "catena/chain/reference.hpp"
#include "catena/match/pattern.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace catena::chain;
using namespace catena;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

constexpr lowered_chain lowered =
    lower("attended", rms_norm | mul(weight) | rope | store<f16> | attend | emit<f32>);
constexpr lowered_chain bare = lower("bare", store<f16> | attend | emit<f32>);

/// A head of two elements of one token, whose scores are 0 and log(3).
inputs two_positions() {
    inputs in;
    in.k = 2, in.heads = in.key_heads = 1, in.rows = 1;
    in.x = {1, 2};
    in.positions_attended = 2;
    in.keys = {2, -1, 0, std::log(3)};
    in.values = {4, 8, 12, 16};
    in.score_scale = 0.5;
    return in;
}

void check(const std::vector<double>& found, const std::vector<double>& wanted) {
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found[i] - wanted[i]) < 1e-12);
}

}  // namespace

TEST_CASE("a chain that attends is spelled and lowered as it was written") {
    CHECK(std::string(lowered.signature) ==
          "rms_norm | mul(weight) | rope | store<f16> | attend | emit<f32>");
    const row_computation c = row_part(lowered);
    CHECK(c.stages == (stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::rope |
                       stage_kind::store | stage_kind::attend));
    CHECK(c.emits == (format_set::of(f32) | f16));
    CHECK(complete<flow_after<flow{}, decltype(store<f16> | attend | emit<f32>)>>());
}

TEST_CASE("a chain may multiply what queries attend to") {
    constexpr lowered_chain multiplied =
        lower("multiplied", store<f16> | attend | emit<f32> | quantize<q8_1> | mul_mat<q4_K>);
    CHECK(row_part(multiplied).emits == (format_set::of(f32) | f16 | q8_1));
    CHECK(matvec_part(multiplied, format_set::of(q4_K)).activation == q8_1);
    const pattern p = pattern_of(multiplied);
    CHECK(p.known);
    CHECK(p.stages == stage_set::of(stage_kind::attend));
    CHECK(p.activations == format_set::of(q8_1));
    CHECK(p.dense == format_set::of(q4_K));
    CHECK(pattern_of(lowered).activations.empty());
}

TEST_CASE("rows that attend serve no heads that do not, and no others serve theirs") {
    const stage_set all = row_part(lowered).stages, heads = all.without(stage_kind::attend);
    CHECK(serves(all, all));
    CHECK(serves(all, stage_kind::store | stage_kind::attend));
    CHECK_FALSE(serves(all, heads));
    CHECK_FALSE(serves(heads, all));
    for (const stage_kind other :
         {stage_kind::convolve, stage_kind::delta_rule, stage_kind::ssm_scan, stage_kind::score}) {
        CHECK_FALSE(serves(all, stage_set::of(other)));
        CHECK_FALSE(serves(stage_set::of(other), all));
    }
}

TEST_CASE("values are added up by the soft max of scores: one quarter and three here") {
    check(reference(bare, two_positions()).value, {10, 14});
}

TEST_CASE("heads are normed before they attend") {
    inputs in = two_positions();
    in.eps = 0;
    const double rms = std::sqrt(2.5);
    in[operand::weight] = {rms, rms};
    check(reference(lower("normed", rms_norm | mul(weight) | store<f16> | attend | emit<f32>), in)
              .value,
          {10, 14});
}

TEST_CASE("a mask is added to scores, and a sink counts without a value") {
    inputs in = two_positions();
    in.mask = {std::log(3), 0};
    check(reference(bare, in).value, {8, 12});
    in.mask = {};
    in.sinks = {std::log(4)};
    check(reference(bare, in).value, {5, 7});
}

TEST_CASE("a hidden position does not count, whatever its key and value are") {
    inputs in = two_positions();
    in.mask = {minus_infinity, 0};
    in.keys[0] = in.values[1] = not_a_number;
    check(reference(bare, in).value, {12, 16});
    in.mask = {minus_infinity, minus_infinity};
    check(reference(bare, in).value, {0, 0});
    in.sinks = {1};
    check(reference(bare, in).value, {0, 0});
    in.mask = {0, 0};
    CHECK(std::isnan(reference(bare, in).value[0]));
}

TEST_CASE("neighboring heads share a head of keys, and each token has a mask of its own") {
    inputs in;
    in.k = 1, in.heads = 4, in.key_heads = 2, in.rows = 8;
    in.x.assign(8, 0);
    in.positions_attended = 2;
    in.keys.assign(4, 0);
    in.values = {1, 10, 3, 30};
    in.mask = {0, 0, minus_infinity, 0};
    check(reference(bare, in).value, {2, 2, 20, 20, 3, 3, 30, 30});
}

TEST_CASE("operands of attention that have other lengths are refused") {
    for (std::vector<double> inputs::*const operand :
         {&inputs::keys, &inputs::values, &inputs::mask, &inputs::sinks}) {
        inputs in = two_positions();
        in.mask = {0, 0}, in.sinks = {0};
        (in.*operand).push_back(0);
        CHECK_THROWS_AS(reference(bare, in), std::invalid_argument);
    }
}
