// Two to eight columns: a matvec, or a matmul where that is surely quicker.
#include "catena/instances/sm_120.hpp"
#include "catena/instances/sm_90.hpp"

#include "cases.hpp"

#include <optional>

using namespace catena;
using namespace catena_test;

namespace {

/// What serves a matrix of 5120 rows; nothing: the engine does.
std::optional<skeleton> kind_of(const table& t, format weights, std::int64_t k,
                                std::int64_t columns, const options& asked = {}) {
    graph_builder g;
    const id x = g.other({g.input(format::f32, {k, columns})});
    const id y = g.mul_mat(g.weight(weights, {k, 5120}), x);
    const plan p = checked_plan(g, t, asked);
    const std::int32_t step = p.at(g.position(y)).step;
    if (step < 0) return std::nullopt;
    return p.steps()[static_cast<std::size_t>(step)].what.kind();
}

}  // namespace

TEST_CASE("few columns that shared memory does not hold are multiplied by a matmul",
          "[plan][few_columns]") {
    const table t = instances::sm_90();
    CHECK(kind_of(t, format::q4_K, 27648, 8) == skeleton::matmul);
    CHECK(kind_of(t, format::q8_0, 27648, 8) == skeleton::matmul);
    CHECK(kind_of(t, format::q4_K, 27648, 4) == skeleton::matvec);
    CHECK(kind_of(t, format::q4_K, 17920, 8) == skeleton::matvec);
    const table small = instances::sm_120();  // 99 KB for a block
    CHECK(kind_of(small, format::q4_K, 14336, 4) == skeleton::matmul);
    CHECK(kind_of(small, format::q4_K, 14336, 1) == skeleton::matvec);
    CHECK(kind_of(small, format::q4_K, 2048, 4) == skeleton::matvec);
}

TEST_CASE("a matmul that is hardly quicker does not take few columns", "[plan][few_columns]") {
    // 73.5 us are predicted of a matmul, and 75.1 of a matvec, whose activation another matvec may
    // have quantized.
    CHECK(kind_of(instances::sm_120(), format::q8_0, 4096, 4) == skeleton::matvec);
}

TEST_CASE("few columns of float weights and with same_bits stay with a matvec",
          "[plan][few_columns]") {
    const table t = instances::sm_90();
    CHECK(kind_of(t, format::f16, 27648, 8) == skeleton::matvec);
    options asked;
    asked.pick.same_bits = true;
    CHECK(kind_of(t, format::q4_K, 4096, 8, asked) == skeleton::matvec);
    CHECK(kind_of(t, format::q4_K, 27648, 8, asked) != skeleton::matmul);
}
