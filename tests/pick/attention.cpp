// Launches that attend: their limits, their clusters and their shared memory.
#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

/// Eight warps and clusters, on a GPU that has both; four heads of keys, whose queries are two.
struct attention {
    arch target = toy_arch;
    row on = row_of(
        norm_row, row_policy{.threads = 256, .values = 4, .rows = 8, .cluster = 8, .vector = true});
    row_problem p;

    attention() {
        target.cluster_blocks = 8, target.sms = 64;
        target.shared_per_sm = target.shared_per_block = 1 << 17;
        on.computes.row() = {.stages = stage_kind::store | stage_kind::attend,
                             .emits = format_set::of(format::f32) | format::f16};
        p.needs = on.computes.row();
        p.k = 128, p.rows = 8, p.slots = 2, p.stored = 8, p.positions = 64;
    }
    launch_config config() const {
        return config_of(on, p, target, shape_of_launch(on, p, target, 1));
    }
    rejection judge() const { return constraint(on, p, target); }
};

}  // namespace

TEST_CASE("blocks share the positions of a head of keys as long as one has more than 64",
          "[constraints]") {
    attention a;
    for (const auto& [positions, blocks] : {std::pair(1, 1u),
                                            {64, 1u},
                                            {65, 2u},
                                            {128, 2u},
                                            {129, 4u},
                                            {256, 4u},
                                            {257, 8u},
                                            {2000, 8u}}) {
        INFO(positions);
        a.p.positions = positions;
        REQUIRE(a.judge().why == limit::none);
        CHECK(a.config().cluster == blocks);
        CHECK(a.config().blocks == 4 * blocks);
        CHECK(a.config().threads == 256);
    }
    SECTION("as many as the GPU's clusters have") {
        a.target.cluster_blocks = 2;
        CHECK(a.config().cluster == 2);
        a.target.cluster_blocks = 1;
        CHECK(a.config().cluster == 1);
        CHECK(a.config().blocks == 4);
    }
    SECTION("as many as the policy says") {
        a.on.policy.row().cluster = 4;
        CHECK(a.config().cluster == 4);
        a.on.policy.row().cluster = 0;
        CHECK(a.config().cluster == 1);
    }
    SECTION("as many as the GPU has SMs for") {
        a.target.sms = 31;
        CHECK(a.config().cluster == 4);
    }
}

TEST_CASE("clusters share the queries of a head of keys as long as there are SMs for them",
          "[constraints]") {
    attention a;
    const auto shared = [&a](int queries, int sms) {
        a.p.slots = queries, a.p.rows = 4 * queries, a.target.sms = sms;
        REQUIRE(a.judge().why == limit::none);
        const attention_share out = share_of_attention(a.on, a.p, a.target);
        CHECK(a.config().cluster == static_cast<unsigned>(out.blocks));
        CHECK(a.config().blocks == static_cast<unsigned>(4 * out.clusters * out.blocks));
        return std::pair(out.clusters, out.queries);
    };
    a.p.positions = 512;
    CHECK(shared(2, 1000) == std::pair(1, 2));
    CHECK(shared(4, 1000) == std::pair(1, 4));
    CHECK(shared(8, 1000) == std::pair(1, 8));
    CHECK(shared(9, 1000) == std::pair(2, 8));
    CHECK(shared(24, 1000) == std::pair(3, 8));
    SECTION("of eight blocks each") {
        CHECK(shared(16, 4 * 8) == std::pair(1, 16));
        CHECK(shared(16, 4 * 8 * 2 - 1) == std::pair(1, 16));
        CHECK(shared(16, 4 * 8 * 2) == std::pair(2, 8));
        CHECK(shared(12, 4 * 8 * 2) == std::pair(2, 8));
        CHECK(shared(16, 4 * 8 * 4) == std::pair(2, 8));
        CHECK(shared(24, 4 * 8 * 2) == std::pair(2, 12));
        CHECK(shared(32, 4 * 8 * 4) == std::pair(4, 8));
    }
    SECTION("more if one would have more than 32 queries") {
        a.p.positions = 64;
        CHECK(shared(32, 4) == std::pair(1, 32));
        CHECK(shared(33, 4) == std::pair(2, 20));
        CHECK(shared(65, 8) == std::pair(3, 24));
    }
    SECTION("or more than 4096 scores, down to four queries") {
        CHECK(shared(8, 4) == std::pair(1, 8));
        CHECK(shared(9, 4) == std::pair(2, 8));
        CHECK(shared(16, 4) == std::pair(2, 8));
        a.p.positions = 1024;
        CHECK(shared(8, 4) == std::pair(2, 4));
        CHECK(shared(4, 4) == std::pair(1, 4));
    }
    SECTION("or no room for so many") {
        a.p.positions = 64;
        a.target.shared_per_block = 68 << 10;
        CHECK(shared(32, 4) == std::pair(2, 16));
        a.target.shared_per_block = 30 << 10;
        CHECK(shared(32, 4) == std::pair(8, 4));
    }
}

TEST_CASE("a block that attends has room for its queries, their scores and all blocks' sums",
          "[constraints]") {
    attention a;
    // Scores of eight queries for the 64 positions that the warps have at once; of each query the
    // sums of eight warps and of a block, their two counts, and a share, whose number is rounded up
    // to four. Then two halves of the queries, a key and a value of the token, and two numbers of
    // each position.
    const auto scores = 4u * 8 * 64;
    const auto made = [](unsigned queries) { return 4 * queries * 8 * (128 + 8 + 2); };
    const auto joined = [](unsigned sums, unsigned rest) {
        return 4 * (sums * (128 + 2 + 1) + rest);
    };
    const auto halves = [](unsigned queries, unsigned tokens) {
        return 2 * (2 * queries * (128 + 16) + 2 * tokens * 128 + 2 * 64);
    };
    CHECK(a.config().shared_bytes == scores + made(2) + joined(2, 2) + halves(2, 1));
    a.p.rows *= 4, a.p.slots *= 4, a.p.stored *= 4;
    CHECK(a.config().shared_bytes == scores + made(8) + joined(8, 0) + halves(8, 4));
    a.target.sms = 4;  // one cluster has all queries
    a.p.rows *= 2, a.p.slots *= 2, a.p.stored *= 2;
    CHECK(a.config().shared_bytes == scores + made(8) + joined(16, 0) + halves(16, 8));
    a.target.sms = 64;
    a.p = attention{}.p;
    a.p.positions = 8 * 64;
    CHECK(a.config().shared_bytes == scores + made(2) + joined(2 * 8, 0) + halves(2, 1));
    a.target.shared_per_block = 20 << 10;  // which four blocks' sums fill
    CHECK(a.config().cluster == 4);
    CHECK(a.judge().why == limit::none);
    a.target.shared_per_block = 1 << 14;
    CHECK(a.config().cluster == 8);
    CHECK(a.judge().why == limit::shared_memory);
    CHECK(a.judge().have == a.config().shared_bytes);
}

TEST_CASE("scores are limited, and a head is whole lanes", "[constraints]") {
    attention a;
    a.p.slots = 0, a.p.rows = 0;
    CHECK(sentence(a.judge()) == "a head of keys has 0 queries; it attends for 1 or more");
    a.p.slots = 8, a.p.rows = 4;
    CHECK(a.judge().why == limit::queries);
    a.p = attention{}.p;
    a.p.positions = 8 * 2048;
    CHECK(a.judge().why == limit::none);
    ++a.p.positions;
    CHECK(sentence(a.judge()) ==
          "4098 scores of a block's positions, of which it has 4096 at most");
    a.on.policy.row().cluster = 0;
    a.p.positions = 2048;
    CHECK(a.judge().why == limit::none);
    a.p.positions = 2049;
    CHECK(a.judge().why == limit::scores);
    a.p.positions = 64, a.p.k = 72;
    CHECK(a.judge().why == limit::none);
    a.p.k = 68;
    CHECK(a.judge().why == limit::divisibility);
    CHECK(a.judge().need == attended_by_lane);
    a.p.k = 136;
    CHECK(a.judge().why == limit::held_values);
    a.p.k = 128, a.p.alignment = 8;
    CHECK(a.judge().why == limit::alignment);
}

TEST_CASE("attention reads a key and a value of each position for each head of keys",
          "[constraints]") {
    row_problem p = attention{}.p;
    const std::int64_t made = 2 * 4 * 8 + (4 + 2) * 8;  // queries and results, and what is stored
    CHECK(bytes_of(p) == 128 * (2 * 2 * 64 * 4 + made));
    p.positions = 65;
    CHECK(p != attention{}.p);
    CHECK(bytes_of(p) == 128 * (2 * 2 * 65 * 4 + made));
}

TEST_CASE("attention that is quantized has heads of whole blocks, other bytes, and takes longer",
          "[constraints]") {
    attention a;
    const row_problem plain = a.p;
    a.on.computes.row().emits = a.on.computes.row().emits | format::q8_1;
    a.p.needs.emits = format_set::of(format::f16) | format::q8_1;
    a.p.quant_k = 8 * 128;
    CHECK(a.judge().why == limit::none);
    const std::int64_t quantized = q8_1_row_bytes(a.p.quant_k);
    CHECK(bytes_of(a.p) - bytes_of(plain) == quantized - 4 * a.p.quant_k);
    row_problem both = a.p;
    both.needs.emits = both.needs.emits | format::f32;
    CHECK(bytes_of(both) - bytes_of(plain) == quantized);
    const auto us = [&](const row_problem& p) {
        return detail::attending_us(a.on, p, a.target, cost_constants{});
    };
    CHECK(us(a.p) == Approx(us(plain) + cost_constants{}.quantize_us));
    a.p.k = 72, a.p.quant_k = 8 * 72;
    CHECK(a.judge().why == limit::divisibility);
    CHECK(a.judge().need == 32);
}

TEST_CASE("attention of several tokens has a token's queries, keys and values so many times",
          "[constraints]") {
    const row_problem one = attention{}.p;
    row_problem three = one;
    three.rows *= 3, three.slots *= 3, three.stored *= 3;
    CHECK(of_one_token(three) == one);
    CHECK(of_one_token(one) == one);
}
