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

TEST_CASE("The total is the sum of the parts") {
    constexpr matrix_size matrices[] = {{.type = q4_K, .rows = 8}};
    constexpr chain_work both = cost(norm_input, {.k = k, .rows = rows, .matrices = matrices});
    CHECK(both.total() == both.row + both.matvec);
    CHECK(both.total().bytes() == both.row.bytes() + both.matvec.bytes());
}
