// Convolutions in the chain language: how they are spelled, and what they mean.
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

constexpr lowered_chain lowered = lower("convolved", convolve | emit<f32> | rms_norm | emit<f32>);

/// Two heads of a channel each, of three tokens, with three taps.
inputs channels() {
    inputs in;
    in.k = 1, in.heads = 2, in.rows = 6;
    in.x = {1, 10, 2, 20, 3, 30};
    in.taps = {1, 2, 4, 1, 0, -1};
    in.state = {5, 6, 50, 60};
    return in;
}

}  // namespace

TEST_CASE("a chain that convolves is spelled and lowered as it was written") {
    CHECK(std::string(lowered.signature) == "convolve | emit<f32> | rms_norm | emit<f32>");
    const row_computation c = row_part(lowered);
    CHECK(c.stages == (stage_kind::convolve | stage_kind::rms_norm));
    CHECK(c.emits == format_set::of(f32));
    CHECK(emits_sum(lowered, 1));
    CHECK(complete<flow_after<flow{}, decltype(convolve | emit<f32>)>>());
}

TEST_CASE("rows that convolve serve no heads that are in memory, and no others serve theirs") {
    const stage_set all = row_part(lowered).stages;
    CHECK(serves(all, stage_set::of(stage_kind::convolve)));
    CHECK_FALSE(serves(all, stage_set::of(stage_kind::rms_norm)));
    CHECK_FALSE(serves(all, stage_set::of(stage_kind::store)));
    CHECK_FALSE(serves(stage_kind::rms_norm | stage_kind::store, all));
}

TEST_CASE("a token is the sum of the last values of its channel times its taps") {
    const outputs out = reference(lower("sums", convolve | emit<f32>), channels());
    CHECK(out.sum ==
          std::vector<double>{5 + 2 * 6 + 4, 50 - 10, 6 + 2 + 8, 60 - 20, 1 + 4 + 12, 10 - 30});
    CHECK(out.state == std::vector<double>{2, 3, 20, 30});
}

TEST_CASE("a bias and a function follow the sum, and then a norm of each head") {
    inputs in = channels();
    in.k = 2, in.heads = 1, in.rows = 3;
    in[operand::bias] = {100, -100};
    in.gated_by.function = gate_function::relu;
    in.norm_scale = 3;
    const outputs out = reference(lowered, in);
    CHECK(out.sum == std::vector<double>{121, 0, 116, 0, 117, 0});
    for (const std::size_t token : {0, 1, 2}) {
        CHECK(std::abs(out.value[2 * token] - 3 * std::sqrt(2)) < 1e-12);
        CHECK(out.value[2 * token + 1] == 0);
    }
}

TEST_CASE("a short prompt keeps a part of the state before it") {
    inputs in = channels();
    in.rows = 2, in.x = {1, 10};
    const outputs out = reference(lower("one", convolve | emit<f32>), in);
    CHECK(out.state == std::vector<double>{6, 1, 60, 10});
    in.state.pop_back();
    CHECK_THROWS_AS(reference(lowered, in), std::invalid_argument);
    in.taps = {1, 1};
    CHECK_THROWS_AS(reference(lowered, in), std::invalid_argument);
}
