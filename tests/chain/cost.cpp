#include "catena/catena.hpp"
#include "catena_test/catch.hpp"

using namespace catena::chain;
using catena::lowered_chain;

// Hand numbers: k = 4096, 2 rows. A q4_K row of 4096 is 2304 bytes, a q6_K row 3360, a q8_1 row
// 4608.
namespace {

constexpr lowered_chain norm_input =
    lower("", add(residual) | emit<f32> | rms_norm | mul(weight) | emit<f32> | emit<f16> |
                  quantize<q8_1> | group<mul_mat<q4_K>, mul_mat<q6_K>, mul_mat_id<q4_K>>);
constexpr std::int64_t k = 4096, rows = 2;

}  // namespace

TEST_CASE(
    "The row part reads x, residual and weight, and writes the sum, each emit and the activation") {
    constexpr work row = cost(norm_input, {.k = k, .rows = rows}).row;
    CHECK(row.read == 2 * 16384 + 2 * 16384 + 16384);
    CHECK(row.written == 2 * 16384 + 2 * 16384 + 2 * 8192 + 2 * 4608);
    CHECK(row.operations == rows * k * (1 + 3 + 1 + 4));
}

TEST_CASE("The matvec part reads every weight and the activation once, and writes f32") {
    constexpr matrix_size matrices[] = {{.type = q4_K, .rows = 1000}, {.type = q6_K, .rows = 10}};
    constexpr work dense = cost(norm_input, {.k = k, .rows = rows, .matrices = matrices}).matvec;
    CHECK(dense.read == 1000 * 2304 + 10 * 3360 + 2 * 4608);
    CHECK(dense.written == 2 * 1010 * 4);
    CHECK(dense.operations == 2 * 2 * 1010 * k);
}

TEST_CASE("Of an expert matrix only the experts that the ids name are read") {
    constexpr matrix_size matrices[] = {{.type = q4_K, .rows = 768, .experts_read = 11}};
    constexpr work expert =
        cost(norm_input, {.k = k, .rows = rows, .matrices = matrices, .columns = 16}).matvec;
    CHECK(expert.read == 11 * 768 * 2304 + 2 * 4608);
    CHECK(expert.written == 16 * 768 * 4);
    CHECK(expert.operations == 2 * 16 * 768 * k);
}

TEST_CASE("A row of a format that pads costs its padding") {
    constexpr lowered_chain quantize_only = lower("", quantize<q8_1> | mul_mat<q4_K>);
    CHECK(cost(quantize_only, {.k = 256, .rows = 1}).row.written == 16 * 36);  // to 512 elements
}

TEST_CASE("A gated row reads the gate too, and each activation format is written") {
    constexpr lowered_chain gated =
        lower("", glu | quantize<q8_1, q8_1_mmq_d4, q8_1_mmq_ds4> | mul_mat<q4_K>);
    constexpr work row = cost(gated, {.k = k, .rows = rows}).row;
    CHECK(row.read == 2 * 2 * 16384);
    CHECK(row.written == 2 * 3 * 4608);
    CHECK(row.operations == rows * k * (4 + 4));  // quantized once
}

TEST_CASE(
    "A norm costs its sums, its weight and its bias; data and no padding where scales lie apart") {
    const auto row = [](const lowered_chain& chain) {
        return cost(chain, {.k = k, .rows = rows}).row;
    };
    const work layer = row(lower("", layer_norm | mul(one_plus_weight) | add(bias) | emit<f32>));
    CHECK(layer.read == 2 * 16384 + 16384 + 16384);
    CHECK(layer.operations == rows * k * (5 + 2 + 1));
    const work gated = row(lower("", l2_norm | glu | emit<f32>));
    CHECK(gated.read == 2 * 2 * 16384);
    CHECK(gated.operations == rows * k * (3 + 4));
    CHECK(row(lower("", act | emit<f32>)).read == 2 * 16384);
    const work apart = row(lower("", rms_norm | quantize<int8_token, fp8_group, mxfp4_rows>));
    CHECK(apart.written == rows * (4096 + 4 + 4096 + 32 * 4 + 2048 + 128));
}

TEST_CASE("An epilogue costs what its operands and parts cost; a pair is two matrices") {
    constexpr lowered_chain chain =
        lower("", quantize<q8_1> | group<mul_mat<q4_K>, mul_mat_id<q4_K>> |
                      epilogue<mul(scale), mul(factor), add(bias), glu, act, combine, add(residual),
                               quantize<q8_1>>);
    constexpr auto scale_part = catena::epilogue_part::scale,
                   bias_part = catena::epilogue_part::bias, glu_part = catena::epilogue_part::glu,
                   residual_part = catena::epilogue_part::residual,
                   quantize_part = catena::epilogue_part::quantize;
    const auto of = [&](matrix_size m) {
        const matrix_size one[] = {m};
        return cost(chain, {.k = k, .rows = rows, .matrices = one, .slots = 3, .columns = 6})
            .matvec;
    };
    using catena::epilogue_set;
    const work bare = of({.type = q4_K, .rows = 1000});
    const work unwritten = of({.type = q4_K, .rows = 1000, .written = false});
    CHECK(bare.written - unwritten.written == 2 * 1000 * 4);
    const work summed = of({.type = q4_K,
                            .rows = 1000,
                            .epilogue = epilogue_set::of(scale_part) | bias_part | residual_part});
    CHECK(summed.read - bare.read == 1000 * 4 + 2 * 1000 * 4);
    CHECK(summed.operations - bare.operations == 3 * 2 * 1000);
    const work gated = of({.type = q4_K,
                           .rows = 1000,
                           .epilogue = epilogue_set::of(bias_part) | glu_part | quantize_part});
    CHECK(gated.read - bare.read == 2 * 1000 * 4 + 1000 * 2304);
    CHECK(gated.written - bare.written == 2 * 36 * 32);  // 1000 are padded to 1024
    CHECK(gated.operations - bare.operations == 2 * 1000 * (2 + 2 * k + 4 + 4));
    const work opened = of(
        {.type = q4_K,
         .rows = 1000,
         .epilogue = epilogue_set::of(catena::epilogue_part::factor) | catena::epilogue_part::act});
    CHECK(opened.read - bare.read == 4);
    CHECK(opened.operations - bare.operations == 2 * 1000 * (1 + 4));
    const work expert = of({.type = q4_K, .rows = 1000, .experts_read = 5});
    const work expert_biased = of(
        {.type = q4_K, .rows = 1000, .experts_read = 5, .epilogue = epilogue_set::of(bias_part)});
    CHECK(expert_biased.read - expert.read == 5 * 1000 * 4);
    CHECK(expert_biased.operations - expert.operations == 6 * 1000);
    const work summed_slots =
        of({.type = q4_K,
            .rows = 1000,
            .experts_read = 5,
            .epilogue = epilogue_set::of(catena::epilogue_part::combine) | residual_part});
    CHECK(expert.written - summed_slots.written == (6 - 2) * 1000 * 4);
    CHECK(summed_slots.read - expert.read == 6 * 4 + 2 * 1000 * 4);
    CHECK(summed_slots.operations - expert.operations == 6 * 2 * 1000 + 2 * 1000);
}

TEST_CASE("The total is the sum of the parts") {
    constexpr matrix_size matrices[] = {{.type = q4_K, .rows = 8}};
    constexpr chain_work both = cost(norm_input, {.k = k, .rows = rows, .matrices = matrices});
    CHECK(both.total() == both.row + both.matvec);
    CHECK(both.total().bytes() == both.row.bytes() + both.matvec.bytes());
}
