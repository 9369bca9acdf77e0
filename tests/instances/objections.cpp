// Policies that no kernel can have, and what is said of them.
#include "policies.hpp"

#include "catena/arch/arch.hpp"
#include "catena/kernel/objection.hpp"
#include "catena_test/catch.hpp"

#include <string>
#include <type_traits>

using namespace catena;

namespace {

/// What the generator says of a computation with a policy that `change` has changed.
template <class Policy>
struct objections {
    std::conditional_t<std::is_same_v<Policy, row_policy>, row_computation, product_computation>
        computes;
    Policy good;

    template <class Change>
    std::string operator()(const char* on, Change change) const {
        row r;
        Policy changed = good;
        change(changed);
        r.computes = computes, r.policy = changed;
        return generator::objection(*arch_named(on), r);
    }
};

}  // namespace

TEST_CASE("A policy of another skeleton is objected to") {
    row r;
    r.computes = row_computation{};
    r.policy = matvec_policy{.threads = 128};
    CHECK(generator::objection(*arch_named("sm_90"), r) == "the policy is one of another skeleton");
    r.policy = row_policy{.threads = 128};
    CHECK(generator::objection(*arch_named("sm_90"), r) == "");
    r.computes = product_computation{.kind = skeleton::matmul};
    CHECK(generator::objection(*arch_named("sm_90"), r) == "the policy is one of another skeleton");
}

TEST_CASE("A row policy that no kernel can have is objected to") {
    const objections<row_policy> said{{}, {.threads = 128}};
    CHECK(said("sm_90", [](row_policy&) {}) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.values = 6; }) ==
          "6 values a thread are no multiple of 4");
    CHECK(said("sm_90", [](row_policy& p) { p.rows = 8; }) ==
          "8 rows of a block have a warp each, which 128 threads are not");
    CHECK(said("sm_90", [](row_policy& p) { p.rows = 4; }) == "");
    CHECK(std::string(objection_to(row_computation{}, row_policy{.threads = 100}).rule) ==
          "{} threads are no whole warps");
}

TEST_CASE("A routing with stages, results or a policy of other rows is objected to") {
    const stage_set routing = stage_kind::score | stage_kind::choose | stage_kind::weigh;
    objections<row_policy> said{{.stages = routing, .emits = format_set::of(format::f32)},
                                {.threads = 128, .values = 4}};
    const auto as_it_is = [](row_policy&) {};
    CHECK(said("sm_90", as_it_is) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.values = 0; }) ==
          "a token that is routed has a block, which keeps its scores");
    said.computes.emits = format_set::of(format::f16);
    CHECK(said("sm_90", as_it_is) == "weights of experts are written as f32");
    said.computes.emits = format_set::of(format::f32);
    said.computes.stages = routing | stage_kind::rms_norm;
    CHECK(said("sm_90", as_it_is) == "experts are scored, chosen and weighed, and nothing else");
}

TEST_CASE("Heads with stages, results or a policy of other rows are objected to") {
    const stage_set heads = stage_kind::rms_norm | stage_kind::rope;
    objections<row_policy> said{{.stages = heads, .emits = format_set::of(format::f32)},
                                {.threads = 128, .values = 4, .rows = 4}};
    const auto as_it_is = [](row_policy&) {};
    CHECK(said("sm_90", as_it_is) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.values = 0; }) ==
          "a head has a warp, which keeps its values");
    said.computes.emits = format_set::of(format::q8_1);
    CHECK(said("sm_90", as_it_is) == "heads are written as f32 and into caches");
    said.computes.emits = format_set::of(format::f32);
    said.computes.stages = heads | stage_kind::glu;
    CHECK(said("sm_90", as_it_is) ==
          "heads are normed, weighed, turned and stored, and nothing else");
}

TEST_CASE("Attention with results or a policy of other rows is objected to") {
    objections<row_policy> said{
        {.stages = stage_kind::rope | stage_kind::store | stage_kind::attend,
         .emits = format_set::of(format::f32) | format::f16 | format::q8_1},
        {.threads = 512, .values = 4, .rows = 16, .cluster = 8, .vector = true}};
    const auto as_it_is = [](row_policy&) {};
    CHECK(said("sm_90", as_it_is) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.cluster = 0; }) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.cluster = 6; }) ==
          "positions of attention, and nothing else, are shared by 2, 4 or 8 blocks");
    const std::string elements =
        "a head that is attended to has 128 or 256 elements, read 16 bytes at a time";
    CHECK(said("sm_90", [](row_policy& p) { p.values = 8; }) == "");
    CHECK(said("sm_90", [](row_policy& p) { p.values = 16; }) == elements);
    CHECK(said("sm_90", [](row_policy& p) { p.vector = false; }) == elements);
    CHECK(said("sm_90", [](row_policy& p) { p.threads = 320, p.rows = 10; }) ==
          "the warps of a block that attends come in fours");
    said.computes.emits = format_set::of(format::f16);
    CHECK(said("sm_90", as_it_is) ==
          "keys and values are stored as f16, and what queries attend to is f32 or q8_1");
}

TEST_CASE("A matvec policy that no kernel can have is objected to, with the limit") {
    const objections<matvec_policy> said{{.kind = skeleton::matvec,
                                          .activation = format::q8_1,
                                          .weights = format_set::of(format::q4_K)},
                                         {.threads = 128,
                                          .min_blocks = 4,
                                          .rows = 2,
                                          .columns = 1,
                                          .piece = 1024,
                                          .stages = 4,
                                          .copy = copy_method::bulk,
                                          .activation = activation_source::shared}};
    CHECK(said("sm_90", [](matvec_policy&) {}) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.threads = 100; }) ==
          "100 threads a block; the arch runs at most 1024, in warps of 32");
    CHECK(said("sm_90", [](matvec_policy& p) { p.min_blocks = 17; }) ==
          "its launch bounds promise 2176 threads on an SM; the arch holds 2048");
    CHECK(said("sm_90", [](matvec_policy& p) { p.threads = 1024, p.min_blocks = 2; }) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 1000; }) ==
          "a piece of 1000 values is no multiple of 256");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 768; }) ==
          "a piece of 768 values is no multiple of 1024");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 512; }) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 512, p.rows = 6; }) ==
          "half a warp has 1, 2, 4 or 8 rows of one column, not half of 6 of 1");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 512, p.columns = 2; }) ==
          "half a warp has 1, 2, 4 or 8 rows of one column, not half of 2 of 2");
    CHECK(said("sm_90", [](matvec_policy& p) { p.stages = 0; }) ==
          "rows, columns and stages must be positive");
    CHECK(said("sm_90", [](matvec_policy& p) { p.stages = 9; }) ==
          "a ring of 9 stages is longer than 8");
    CHECK(said("sm_90", [](matvec_policy& p) { p.piece = 32768; }) ==
          "it needs 591056 bytes of shared memory; a block may use 232448");
    CHECK(said("sm_90", [](matvec_policy& p) { p.product = inner_product::fma; }) ==
          "fma is for float weights, and no other product is");
    CHECK(said("sm_90", [](matvec_policy& p) { p.rows = 8, p.columns = 8; }) ==
          "a warp's lanes finish a result each, so 8 rows have no 8 columns");
    CHECK(said("sm_90", [](matvec_policy& p) { p.rows = 8, p.columns = 4; }) == "");
    CHECK(said("sm_90", [](matvec_policy& p) { p.placement = norm_placement::deferred; }) ==
          "a matvec that makes its norm says where, and no other launch does");
    CHECK(said("sm_80", [](matvec_policy&) {}) ==
          "the arch has no instruction for its copies (sm_90 on)");
    CHECK(said("sm_75", [](matvec_policy& p) { p.copy = copy_method::async; }) ==
          "the arch has no instruction for its copies (sm_80 on)");
    CHECK(said("sm_90", [](matvec_policy& p) { p.cluster = 3; }) ==
          "a band is shared by 2, 4 or 8 blocks, and not by 3");
    CHECK(said("sm_90", [](matvec_policy& p) { p.cluster = 8; }) == "");
    CHECK(said("sm_80", [](matvec_policy& p) { p.cluster = 2, p.copy = copy_method::async; }) ==
          "the blocks of a cluster are at most 1 here");
    CHECK(said("sm_90", [](matvec_policy& p) { p.cluster = 8, p.columns = 2; }) ==
          "blocks share a band of one column that another launch quantized");
    const auto split = [](matvec_policy& p) {
        p.threads = 256, p.min_blocks = 2, p.rows = 16, p.columns = 8, p.piece = 512, p.stages = 2;
        p.slices = 8, p.product = inner_product::mma;
    };
    CHECK(said("sm_90", split) == "");
    const auto with = [&](void (*change)(matvec_policy&)) {
        return said("sm_90", [&](matvec_policy& p) { split(p), change(p); });
    };
    CHECK(with([](matvec_policy& p) { p.rows = 8; }) == "an mma has 16 rows and 8 columns");
    CHECK(with([](matvec_policy& p) { p.slices = 2; }) ==
          "4 or 8 warps share their rows, and not 2");
    CHECK(with([](matvec_policy& p) { p.threads = 128; }) == "4 warps do not make 8 slices");
    const char* const who =
        "warps share rows of an mma with a shared activation that another launch made";
    CHECK(with([](matvec_policy& p) { p.activation = activation_source::global; }) == who);
    CHECK(said("sm_90", [](matvec_policy& p) { p.slices = 4; }) == who);
    CHECK(with([](matvec_policy& p) { p.stages = 1; }) ==
          "warps that share rows fill a stage while they multiply another: 2, and not 1");
    const objections<matvec_policy> router{{.kind = skeleton::matvec,
                                            .stages = stage_set::of(stage_kind::rms_norm),
                                            .activation = format::f32,
                                            .weights = format_set::of(format::f32)},
                                           {.threads = 256,
                                            .rows = 1,
                                            .columns = 1,
                                            .piece = 512,
                                            .stages = 4,
                                            .copy = copy_method::bulk,
                                            .product = inner_product::fma,
                                            .placement = norm_placement::passing}};
    CHECK(router("sm_90", [](matvec_policy&) {}) == "");
    CHECK(router("sm_90", [](matvec_policy& p) { p.activation = activation_source::shared; }) ==
          "a norm is made in passing from a row in global memory");
    CHECK(router("sm_90", [](matvec_policy& p) { p.placement = norm_placement::deferred; }) ==
          "a norm that is made before the products lies in shared memory");
    const objections<matvec_policy> quantized{{.kind = skeleton::matvec,
                                               .stages = stage_set::of(stage_kind::rms_norm),
                                               .activation = format::q8_1,
                                               .weights = format_set::of(format::q4_K)},
                                              {.threads = 128,
                                               .rows = 2,
                                               .columns = 1,
                                               .piece = 1024,
                                               .stages = 2,
                                               .copy = copy_method::bulk,
                                               .placement = norm_placement::passing}};
    CHECK(quantized("sm_90", [](matvec_policy&) {}) ==
          "a norm is made in passing where float weights are multiplied, and nowhere else");
    const auto together = [&](int columns) {
        return router("sm_90", [=](matvec_policy& p) {
            p.placement = norm_placement::deferred;
            p.activation = activation_source::shared;
            p.columns = columns;
        });
    };
    CHECK(together(4) == "");
    CHECK(together(3) ==
          "columns of floats that are normed together are a power of two, which 3 is not");
    CHECK(router("sm_90", [](matvec_policy& p) { p.columns = 2; }) ==
          "a norm is made in passing for one column");
}

TEST_CASE("A matmul policy that no kernel can have is objected to") {
    objections<matmul_policy> said{
        {.kind = skeleton::matmul,
         .activation = format::q8_1_mmq_ds4,
         .weights = format_set::of(format::q4_K)},
        {.threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 3}};
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    said.computes.stages = stage_set::of(stage_kind::rms_norm);
    CHECK(said("sm_90", [](matmul_policy&) {}) ==
          "a matmul leaves the norm of its activation to another launch");
    said.computes.stages = {};
    CHECK(said("sm_90", [](matmul_policy& p) { p.rows = 0; }) ==
          "rows, columns and stages must be positive");
    CHECK(said("sm_90", [](matmul_policy& p) { p.rows = 24; }) ==
          "24 rows of a warp are no whole mma of 16");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 12; }) ==
          "12 columns of a tile are no multiple of 8");
    CHECK(said("sm_90", [](matmul_policy& p) { p.threads = 512, p.columns = 24; }) ==
          "24 columns cannot be shared out to 16 warps");
    CHECK(said("sm_90", [](matmul_policy& p) { p.stages = 1; }) ==
          "one stage of a matmul is read while another is filled");
    CHECK(said("sm_90", [](matmul_policy& p) { p.piece = 384; }) ==
          "a piece of 384 values does not end within the padding of 512");
    CHECK(said("sm_90", [](matmul_policy& p) { p.piece = 128; }) ==
          "a piece of 128 values is no multiple of 256");
    CHECK(said("sm_90", [](matmul_policy& p) { p.copy = copy_method::bulk; }) ==
          "a tile has many short rows, and a warp starts bulk copies one after the other");
    CHECK(said("sm_90", [](matmul_policy& p) { p.slices = 3; }) == "4 warps do not make 3 slices");
    CHECK(said("sm_90", [](matmul_policy& p) { p.cluster = 2; }) ==
          "a tile is shared by 2 or more blocks, of warpgroups");
    said.computes.weights = format_set::of(format::f16);
    said.computes.activation = format::f32;
    said.good.piece = 32;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 24; }) ==
          "24 columns of a tile are no multiple of 16");
    CHECK(said("sm_90", [](matmul_policy& p) { p.threads = 256, p.columns = 16; }) ==
          "a warp's share of a stage's columns is not dealt out to all its lanes");
    said.good = {.threads = 256,
                 .rows = 32,
                 .columns = 128,
                 .piece = 64,
                 .stages = 3,
                 .copy = copy_method::async,
                 .product = tile_product::wgmma};
    CHECK(said("sm_90", [](matmul_policy&) {}) ==
          "warpgroups multiply fp8, f16, bf16 and what is decoded to it in a matmul, and nothing "
          "else, with an activation of that type");
    said.computes.activation = format::f16_mma;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_100", [](matmul_policy&) {}) ==
          "the arch does not multiply by warpgroups (sm_90 alone does)");
    CHECK(said("sm_90", [](matmul_policy& p) { p.threads = 64; }) ==
          "all threads are of whole warpgroups, and a warpgroup has all of K");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 48; }) ==
          "48 columns of a warpgroup's tile are no multiple of 32");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 64; }) ==
          "a warpgroup multiplies 128 columns, or 64 of fp8");
    CHECK(said("sm_90", [](matmul_policy& p) { p.stages = 2; }) ==
          "a warpgroup waits for its next stage before it fills another, so it has 3 or more");
    CHECK(said("sm_90", [](matmul_policy& p) { p.copy = copy_method::bulk; }) ==
          "a warpgroup takes pieces of 64 float weights that come by cp.async");
    said.computes.weights = format_set::of(format::bf16);
    CHECK(said("sm_90", [](matmul_policy&) {}) ==
          "warpgroups multiply fp8, f16, bf16 and what is decoded to it in a matmul, and nothing "
          "else, with an activation of that type");
    said.computes.weights = format_set::of(format::fp8_e4m3);
    said.computes.activation = format::fp8_group;
    said.good.piece = 128;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 64; }) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.columns = 32; }) ==
          "a warpgroup multiplies 128 columns, or 64 of fp8");
    CHECK(said("sm_90", [](matmul_policy& p) { p.piece = 256; }) ==
          "a warpgroup takes pieces of 128 float weights that come by cp.async");
    said.computes.weights = format_set::of(format::q4_K);
    said.computes.activation = format::bf16_mma;
    said.good.piece = 256;
    CHECK(said("sm_90", [](matmul_policy&) {}) == "");
    CHECK(said("sm_90", [](matmul_policy& p) { p.stages = 7; }) ==
          "a piece of 256 values is too short to be decoded before 7 stages fill its place");
    CHECK(said("sm_90", [](matmul_policy& p) { p.product = tile_product::mma; }) ==
          "warpgroups alone read bf16_mma and f16_mma");
}
