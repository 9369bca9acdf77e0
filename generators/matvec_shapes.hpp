// The shapes of matvecs that policies.cpp lists for every arch, without what an arch decides: how
// weights are copied, and the stages of a ring.
#pragma once

#include "catena/kernel/policy.hpp"

#include <cstdint>

namespace catena::generator {

/// The shapes of a matvec, few, for each is there for every set of formats. One column: 128
/// threads, since at the 1024 .. 4096 rows of a decode step 132 SMs get 8 .. 31 rows each, which
/// larger blocks would deal out unevenly; one row a warp for few rows, two for pairs and to reuse
/// the activation: 4 warps * 4 stages * 2 rows * 0.6 KB = 18 KB of q4_K in flight per block, and
/// two or more blocks fit an SM (24 KB cover the latency of an H100).
constexpr matvec_policy one_row = {
    .threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .piece = 2048};
constexpr matvec_policy two_rows = {
    .threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .piece = 1024};

/// By the cost model, two rows take 2 % longer in the median of the steps of one column for which
/// one row would be taken, and 9 % of the smallest: so one row is there for what most files hold,
/// and so are clusters, 1 KB of a kernel.
constexpr format common[] = {format::q8_0, format::q4_K, format::q6_K, format::mxfp4};

/// The norm inside: every block reads all of x and of the norm's weight, so blocks are few and
/// large. 512 threads have 4096 values on their way at once; where their stages exceed shared
/// memory, half as many threads. Two rows a warp, for pairs. Deferred: one pass, and no wait
/// between two.
constexpr matvec_policy norm_first = {
    .threads = 512, .rows = 2, .columns = 1, .piece = 1024, .placement = norm_placement::deferred};

/// A warp has four short rows, so that a band is one turn of its warps, and a column is read once
/// for four. K = 2048 is one piece.
constexpr matvec_policy norm_of_short_rows = {.threads = 512,
                                              .rows = 4,
                                              .columns = 1,
                                              .piece = 2048,
                                              .stages = 2,
                                              .copy = copy_method::bulk,
                                              .activation = activation_source::shared,
                                              .placement = norm_placement::deferred};

/// Stages that leave room for an activation that is longer than any norm, as last matrices of large
/// models read.
constexpr matvec_policy norm_of_long_rows = [] {
    matvec_policy p = norm_of_short_rows;
    p.rows = 2, p.stages = 3;
    return p;
}();

/// A norm inside a matvec of float weights: each warp makes it in passing, one row a warp, all of a
/// router's row of 2048 on its way at once. 256 threads, for the block that writes the norm. Long
/// pieces, since all of a piece can be in flight (steps_in_flight).
constexpr matvec_policy norm_in_passing = {.threads = 256,
                                           .rows = 1,
                                           .columns = 1,
                                           .piece = 2048,
                                           .stages = 2,
                                           .product = inner_product::fma,
                                           .placement = norm_placement::passing};

/// Such a norm of several columns, which each block has in shared memory, times the norm's weight.
constexpr matvec_policy norm_of_columns = {.threads = 256,
                                           .rows = 1,
                                           .columns = 4,
                                           .piece = 1024,
                                           .stages = 2,
                                           .activation = activation_source::shared,
                                           .product = inner_product::fma,
                                           .placement = norm_placement::deferred};

/// Values of a norm that any arch should hold, and of the longest activation that a launch
/// quantizes for itself.
constexpr std::int64_t most_normed = 8192, most_quantized = 28672;

/// A kernel is 27 to 46 KB, half as much again as without the norm: so there is one for what reads
/// norms in the files that most people run. Routers are f32.
constexpr format_set norms_inside[] = {format_set::of(format::q4_K), format_set::of(format::q8_0),
                                       format_set::of(format::q4_K) | format::q6_K,
                                       format_set::of(format::f32)};

/// More columns: an mma has 16 rows, and eight columns at the price of two or three by dp4a. Two
/// warps to a block keep its band at 32 rows, with 29 KB of q4_K in flight in three stages.
constexpr matvec_policy fragments = {.threads = 64,
                                     .min_blocks = 6,
                                     .rows = 16,
                                     .columns = 8,
                                     .piece = 512,
                                     .product = inner_product::mma};

/// Where weights arrive by bulk copies, eight warps share 16 rows, so that an SM has 8 or 16 warps
/// for the 32 rows that it gets of 4096. Two stages are 39 to 78 KB. A piece is half as long where
/// eight of the longest columns would not fit beside them, and four warps share rows where eight
/// usual ones would not.
constexpr matvec_policy shared_fragments = {.threads = 256,
                                            .min_blocks = 2,
                                            .rows = 16,
                                            .columns = 8,
                                            .piece = 512,
                                            .stages = 2,
                                            .slices = 8,
                                            .copy = copy_method::bulk,
                                            .activation = activation_source::shared,
                                            .product = inner_product::mma};
constexpr std::int64_t longest_column = 14336, usual_column = 4096;  // values

/// Any alignment, any row length (the activation stays in global memory), every column count.
constexpr matvec_policy plain_matvec = {.threads = 64,
                                        .min_blocks = 6,
                                        .rows = 16,
                                        .columns = 8,
                                        .piece = 512,
                                        .stages = 2,
                                        .product = inner_product::mma};

/// Float weights, with f32 activations: a router's few rows, whose piece is 2 KB, so
/// that all of a row of 2048 is on its way at once; others have 1 KB. 16 to 64 KB to a block.
constexpr matvec_policy float_router = {
    .threads = 128, .min_blocks = 4, .rows = 1, .columns = 1, .product = inner_product::fma};
constexpr matvec_policy float_rows = {
    .threads = 128, .min_blocks = 4, .rows = 2, .columns = 1, .product = inner_product::fma};
/// Several columns of a router: a row for each warp, so that its few rows are on many SMs.
constexpr matvec_policy router_columns = {.threads = 64,
                                          .min_blocks = 2,
                                          .rows = 1,
                                          .columns = 4,
                                          .piece = 2048,
                                          .activation = activation_source::shared,
                                          .product = inner_product::fma};
/// Several columns that fit into shared memory.
constexpr matvec_policy float_columns = {.threads = 256,
                                         .min_blocks = 1,
                                         .rows = 4,
                                         .columns = 8,
                                         .activation = activation_source::shared,
                                         .product = inner_product::fma};
/// Several columns that do not: a warp reads them once for four rows.
constexpr matvec_policy long_float_columns = {
    .threads = 128, .min_blocks = 3, .rows = 4, .columns = 8, .product = inner_product::fma};
/// Any alignment.
constexpr matvec_policy plain_floats = {
    .threads = 64, .min_blocks = 4, .rows = 2, .columns = 8, .product = inner_product::fma};

/// Experts of one token, or whose slots are added up: eight short rows of a warp share what a
/// result takes. Where blocks run in several waves, an H100 was faster with two. Columns stay in
/// global memory, since copies of them would wait for the ring, which is filled when the ids are
/// there.
constexpr matvec_policy short_rows = {.threads = 128,
                                      .min_blocks = 4,
                                      .rows = 8,
                                      .columns = 1,
                                      .piece = 1024,
                                      .stages = 2,
                                      .copy = copy_method::bulk,
                                      .single_wave = true};
/// Half of a warp has one row of 512 values, and half another.
constexpr matvec_policy half_rows = [] {
    matvec_policy p = short_rows;
    p.rows = 16, p.piece = 512;
    return p;
}();
constexpr format of_short_rows[] = {format::q4_K, format::q6_K};
constexpr int usual_slots = 8;

}  // namespace catena::generator
