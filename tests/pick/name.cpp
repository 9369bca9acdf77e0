#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <set>
#include <string>

using namespace catena;
using namespace catena_test;

TEST_CASE("a name spells what is computed, the formats, the policy and the arch", "[name]") {
    CHECK(row_name(row_of(norm_row, kept_row), "toy") ==
          "scale_add_rms_norm_mul.f32_q8_1.t128_v16_vec.toy");
    CHECK(row_name(row_of(quantize_row, plain_row), "toy") == "quantize.q8_1.t64_v0.toy");
    matvec_policy p = narrow_matvec;
    CHECK(row_name(row_of(matvec_of(q6 | q4), p), "toy") ==
          "matvec.q4_K_q6_K.t64_r2_c1_p1024_plain2.toy");
    p.copy = copy_method::bulk;
    p.activation = activation_source::shared;
    p.min_blocks = 3;
    CHECK(row_name(row_of(matvec_of(q8), p), "toy") ==
          "matvec.q8_0.t64_m3_r2_c1_p1024_bulk2_smem.toy");
    p.product = inner_product::mma;
    CHECK(row_name(row_of(matvec_of(q8), p), "toy") ==
          "matvec.q8_0.t64_m3_r2_c1_p1024_bulk2_smem_mma.toy");
    p.slices = 8;
    CHECK(row_name(row_of(matvec_of(q8), p), "toy") ==
          "matvec.q8_0.t64_m3_r2_c1_p1024_bulk2_smem_k8.toy");
    CHECK(policy_named<skeleton::matvec>(policy_part(p)) == p);
}

TEST_CASE("policies that differ have names that differ", "[name]") {
    const matvec_policy base = narrow_matvec;
    const auto differs = [&base](const matvec_policy& p) {
        return policy_part(p) != policy_part(base);
    };
    matvec_policy p = base;
    CHECK_FALSE(differs(p));
    p = base, p.threads = 96;
    CHECK(differs(p));
    p = base, p.min_blocks = 2;
    CHECK(differs(p));
    p = base, p.rows = 3;
    CHECK(differs(p));
    p = base, p.columns = 3;
    CHECK(differs(p));
    p = base, p.piece = 2048;
    CHECK(differs(p));
    p = base, p.stages = 3;
    CHECK(differs(p));
    p = base, p.copy = copy_method::async;
    CHECK(differs(p));
    p = base, p.activation = activation_source::shared;
    CHECK(differs(p));
    p = base, p.cluster = 2;
    CHECK(differs(p));
    p = base, p.slices = 4;
    CHECK(differs(p));
    p = base, p.single_wave = true;
    CHECK(differs(p));
    const auto tile = [](int slices, int cluster, tile_product product) {
        return policy_part(matmul_policy{.slices = slices, .cluster = cluster, .product = product});
    };
    const std::set<std::string> tiles = {
        tile(0, 0, tile_product::mma), tile(2, 0, tile_product::mma),
        tile(0, 0, tile_product::wgmma), tile(0, 2, tile_product::wgmma),
        tile(0, 4, tile_product::wgmma)};
    CHECK(tiles.size() == 5);
    row_policy row = kept_row;
    row.vector = false;
    CHECK(policy_part(row) != policy_part(kept_row));
    row = kept_row, row.cluster = 8;
    CHECK(policy_part(row) == "t128_v16_x8_vec");
    CHECK(policy_named<skeleton::row>(policy_part(row)) == row);
}

TEST_CASE("an index without a row has no name", "[name]") {
    CHECK(row_name(toy_table(), -1) == "none");
    CHECK(row_name(toy_table(), toy_row_count) == "none");
    CHECK(row_name(table{}, 0) == "none");
}

TEST_CASE("sets of formats that rows write have names of their own", "[name]") {
    const format_set ggml = plain_formats | layout_formats;
    CHECK(formats_part(ggml) == "ggml");
    CHECK(formats_named("ggml") == ggml);
    CHECK(formats_named("q8_1_q8_1_mmq_d4") ==
          (format_set::of(format::q8_1) | format::q8_1_mmq_d4));
}

TEST_CASE("a name has the numbers of its skeleton's policies, and no others", "[name]") {
    for (const char* row : {"t64_v8", "t64_r4_v8_vec"}) {
        INFO(row);
        CHECK(policy_named(skeleton::row, row));
        CHECK_FALSE(policy_named(skeleton::matvec, row));
        CHECK_FALSE(policy_named(skeleton::matmul, row));
    }
    for (const char* number : {"smem", "dp4a", "fma", "passing", "single"}) {
        INFO(number);
        const std::string text = std::string("t64_r2_c1_p1024_bulk4_") + number;
        CHECK(policy_named(skeleton::matvec, text).has_value() == (text.find("dp4a") == text.npos));
        CHECK_FALSE(policy_named(skeleton::row, text));
        CHECK_FALSE(policy_named(skeleton::matmul, text));
    }
    for (const char* number : {"k4", "wgmma"}) {
        INFO(number);
        const std::string text = std::string("t64_r16_c64_p256_bulk4_") + number;
        CHECK(policy_named(skeleton::matmul, text));
        CHECK_FALSE(policy_named(skeleton::row, text));
        CHECK(policy_named(skeleton::matvec, text).has_value() == text.ends_with("_k4"));
    }
}

TEST_CASE("a text that is no name is not read", "[name]") {
    REQUIRE(row_named("matvec.q4_K.t64_r2_c1_p1024_bulk4_smem_x8.sm_90"));
    for (const char* wrong :
         {"", "matvec", "matvec.q4_K.t64", "matvec.q4_Kx.t64.sm_90", "matvec.q4.t64.sm_90",
          "matvec.q4_K.t64_y2.sm_90", "matvec.q4_K.t.sm_90", "matvec.q4_K.t64_bulk.sm_90",
          "matvec.q4_K.64.sm_90", "matvec.q4_K.t256_v8.sm_90", "matvec.q4_K.t64_vect.sm_90",
          ".q4_K.t64.sm_90", "matvec.q4_K.t064.sm_90", "matvec.q4_K.r2_t64.sm_90",
          "l2_norm.f32.v512_v9_vec.sm_90"}) {
        INFO(wrong);
        CHECK_FALSE(row_named(wrong));
    }
}
