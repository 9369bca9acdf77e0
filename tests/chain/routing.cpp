// Routing in the chain language: how it is spelled, and what it means.
#include "catena/chain/catalogue.hpp"
#include "catena/chain/parts.hpp"
#include "catena/chain/reference.hpp"
#include "catena_test/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace catena::chain;
using namespace catena;

namespace {

constexpr lowered_chain lowered = lower("routing", score | choose | weigh | emit<f32>);
using numbers = std::vector<std::int32_t>;

/// The logits of one token.
inputs token(std::vector<double> logits, int chosen) {
    inputs in;
    in.k = static_cast<std::int64_t>(logits.size()), in.rows = 1;
    in.x = std::move(logits);
    in.routing.chosen = chosen;
    return in;
}

outputs routed(const inputs& in) { return reference(lowered, in); }

bool near(double a, double b) { return std::abs(a - b) < 1e-12; }

}  // namespace

TEST_CASE("a chain of routing is spelled and lowered as it was written") {
    CHECK(std::string(lowered.signature) == "score | choose | weigh | emit<f32>");
    const row_computation c = row_part(lowered);
    CHECK(c.stages == (stage_kind::score | stage_kind::choose | stage_kind::weigh));
    CHECK(c.emits == format_set::of(f32));
    CHECK(complete<flow_after<flow{}, decltype(choose | emit<f32>)>>());
}

TEST_CASE("rows of routing serve any part of their chain that chooses, and no other row") {
    const stage_set all = row_part(lowered).stages;
    CHECK(serves(all, stage_set::of(stage_kind::choose)));
    CHECK(serves(all, stage_kind::score | stage_kind::choose));
    CHECK_FALSE(serves(all, stage_set::of(stage_kind::score)));
    CHECK_FALSE(serves(stage_set::of(stage_kind::choose), all));
    CHECK_FALSE(serves(stage_kind::rms_norm | stage_kind::mul_weight, all));
}

TEST_CASE("experts are sorted, and of the first the soft max is divided by its sum") {
    inputs in = token({0, 2, 1, std::log(2.0) + 2}, 2);
    in.routing.score = scoring::soft_max, in.routing.normalized = true;
    const outputs out = routed(in);
    CHECK(out.chosen == numbers{3, 1, 2, 0});
    REQUIRE(out.value.size() == 2);
    CHECK(near(out.value[0], 2.0 / 3));
    CHECK(near(out.value[1], 1.0 / 3));
}

TEST_CASE("a soft max of the chosen alone is the same as one of all that is normalized") {
    inputs all = token({0.5, -1, 3, 2, 0.25}, 3), some = all;
    all.routing.score = scoring::soft_max, all.routing.normalized = true;
    some.routing.soft_max_chosen = true;
    const outputs a = routed(all), b = routed(some);
    CHECK(a.chosen == b.chosen);
    for (std::size_t i = 0; i < 3; ++i) CHECK(near(a.value[i], b.value[i]));
}

TEST_CASE("a bias moves the choice, and leaves the weights") {
    inputs in = token({0, 1, 2}, 2);
    in.routing.score = scoring::sigmoid, in.routing.scale = 2;
    in[operand::bias] = {1, 0, 0};
    const outputs out = routed(in);
    CHECK(out.chosen == numbers{0, 2, 1});
    CHECK(near(out.value[0], 2 * 0.5));
    CHECK(near(out.value[1], 2 / (1 + std::exp(-2))));
}

TEST_CASE("a score is the root of a softplus, which above 20 is the logit itself") {
    inputs in = token({0, 25, -1}, 3);
    in.routing.score = scoring::sqrt_softplus;
    const outputs out = routed(in);
    CHECK(out.chosen == numbers{1, 0, 2});
    CHECK(out.value[0] == 5);
    CHECK(near(out.value[1], std::sqrt(std::log(2))));
    CHECK(near(out.value[2], std::sqrt(std::log(1 + std::exp(-1)))));
}

TEST_CASE("experts are sorted by logits or by their sigmoids, whatever the scores are") {
    inputs in = token({40, 50, 1}, 2);
    in.routing.score = scoring::soft_max, in.routing.choice = choosing::by_logit;
    CHECK(routed(in).chosen == numbers{1, 0, 2});
    in.routing.choice = choosing::by_sigmoid;  // both are 1
    const outputs out = routed(in);
    CHECK(out.chosen == numbers{0, 1, 2});
    CHECK(near(out.value[1], 1 / (1 + std::exp(-10))));
}

TEST_CASE("only experts of the best groups are chosen, by the two best of each") {
    inputs in = token({9, -9, 3, 4, 5, 1}, 3);  // groups: 0, 7, 6
    in.routing.groups = 3, in.routing.groups_chosen = 2;
    CHECK(routed(in).chosen == numbers{4, 3, 2, 5, 0, 1});
    in.routing.groups_chosen = 1;
    CHECK(routed(in).chosen == numbers{3, 2, 0, 1, 4, 5});
}

TEST_CASE("equal choices keep the order of their experts, and NaN is behind all numbers") {
    const double none = std::numeric_limits<double>::quiet_NaN(),
                 most = std::numeric_limits<double>::infinity();
    const outputs out = routed(token({none, 1, -most, 1, -0.0, 0.0, none, most}, 3));
    CHECK(out.chosen == numbers{7, 1, 3, 4, 5, 2, 0, 6});
    CHECK(out.value == std::vector<double>{most, 1, 1});
}

TEST_CASE("a sum below the least is the least") {
    inputs in = token({0.25, 0.125}, 2);
    in.routing.normalized = true, in.routing.least = 0.5f;
    CHECK(routed(in).value == std::vector<double>{0.5, 0.25});
}

TEST_CASE("a routing that no experts can have is refused") {
    CHECK_THROWS_AS(routed(token({1, 2}, 3)), std::invalid_argument);
    CHECK_THROWS_AS(routed(token({1, 2}, 0)), std::invalid_argument);
    inputs in = token({1, 2, 3}, 1);
    in.routing.groups = 2;
    CHECK_THROWS_AS(routed(in), std::invalid_argument);
    in.routing.groups = 1, in[operand::bias] = {1};
    CHECK_THROWS_AS(routed(in), std::invalid_argument);
}

TEST_CASE("experts that a chain chooses are multiplied with what they read, and not with scores") {
    constexpr lowered_chain both =
        lower("routed", choose | emit<f32> | mul_mat_id<q4_K, mxfp4> | epilogue<mul(scale)>);
    CHECK(std::string(both.signature) ==
          "choose | emit<f32> | mul_mat_id<q4_K, mxfp4> | epilogue<mul(scale)>");
    const auto part = routed_matvec_part(both, format_set::of(q4_K));
    REQUIRE(part);
    CHECK(part->stages == stage_set::of(stage_kind::choose));
    CHECK(part->activation == q8_1);
    CHECK_FALSE(routed_matvec_part(lowered, format_set::of(q4_K)));

    inputs in = token({1, 3, 2}, 2);
    in.routed_k = 2, in.routed_x = {10, 1};
    in.matrices = {{.type = q4_K, .rows = 1, .experts = 3, .values = {1, 2, 3, 4, 5, 6}}};
    const outputs out = reference(both, in);
    CHECK(out.chosen == numbers{1, 2, 0});
    REQUIRE(out.products.size() == 1);
    CHECK(out.products[0] == std::vector<double>{34, 56});
    in.routed_x.pop_back();
    CHECK_THROWS_AS(reference(both, in), std::invalid_argument);
}
