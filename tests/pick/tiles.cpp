// Which tile a matmul gets: warps share rows where the grid would be small, and results that are
// quantized want whole blocks of them.
#include "catena/kernel/layout.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

constexpr epilogue_set quantized = epilogue_set::of(epilogue_part::quantize);
constexpr epilogue_set glu = epilogue_set::of(epilogue_part::glu);

constexpr matmul_policy large = {
    .threads = 256, .rows = 32, .columns = 64, .piece = 256, .stages = 3};
constexpr matmul_policy small = {
    .threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 3};
constexpr matmul_policy sliced_tile = {
    .threads = 128, .rows = 16, .columns = 32, .piece = 256, .stages = 2, .slices = 4};

constexpr row tiles(const matmul_policy& p) {
    row r = row_of(product_computation{.kind = skeleton::matmul,
                                       .activation = format::q8_1_mmq_ds4,
                                       .weights = q4,
                                       .epilogue = quantized | glu},
                   p);
    r.order = order_of(p);
    return r;
}

product_problem product(std::int32_t rows, std::int64_t columns, epilogue_set parts = {}) {
    product_problem p;
    p.needs = tiles(large).computes.product();
    p.needs.epilogue = parts;
    p.k = 4096;
    p.columns = columns;
    p.member_count = 1;
    p.member[0] = {.type = format::q4_K, .rows = rows, .epilogue = parts};
    return p;
}

/// The policy that an H100 gets.
matmul_policy picked_for(const product_problem& p, const preference& want = {}) {
    static const std::vector<row> rows = {tiles(large), tiles(small), tiles(sliced_tile)};
    table t;
    t.target = arch_named("sm_90");
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    const picked best = pick(p, t, want);
    REQUIRE(best.row >= 0);
    return rows[static_cast<std::size_t>(best.row)].policy.matmul();
}

}  // namespace

TEST_CASE("warps share rows where few tiles would leave SMs idle", "[tiles]") {
    for (const std::int32_t rows : {512, 1024, 4096})
        for (const std::int64_t columns : {9, 16, 32}) {
            INFO(rows << " rows, " << columns << " columns");
            CHECK(picked_for(product(rows, columns)) == sliced_tile);
        }
    CHECK(picked_for(product(14336, 512)) == large);
    CHECK(picked_for(product(28672, 64)) == large);
}

TEST_CASE("four warps that share rows are four times the tiles", "[tiles]") {
    const arch& a = *arch_named("sm_90");
    const product_problem p = product(1000, 40);
    const auto blocks = [&](const matmul_policy& n) {
        const row r = tiles(n);
        return blocks_of(r, p, band_rows(r, p, a, 1));
    };
    CHECK(blocks(small) == 16 * 2);
    CHECK(blocks(sliced_tile) == 63 * 2);
    CHECK(step_values(sliced_tile, q4) == 4 * step_values(small, q4));
}

TEST_CASE("slices are an order of their own, each number and length of them", "[tiles]") {
    matmul_policy other = sliced_tile;
    other.piece = 512;
    CHECK(tiles(large).order == tiles(small).order);
    CHECK(tiles(sliced_tile).order != tiles(small).order);
    CHECK(tiles(sliced_tile).order != tiles(other).order);
    matmul_policy wider = sliced_tile;
    wider.threads = 256;
    wider.columns = 64;
    CHECK(tiles(sliced_tile).order == tiles(wider).order);
}

TEST_CASE("the same bits for every number of columns are those of one order", "[tiles]") {
    const preference same{.same_bits = true};
    for (const std::int64_t columns : {9, 32, 512})
        CHECK(picked_for(product(1024, columns), same).slices == 0);
}

TEST_CASE("the same bits of experts are those of a tensor with as many matrices", "[tiles]") {
    const auto order_with = [](std::int32_t experts) {
        product_problem p = product(1024, 64);
        p.expert = true;
        p.tokens = p.columns;
        p.member[0].experts = experts;
        return order_of(picked_for(p, {.same_bits = true}));
    };
    CHECK(order_with(2) == order_of(sliced_tile));  // so few matrices leave SMs idle
    CHECK(order_with(64) == order_of(large));
}

TEST_CASE("a tile that is quantized holds whole blocks of results", "[tiles]") {
    const arch& a = *arch_named("sm_90");
    const auto refuses = [&](const matmul_policy& n, const product_problem& p) {
        return constraint(tiles(n), p, a).why == limit::requantized;
    };
    CHECK_FALSE(refuses(small, product(64, 16, quantized)));
    CHECK_FALSE(refuses(small, product(64, 16, quantized | glu)));
    CHECK(refuses(small, product(80, 16, quantized)));
    CHECK(refuses(sliced_tile, product(64, 16, quantized)));
    CHECK(picked_for(product(1024, 16, quantized)) == small);
    CHECK_FALSE(refuses(sliced_tile, product(64, 16, glu)));
}

TEST_CASE("a name tells how many warps share rows", "[tiles]") {
    CHECK(row_name(tiles(sliced_tile), "toy") == "matmul.q4_K.t128_r16_c32_p256_plain2_k4.toy");
}

TEST_CASE("steps that arrive late are waited for: plain copies always, others with few stages",
          "[tiles]") {
    const arch& a = *arch_named("sm_90");
    const product_problem p = product(512, 16);
    const auto us = [&](copy_method copy, int stages) {
        matmul_policy n = sliced_tile;
        n.slices = 0, n.copy = copy, n.stages = stages;
        const row r = tiles(n);
        const int resident = blocks_per_sm(r, p, a);
        return predicted_us(r, p, a, shape_of_launch(r, p, a, resident));
    };
    CHECK(us(copy_method::plain, 2) > us(copy_method::async, 2) + 1);
    CHECK(us(copy_method::async, 2) >= us(copy_method::bulk, 3));
    CHECK(us(copy_method::plain, 3) == us(copy_method::plain, 2));
}

TEST_CASE("a step of an integer tile takes about the instructions of its machine code", "[tiles]") {
    // Those of q4_K on sm_90, on the way that fills a stage and multiplies another (CUDA 13.0).
    struct counted {
        matmul_policy tile;
        double instructions;
    };
    matmul_policy wide = small;
    wide.columns = 64;
    const arch& a = *arch_named("sm_90");
    for (counted c : {counted{large, 3893}, {wide, 2555}, {small, 1491}, {sliced_tile, 1609}}) {
        c.tile.copy = copy_method::async;
        const row r = tiles(c.tile);
        INFO(row_name(r, "sm_90"));
        const auto us = [&](std::int32_t k) {
            // A tile for each SM.
            product_problem p = product(a.sms * tile_rows(c.tile), c.tile.columns);
            p.k = k;
            return predicted_us(r, p, a, shape_of_launch(r, p, a, 1));
        };
        const int warps = c.tile.threads / warp_size, step = step_values(c.tile, q4);
        const double rate = detail::issues_per_cycle * (warps < 8 ? warps / 8.0 : 1.0);
        const double of_step = (us(8192) - us(4096)) * step / 4096 * a.cycles_per_us * rate / warps;
        CHECK(of_step / c.instructions > 0.75);
        CHECK(of_step / c.instructions < 1.25);
    }
}
