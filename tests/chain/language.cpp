#include "catena/chain/catalogue.hpp"
#include "catena/chain/parts.hpp"
#include "catena_test/catch.hpp"

#include <string>

using namespace catena::chain;
using catena::epilogue_part;
using catena::epilogue_set;
using catena::format_set;
using catena::lowered_chain;
using catena::skeleton;
using catena::stage_kind;

namespace {

constexpr auto attention_input =
    rms_norm | mul(weight) | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K>, mul_mat<q6_K>>;
constexpr auto with_residual = add(residual) | emit<f32> | attention_input;

constexpr auto gated_input = glu | emit<f16> | quantize<q8_1_mmq_ds4, q8_1> | mul_mat<q4_K> |
                             epilogue<mul(scale), add(bias), glu, add(residual), quantize<q8_1>>;

constexpr lowered_chain plain = lower("attention_input", attention_input);
constexpr lowered_chain behind_sum = lower("with_residual", with_residual);

/// The launch of all the chain's matrices.
constexpr catena::product_computation matvec_of(const lowered_chain& chain) {
    return matvec_part(chain, weights_of(chain));
}

}  // namespace

TEST_CASE("A chain is spelled as its author wrote it") {
    CHECK(std::string(plain.signature) ==
          "rms_norm | mul(weight) | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K>, "
          "mul_mat<q6_K>>");
    constexpr auto biased = rms_norm | add(bias) | emit<bf16> | quantize<q8_1> | mul_mat_id<q8_0>;
    CHECK(signature(biased).view() ==
          "rms_norm | add(bias) | emit<bf16> | quantize<q8_1> | mul_mat_id<q8_0>");
    STATIC_REQUIRE(signature(gated_input).view() ==
                   "glu | emit<f16> | quantize<q8_1_mmq_ds4, q8_1> | mul_mat<q4_K> | "
                   "epilogue<mul(scale), add(bias), glu, add(residual), quantize<q8_1>>");
    STATIC_REQUIRE(signature(rms_norm | emit<f32>).view() == "rms_norm | emit<f32>");
}

TEST_CASE("Float weights read f32") {
    constexpr auto chain = rms_norm | emit<f32> | group<mul_mat<f16>, mul_mat_id<f16>>;
    constexpr auto alone = lower("alone", mul_mat<bf16> | epilogue<add(bias)>);
    STATIC_REQUIRE(matvec_of(lower("behind", chain)).activation == f32);
    STATIC_REQUIRE(matvec_of(alone).activation == f32);
    STATIC_REQUIRE_FALSE(has_part(alone, skeleton::row));
    STATIC_REQUIRE(has_part(plain, skeleton::row));
}

TEST_CASE(
    "A group may hold float weights beside quantized weights, each reading its form of the value") {
    constexpr auto chain = lower("", rms_norm | emit<f32> | quantize<q8_1> |
                                         group<mul_mat<q4_K, q6_K, f32>, mul_mat_id<q4_K>>);
    STATIC_REQUIRE(weights_of(chain) == (format_set::of(q4_K) | q6_K | f32));
    STATIC_REQUIRE(matvec_part(chain, format_set::of(q4_K)).activation == q8_1);
    STATIC_REQUIRE(matvec_part(chain, format_set::of(f32)).activation == f32);
    CHECK(std::string(chain.signature) ==
          "rms_norm | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K, q6_K, f32>, "
          "mul_mat_id<q4_K>>");
    constexpr auto of_x = quantize<q8_1> | group<mul_mat<q4_K>, mul_mat<f16>>;
    STATIC_REQUIRE(lower("", of_x).count == 2);  // x is there in f32
}

TEST_CASE("Joining named pieces gives the chain that joining their ops gives") {
    constexpr auto head = rms_norm | mul(weight);
    constexpr auto tail = quantize<q8_1> | mul_mat<q4_0>;
    STATIC_REQUIRE(std::is_same_v<decltype(head | tail), decltype(rms_norm | mul(weight) |
                                                                  quantize<q8_1> | mul_mat<q4_0>)>);
}

TEST_CASE("A chain lowers to its stages in order") {
    REQUIRE(behind_sum.count == 7);
    const stage_kind kinds[] = {stage_kind::add_residual, stage_kind::emit, stage_kind::rms_norm,
                                stage_kind::mul_weight,   stage_kind::emit, stage_kind::quantize,
                                stage_kind::mul_mat};
    for (int i = 0; i < behind_sum.count; ++i) CHECK(behind_sum.stages[i].kind == kinds[i]);
    CHECK(behind_sum.stages[0].reads == catena::operand::residual);
    CHECK(behind_sum.stages[3].reads == catena::operand::weight);
    CHECK(behind_sum.stages[5].formats == format_set::of(q8_1));
    CHECK(behind_sum.stages[6].formats == (format_set::of(q4_K) | q6_K));
}

TEST_CASE("A gated chain lowers to the value of a gate, all its activations and an epilogue") {
    constexpr lowered_chain gated = lower("", gated_input);
    REQUIRE(gated.count == 5);
    CHECK(gated.stages[0].kind == stage_kind::glu);
    CHECK(gated.stages[0].reads == catena::operand::gate);
    CHECK(gated.stages[2].formats == (format_set::of(q8_1) | q8_1_mmq_ds4));
    CHECK(gated.stages[4].kind == stage_kind::epilogue);
    for (const auto part : {epilogue_part::scale, epilogue_part::bias, epilogue_part::glu,
                            epilogue_part::residual, epilogue_part::quantize})
        CHECK(gated.stages[4].parts.has(part));
    constexpr lowered_chain two =
        lower("", quantize<q8_1> | mul_mat<q4_K> | epilogue<add(bias), add(residual)>);
    CHECK(two.stages[2].parts == (epilogue_set::of(epilogue_part::bias) | epilogue_part::residual));
    constexpr lowered_chain turned =
        lower("", quantize<q8_1> | mul_mat<q4_K> | epilogue<add(bias), turned_heads>);
    CHECK(turned.stages[2].parts == catena::parts_of_heads);
    CHECK(catena::chain::turns_heads(turned));
    CHECK_FALSE(catena::chain::turns_heads(two));
}

TEST_CASE("A group of dense and expert readers lowers to one stage of each kind") {
    constexpr lowered_chain mixed =
        lower("", quantize<q8_1> | group<mul_mat_id<q4_K>, mul_mat<q4_K>, mul_mat<q6_K>>);
    REQUIRE(mixed.count == 3);
    CHECK(mixed.stages[1].kind == stage_kind::mul_mat);
    CHECK(mixed.stages[1].formats == (format_set::of(q4_K) | q6_K));
    CHECK(mixed.stages[2].kind == stage_kind::mul_mat_id);
    CHECK(mixed.stages[2].formats == format_set::of(q4_K));
}

TEST_CASE("A group of one is the reader itself") {
    constexpr lowered_chain one = lower("", quantize<q8_1> | mul_mat<q4_K>);
    constexpr lowered_chain group_of_one = lower("", quantize<q8_1> | group<mul_mat<q4_K>>);
    REQUIRE(one.count == group_of_one.count);
    CHECK(one.stages[1].kind == group_of_one.stages[1].kind);
    CHECK(one.stages[1].formats == group_of_one.stages[1].formats);
}

TEST_CASE("The launches of a chain: a row part without the sum's emit, and a matvec part") {
    constexpr auto row = row_part(behind_sum);
    CHECK(row.kind == skeleton::row);
    CHECK(row.stages.has(stage_kind::rms_norm));
    CHECK(row.stages.has(stage_kind::add_residual));
    CHECK(row.stages.has(stage_kind::mul_weight));
    CHECK(row.emits == (format_set::of(f32) | q8_1));
    constexpr auto matvec = matvec_of(behind_sum);
    CHECK(matvec.kind == skeleton::matvec);
    CHECK(matvec.activation == q8_1);
    CHECK(matvec.weights == (format_set::of(q4_K) | q6_K));

    constexpr auto gated = row_part(lower("", gated_input));
    CHECK(gated.stages.has(stage_kind::glu));
    CHECK(gated.emits == (format_set::of(f16) | q8_1 | q8_1_mmq_ds4));
    constexpr auto finished = matvec_of(lower("", gated_input));
    CHECK(finished.activation == q8_1);
    CHECK(finished.weights == format_set::of(q4_K));
    CHECK(finished.epilogue.has(epilogue_part::glu));
    CHECK(matvec.epilogue.empty());
    constexpr auto for_matmul = lower("", quantize<q8_1_mmq_d4> | mul_mat<q6_K>);
    CHECK(matvec_of(for_matmul).activation == catena::format::unknown);

    constexpr lowered_chain sum_only = lower("", add(residual) | emit<f32>);
    CHECK(row_part(sum_only).emits.empty());
    CHECK_FALSE(has_part(sum_only, skeleton::matvec));
    CHECK(row_part(lower("", quantize<q8_1> | mul_mat<q4_K>)).stages.empty());
}

TEST_CASE("What experts made stands before the residual, and is a part of the norm's row") {
    constexpr lowered_chain behind_experts =
        lower("", combine | add(residual) | emit<f32> | rms_norm | mul(weight) | quantize<q8_1> |
                      mul_mat<q4_K>);
    CHECK(behind_experts.stages[0].kind == stage_kind::combine);
    CHECK(std::string_view(behind_experts.signature).substr(0, 24) == "combine | add(residual) ");
    constexpr auto row = row_part(behind_experts);
    CHECK(row.stages.has(stage_kind::combine));
    CHECK(row.stages.has(stage_kind::add_residual));
    CHECK_FALSE(row_part(behind_sum).stages.has(stage_kind::combine));
    CHECK_FALSE(normed_matvec_part(behind_experts, weights_of(behind_experts)));
}

TEST_CASE("A residual behind a norm is joined with it, and the sum may be normed again") {
    constexpr lowered_chain joined = lower("", rms_norm | mul(weight) | add(residual) | emit<f32>);
    constexpr auto row = row_part(joined);
    CHECK(row.stages.has(stage_kind::rms_norm));
    CHECK(row.stages.has(stage_kind::join_residual));
    CHECK_FALSE(row.stages.has(stage_kind::add_residual));
    CHECK_FALSE(row.stages.has(stage_kind::next_norm));
    CHECK(row.emits == format_set::of(f32));
    constexpr lowered_chain again =
        lower("", rms_norm | mul(weight) | add(residual) | emit<f32> | rms_norm | mul(next_weight) |
                      quantize<q8_1> | mul_mat<q4_K>);
    CHECK(row_part(again).stages.has(stage_kind::join_residual));
    CHECK(row_part(again).stages.has(stage_kind::next_norm));
    CHECK(row_part(again).emits == format_set::of(q8_1));  // the f32 is the sum's
    CHECK(std::string(again.signature).find("mul(next_weight)") != std::string::npos);
    CHECK_FALSE(normed_matvec_part(again, weights_of(again)));
}

TEST_CASE("A norm's bias and gate are parts of its row; a gate without a norm is the value") {
    constexpr auto biased = row_part(lower("", layer_norm | mul(weight) | add(bias) | emit<f32>));
    CHECK(biased.stages.has(stage_kind::layer_norm));
    CHECK(biased.stages.has(stage_kind::mul_weight));
    CHECK(biased.stages.has(stage_kind::add_bias));
    CHECK_FALSE(biased.stages.has(stage_kind::gate));
    constexpr auto gated = row_part(lower("", rms_norm | mul(one_plus_weight) | glu | emit<f32>));
    CHECK(gated.stages.has(stage_kind::rms_norm));
    CHECK(gated.stages.has(stage_kind::mul_weight));
    CHECK(gated.stages.has(stage_kind::gate));
    CHECK_FALSE(row_part(lower("", gated_input)).stages.has(stage_kind::gate));
    CHECK(row_part(lower("", l2_norm | emit<f32>)).stages.has(stage_kind::l2_norm));
    CHECK(row_part(lower("", act | emit<f32>)).stages.has(stage_kind::glu));
}

TEST_CASE("What an engine's own matmuls read may end a chain") {
    constexpr lowered_chain chain =
        lower("", rms_norm | mul(weight) | quantize<int8_token, fp8_group, mxfp4_rows>);
    CHECK(row_part(chain).emits == (format_set::of(int8_token) | fp8_group | mxfp4_rows));
    CHECK_FALSE(has_part(chain, skeleton::matvec));
}

TEST_CASE("An entry's name says what it is for") {
    CHECK(std::string(lower(entry<"norm">(rms_norm | emit<f32>)).name) == "norm");
}
