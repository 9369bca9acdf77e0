// Turns and stores of heads in the chain language: how they are spelled, and what they mean.
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

constexpr auto attention_heads = rms_norm | mul(weight) | rope | store<f16, q8_0> | emit<f32>;
constexpr lowered_chain lowered = lower("heads", attention_heads);

/// Heads of four elements of two tokens.
inputs heads(pairing pairs, int count = 2) {
    inputs in;
    in.k = 4, in.heads = count, in.rows = 2 * count;
    in.eps = 0;
    for (int i = 0; i < in.k * in.rows; ++i) in.x.push_back(i % 5 - 1.5);
    in[operand::weight] = {1, 1, 1, 1};
    in.rope.pairs = pairs, in.rope.dims = 4, in.rope.base = 100;
    in.positions = {3, 10};
    return in;
}

std::vector<double> turned(const inputs& in) {
    return reference(lower("turned", rope | emit<f32>), in).value;
}

}  // namespace

TEST_CASE("a chain of heads is spelled and lowered as it was written") {
    CHECK(std::string(lowered.signature) ==
          "rms_norm | mul(weight) | rope | store<f16, q8_0> | emit<f32>");
    const row_computation c = row_part(lowered);
    CHECK(c.stages ==
          (stage_kind::rms_norm | stage_kind::mul_weight | stage_kind::rope | stage_kind::store));
    CHECK(c.emits == (format_set::of(f16) | q8_0 | f32));
    CHECK(complete<flow_after<flow{}, decltype(rope | store<f16>)>>());
}

TEST_CASE("rows of heads serve any part of their chain, and no other row") {
    const stage_set all = row_part(lowered).stages;
    CHECK(serves(all, stage_set::of(stage_kind::store)));
    CHECK(serves(all, stage_kind::rms_norm | stage_kind::rope));
    CHECK_FALSE(serves(all, stage_kind::rms_norm | stage_kind::mul_weight));
    CHECK_FALSE(serves(stage_kind::rms_norm | stage_kind::mul_weight, all));
    CHECK_FALSE(serves(stage_set::of(stage_kind::rope), stage_set::of(stage_kind::store)));
}

TEST_CASE("a turn keeps the length of each pair, by the angle of its token") {
    const inputs near = heads(pairing::neighbors);
    const std::vector<double> v = turned(near);
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t pair = 0; pair < 2; ++pair) {
            const std::size_t at = 4 * row + 2 * pair;
            const double angle = (row < 2 ? 3 : 10) * (pair == 0 ? 1 : 0.1);
            CHECK(std::abs(v[at] - (near.x[at] * std::cos(angle) -
                                    near.x[at + 1] * std::sin(angle))) < 1e-6);
            CHECK(std::abs(std::hypot(v[at], v[at + 1]) - std::hypot(near.x[at], near.x[at + 1])) <
                  1e-12);
        }
}

TEST_CASE("halves are neighbors in another order") {
    inputs near = heads(pairing::neighbors), apart = heads(pairing::halves);
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t i = 0; i < 4; ++i)
            apart.x[4 * row + i % 2 * 2 + i / 2] = near.x[4 * row + i];
    const auto a = turned(near), b = turned(apart);
    for (std::size_t row = 0; row < 4; ++row)
        for (std::size_t i = 0; i < 4; ++i) CHECK(b[4 * row + i % 2 * 2 + i / 2] == a[4 * row + i]);
}

TEST_CASE("what lies outside of the turned dimensions stays") {
    inputs in = heads(pairing::neighbors);
    in.rope.dims = 2, in.rope.first = 2;
    const auto v = turned(in);
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(v[4 * row] == in.x[4 * row]);
        CHECK(v[4 * row + 2] != in.x[4 * row + 2]);
    }
}

TEST_CASE("sections take the positions of their own, and equal ones are one") {
    for (const pairing pairs : {pairing::sections, pairing::interleaved}) {
        inputs plain = heads(pairing::halves), cut = heads(pairs);
        cut.rope.section[0] = cut.rope.section[1] = 1;
        cut.positions = {3, 10, 3, 10, 3, 10, 3, 10};
        CHECK(turned(cut) == turned(plain));
        cut.positions[2] = 4;  // the second section of the first token
        CHECK(turned(cut) != turned(plain));
        CHECK_THROWS_AS(turned(plain = heads(pairs)), std::invalid_argument);
    }
    constexpr std::int32_t thirds[4] = {2, 2, 2, 0};
    for (int pair = 0; pair < 6; ++pair) {
        CHECK(section_of(pairing::sections, thirds, 6, pair) == pair / 2);
        CHECK(section_of(pairing::interleaved, thirds, 6, pair) == pair % 3);
    }
    constexpr std::int32_t uneven[4] = {3, 1, 1, 1};
    CHECK(section_of(pairing::interleaved, uneven, 6, 4) == 3);
    CHECK(section_of(pairing::sections, uneven, 6, 5) == 3);
}

TEST_CASE("YaRN leaves pairs that turn fast, and slows the others") {
    inputs in = heads(pairing::halves);
    in.rope.dims = 4, in.rope.base = 1e6f;
    in.rope.context = 4096, in.rope.scale = 0.25f, in.rope.mix = 1, in.rope.fast = 32,
    in.rope.slow = 1;
    CHECK(std::abs(angle_of(in, 0, 2, 0) - 3) < 1e-5);                  // more than 32 turns
    CHECK(std::abs(angle_of(in, 0, 2, 1) / (3e-3 * 0.25) - 1) < 1e-5);  // less than one
    CHECK(std::abs(rotation_of(in.rope).magnitude - (1 + 0.1 * std::log(4))) < 1e-6);
}

TEST_CASE("divided angles and a number behind the turn") {
    inputs in = heads(pairing::neighbors);
    in.factors = {2, 4};
    CHECK(std::abs(angle_of(in, 1, 2, 0) - 5) < 1e-6);
    const auto once = turned(in);
    in.head_scale = 3;
    const auto scaled = turned(in);
    for (std::size_t i = 0; i < once.size(); ++i) CHECK(std::abs(scaled[i] - 3 * once[i]) < 1e-12);
}

TEST_CASE("a row of a cache has the heads of the last token that says so") {
    inputs in = heads(pairing::none);
    in.cache_rows = {7, 7};
    const auto stored = reference(lower("stored", store<f16> | emit<f32>), in).stored;
    REQUIRE(stored.size() == 1);
    CHECK(stored.at(7) == std::vector<double>(in.x.begin() + 8, in.x.end()));
    in.cache_rows = {2};
    CHECK_THROWS_AS(reference(lower("stored", store<f16> | emit<f32>), in), std::invalid_argument);
}
