// Quantized weights that warpgroups multiply as bf16, under policies at the edges of what they take
// and for every format that can be taken apart: right for every case, and the same bits whatever
// the policy.
#include "edge_tiles.hpp"
#include "sampled.hpp"

using namespace catena;
using namespace catena_test;

namespace decoded {
namespace {

template <format... F>
constexpr product_computation decoded = {.kind = skeleton::matmul,
                                         .activation = format::bf16_mma,
                                         .weights = (format_set{} | ... | F),
                                         .epilogue = every_part};

/// One with two fragments, and two; pieces of four and of eight steps.
constexpr matmul_policy one_group = {.threads = 128,
                                     .rows = 32,
                                     .columns = 32,
                                     .piece = 256,
                                     .stages = 3,
                                     .copy = copy_method::async,
                                     .product = tile_product::wgmma};
constexpr matmul_policy two_groups = {.threads = 256,
                                      .rows = 16,
                                      .columns = 128,
                                      .piece = 512,
                                      .stages = 3,
                                      .copy = copy_method::plain,
                                      .product = tile_product::wgmma};

/// Pieces that are as short as so many stages allow.
constexpr matmul_policy short_pieces = {.threads = 128,
                                        .rows = 16,
                                        .columns = 64,
                                        .piece = 128,
                                        .stages = 4,
                                        .copy = copy_method::async,
                                        .product = tile_product::wgmma};

}  // namespace

TEST_CASE(
    "A matmul of decoded weights stands every case, and all its policies give the same bits") {
    constexpr auto small = decoded<format::q8_0>, mins = decoded<format::q4_K>,
                   halves = decoded<format::q6_K>;
    stands_every_case(
        {made<small, one_group>(), made<small, two_groups>(), made<small, short_pieces>()});
    stands_every_case({made<mins, one_group>(), made<mins, two_groups>()});
    stands_every_case({made<halves, one_group>(), made<halves, two_groups>()});
    stands_every_case(
        {made<mins, in_clusters(one_group)>(), made<mins, in_clusters(two_groups)>()});
    stands_every_case({made<small, in_clusters(short_pieces)>()});
}

TEST_CASE("A matmul of several formats decodes each member's own") {
    stands_every_case({made<decoded<format::q4_K, format::q6_K>, one_group>()});
}

TEST_CASE("A matmul decodes every format that can be taken apart") {
    const auto stands = []<format... F> {
        const auto one = [](const instance& on) {
            INFO(row_name(on.computes, on.policy, "test"));
            sweep(on, nullptr, sampled);
        };
        (one(made<decoded<F>, one_group>()), ...);
    };
    using enum format;
    stands.operator()<q4_0, q4_1, q5_0, q5_1, q2_K, q3_K, q5_K, mxfp4, nvfp4, iq4_nl, iq4_xs>();
    stands.operator()<iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq1_s, iq1_m>();
    stands.operator()<q1_0, q2_0, tq1_0, tq2_0>();
}

TEST_CASE("Decoded weights have the bits of a device's tensor cores, and an order of their own") {
    CHECK(bits_of_device(decoded<format::q4_K>));
    CHECK(order_of(one_group) == order_of(two_groups));
    CHECK(order_of(one_group) != order_of(in_clusters(one_group)));
}

}  // namespace decoded
