// The matmul of float weights: every type under policies at the edges of what a body takes, the
// bits of all of them, and what rounding to the weights' type does to an activation.
#include "edge_tiles.hpp"
#include "sampled.hpp"

#include "catena/match/pattern.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace catena;
using namespace catena_test;

namespace float_weights {
namespace {

template <format... F>
constexpr product_computation tiles = {.kind = skeleton::matmul,
                                       .activation = format::f32,
                                       .weights = (format_set{} | ... | F),
                                       .epilogue = every_part};

constexpr matmul_policy lone_warp = lone_tile(16, 64);
constexpr matmul_policy plain = {
    .threads = 64, .rows = 32, .columns = 16, .piece = 128, .stages = 3};
constexpr matmul_policy wide = {.threads = 128,
                                .rows = 16,
                                .columns = 128,
                                .piece = 32,
                                .stages = 4,
                                .copy = copy_method::async};

constexpr matmul_policy sliced = sliced_tile(64), sliced_plain = sliced_plain_tile(64);

/// Warpgroups: one with two fragments and every stage, and two with the fewest; columns of 32 and
/// 128.
constexpr matmul_policy one_group = {.threads = 128,
                                     .rows = 32,
                                     .columns = 32,
                                     .piece = 64,
                                     .stages = 4,
                                     .copy = copy_method::async,
                                     .product = tile_product::wgmma};
constexpr matmul_policy two_groups = {.threads = 256,
                                      .rows = 16,
                                      .columns = 128,
                                      .piece = 64,
                                      .stages = 3,
                                      .copy = copy_method::async,
                                      .product = tile_product::wgmma};

/// A product with an activation that its maker rounded.
template <format F>
constexpr product_computation of_halves = {.kind = skeleton::matmul,
                                           .activation = warpgroup_layout(F),
                                           .weights = format_set::of(F),
                                           .epilogue = every_part};
template <format F>
void stands_every_warpgroup() {
    stands_every_case({made<of_halves<F>, one_group>(), made<of_halves<F>, two_groups>()});
    stands_every_case({made<of_halves<F>, in_clusters(two_groups)>()});
}

template <format F>
void stands_every_policy() {
    constexpr product_computation c = tiles<F>;
    stands_every_case({made<c, lone_warp>(), made<c, plain>(), made<c, wide>()});
    stands_every_case({made<c, sliced>(), made<c, sliced_plain>()});
}

/// Are all results of an activation finite whose values go up to twice `magnitude`?
template <format F>
bool holds(float magnitude) {
    const matvec_case c{
        .what = "", .k = 32, .members = {{F, 32}}, .columns = 9, .magnitude = magnitude};
    const matvec_outputs out = run(made<tiles<F>, plain>(), c);
    return std::ranges::all_of(out[0].f32, [](float v) { return std::isfinite(v); });
}

}  // namespace

TEST_CASE("A matmul of float weights stands every case, and all its policies give the same bits") {
    stands_every_policy<format::f16>();
    stands_every_policy<format::bf16>();
    stands_every_policy<format::f32>();
}

TEST_CASE("A matmul by warpgroups stands every case, and all its policies give the same bits") {
    stands_every_warpgroup<format::f16>();
    stands_every_warpgroup<format::bf16>();
}

TEST_CASE("A matmul of several types of float weights rounds its activation for each") {
    constexpr product_computation c = tiles<format::f16, format::bf16>;
    sweep(made<c, plain>(), nullptr, sampled);
}

TEST_CASE(
    "A matmul of f16 makes infinities of activations beyond its range; bf16 and f32 hold them") {
    CHECK(holds<format::f16>(3e4f));
    CHECK(!holds<format::f16>(6e4f));
    CHECK(holds<format::bf16>(6e4f));
    CHECK(holds<format::f32>(6e4f));
}

TEST_CASE("Only a matmul of float weights has the bits of a device's tensor cores") {
    CHECK(bits_of_device(tiles<format::f16>));
    CHECK(bits_of_device(of_halves<format::f16>));
    CHECK(
        !bits_of_device(product_computation{.kind = skeleton::matvec, .activation = format::f32}));
    CHECK(!bits_of_device(
        product_computation{.kind = skeleton::matmul, .activation = format::q8_1_mmq_d4}));
}

}  // namespace float_weights
