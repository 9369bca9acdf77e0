#include "catena/kernel/layout.hpp"
#include "catena/pick/constraints.hpp"
#include "policies.hpp"

#include <span>

namespace catena::generator {

namespace {

/// The shapes of a matmul's tile: 256, 64, 64 and 16 rows. A warp of 32 rows reads a column once
/// for two mma, which shared memory needs to keep up with the f32 work of a product; where an SM
/// cannot hold two stages of that, or the grid is small, 16 rows. Launch bounds leave registers for
/// the sums: 64 of a lane in the first shape, 32 and 16 in the others. In the last one four warps
/// share the rows: four times as many blocks for matrices of few rows and columns.
constexpr matmul_policy shapes[] = {
    {.threads = 256, .min_blocks = 1, .rows = 32, .columns = 64},
    {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 64},
    {.threads = 128, .min_blocks = 3, .rows = 16, .columns = 32},
    {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .slices = 4},
};

/// Any alignment, little shared memory.
constexpr matmul_policy plain_shape = {
    .threads = 128, .min_blocks = 1, .rows = 16, .columns = 32, .stages = 2};

/// The tiles of float weights have 256, 128 and 16 rows. Nothing is unpacked and a stage's
/// activation is f32, so what a tile reads again counts most: a warp of the first has 128 sums of a
/// lane, and reads 128 columns for two mma each. Pieces are 128 bytes of a row, or 64 where shared
/// memory is short.
constexpr matmul_policy float_shapes[] = {
    {.threads = 256, .min_blocks = 1, .rows = 32, .columns = 128},
    {.threads = 256, .min_blocks = 2, .rows = 16, .columns = 64},
    {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .slices = 4},
};

/// By warpgroups: 256 rows, and half of them for grids that are small, where the blocks of a
/// cluster may share a tile: the sums of three meet in the memory of the fourth, which has room for
/// no more.
constexpr matmul_policy warpgroup_shapes[] = {
    {.threads = 256, .min_blocks = 1, .rows = 32, .columns = 128},
    {.threads = 256, .min_blocks = 1, .rows = 16, .columns = 128, .cluster = 4},
};

/// A warpgroup's tile of fp8 for small grids. sm_90 has no tile of fp8 by warps but the plain one:
/// see fp8_by_halves.
constexpr matmul_policy fp8_warpgroup_shape = {
    .threads = 128, .min_blocks = 3, .rows = 16, .columns = 64, .cluster = 4};

/// The tiles of fp8 have pieces of 128 values, those of a scale. A warp holds its rows of one in
/// registers, 16 or 32 of a lane, which 128 a thread leave no room for. Where ptxas makes mma of
/// f16 of fp8 (fp8_by_halves), 255 registers leave no room for 32.
constexpr matmul_policy fp8_shapes[] = {
    {.threads = 256, .min_blocks = 1, .rows = 32, .columns = 128},
    {.threads = 256, .min_blocks = 1, .rows = 16, .columns = 64},
    {.threads = 128, .min_blocks = 2, .rows = 16, .columns = 32, .slices = 4},
};

std::span<const matmul_policy> shapes_of(format_set weights) {
    if (reads_f32(weights)) return float_shapes;
    if (has_float_weights(weights)) return fp8_shapes;
    return shapes;
}

constexpr int most_stages = 4;

/// Steps of 128 values keep stages small where blocks are.
int piece_of(format_set weights) {
    if (reads_f32(weights)) return weights.has(format::f32) ? 32 : 64;
    for (const format f : weights)
        if (info(f).block_elements > 128) return 256;
    return 128;
}

}  // namespace

std::vector<policy> matmul_policies(const arch& target, copy_method copy,
                                    const product_computation& computes) {
    std::vector<policy> all;
    const auto fits = [&](const matmul_policy& p) {
        const std::int64_t bytes = matmul_shared_bytes(p, computes.weights);
        return bytes <= target.shared_per_block &&
               p.min_blocks * shared_allocated(bytes, target) <= target.shared_per_sm;
    };
    for (const format f : computes.weights)
        if (target.compute_capability != 0 && target.compute_capability < mma_since(f)) return {};
    const auto shrink = [&](matmul_policy& p) {
        p.stages = most_stages;
        while (!fits(p) && p.stages > 2) --p.stages;
        while (!fits(p) && p.min_blocks > 1) --p.min_blocks;
        return fits(p);
    };
    // As many blocks as asked, of half the columns, take less time than fewer of all columns.
    const auto half_keeps_blocks = [&](const matmul_policy& p, int blocks) {
        for (matmul_policy half : shapes_of(computes.weights)) {
            if (half.columns * 2 != p.columns || half.threads != p.threads) continue;
            half.piece = p.piece, half.copy = p.copy;
            if (half.slices == 0 && shrink(half) && half.min_blocks >= blocks) return true;
        }
        return false;
    };
    const bool fp8 = computes.activation == format::fp8_group;
    if (target.wgmma && (in_mma_blocks(computes.activation) || fp8)) {
        const auto add = [&](matmul_policy p) {
            p.piece = piece_of(computes.weights);
            p.copy = copy_method::async;
            p.product = tile_product::wgmma;
            if (shrink(p) && p.stages > 2) all.push_back(p);
        };
        for (const matmul_policy& p : warpgroup_shapes) add(p);
        if (fp8) add(fp8_warpgroup_shape);
    }
    if (in_mma_blocks(computes.activation)) return all;
    for (matmul_policy p : shapes_of(computes.weights)) {
        if (target.wgmma && fp8) break;
        if (fp8_by_halves(target) && fp8 && p.rows == 32) continue;
        p.piece = piece_of(computes.weights);
        p.copy = copy == copy_method::plain ? copy : copy_method::async;
        const int asked = p.min_blocks;
        bool served = shrink(p);
        if (!served && reads_f32(computes.weights)) p.piece /= 2, served = shrink(p);
        const bool loses_blocks = p.copy == copy_method::async && p.min_blocks < asked;
        if (served && !(loses_blocks && half_keeps_blocks(p, asked))) all.push_back(p);
    }
    matmul_policy plain = plain_shape;
    plain.piece = piece_of(computes.weights);
    if (copy != copy_method::plain) all.push_back(plain);
    return all;
}

}  // namespace catena::generator
