// The gated delta rule in the chain language: how it is spelled, and what it means.
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

constexpr lowered_chain lowered = lower("recalled", delta_rule | emit<f32>);

/// A head of two values and two tokens. The state recalls (1, 2) for the first unit vector and
/// (10, 20) for the second.
inputs two_tokens() {
    inputs in;
    in.k = 2, in.heads = 1, in.rows = 2, in.key_heads = 1;
    in.state = {1, 10, 2, 20};
    in.x = {5, 6, 7, 8};
    in.keys = {1, 0, 0, 1};
    in.queries = {1, 0, 1, 1};
    in.beta = {1, 0.5};
    in.decay = {0, std::log(0.5)};
    return in;
}

}  // namespace

TEST_CASE("a chain that recalls is spelled and lowered as it was written") {
    CHECK(std::string(lowered.signature) == "delta_rule | emit<f32>");
    const row_computation c = row_part(lowered);
    CHECK(c.stages == stage_set::of(stage_kind::delta_rule));
    CHECK(c.emits == format_set::of(f32));
    CHECK_FALSE(emits_sum(lowered, 1));
    CHECK(complete<flow_after<flow{}, decltype(delta_rule | emit<f32>)>>());
}

TEST_CASE(
    "rows that recall serve no heads that are in memory or convolved, and no others serve theirs") {
    const stage_set all = row_part(lowered).stages;
    CHECK(serves(all, all));
    for (const stage_kind other : {stage_kind::rms_norm, stage_kind::store, stage_kind::convolve}) {
        CHECK_FALSE(serves(all, stage_set::of(other)));
        CHECK_FALSE(serves(stage_set::of(other), all));
    }
}

TEST_CASE("a token corrects what the state recalls for its key, and recalls for its query") {
    // The first token: (1, 2) becomes (5, 6) for its key. The second: all decays to a half, and of
    // the error (7, 8) - (5, 10) for its key a half is corrected.
    const outputs out = reference(lowered, two_tokens());
    const std::vector<double> state{2.5, 6, 3, 9};
    const std::vector<double> value{5, 6, 2.5 + 6, 3 + 9};
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(std::abs(out.state[i] - state[i]) < 1e-12);
        CHECK(std::abs(out.value[i] - value[i]) < 1e-12);
    }
}

TEST_CASE("each value of a key may have a decay of its own, and values a factor") {
    inputs in = two_tokens();
    in.decay = {0, 0, 0, std::log(0.5)};
    in.head_scale = 3;
    const outputs out = reference(lowered, in);
    CHECK(std::abs(out.state[0] - 5) < 1e-12);
    CHECK(std::abs(out.state[1] - (5 + 0.5 * (7 - 5))) < 1e-12);
    CHECK(std::abs(out.value[2] - 3 * (5 + 6)) < 1e-12);
}

TEST_CASE("heads of values share heads of keys in turn") {
    inputs in;
    in.k = 1, in.heads = 3, in.rows = 3, in.key_heads = 2;
    in.state = {1, 1, 1};
    in.x = {1, 1, 1};
    in.keys = {0, 0};
    in.queries = {2, 5};
    in.beta = {1, 1, 1}, in.decay = {0, 0, 0};
    CHECK(reference(lowered, in).value == std::vector<double>{2, 5, 2});
}

TEST_CASE("operands of other lengths are refused") {
    for (std::vector<double> inputs::*const operand :
         {&inputs::queries, &inputs::keys, &inputs::beta, &inputs::decay, &inputs::state}) {
        inputs in = two_tokens();
        (in.*operand).pop_back();
        CHECK_THROWS_AS(reference(lowered, in), std::invalid_argument);
    }
}
