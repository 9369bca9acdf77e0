// Tiles at the edges of what a matmul takes, for any kind of weights, and what every tile has to
// stand.
#pragma once

#include "order.hpp"
#include "sampled.hpp"
#include "sweep.hpp"

#include "catena/pick/name.hpp"

#include "catena_test/catch.hpp"

#include <vector>

namespace catena_test {

constexpr catena::matmul_policy lone_tile(int columns, int piece) {
    return {.threads = 32,
            .rows = 64,
            .columns = columns,
            .piece = piece,
            .stages = 2,
            .copy = catena::copy_method::async};
}

/// Warps that share rows: all of a block, and two pairs with more slices than a short K has pieces.
constexpr catena::matmul_policy sliced_tile(int piece) {
    return {.threads = 128,
            .rows = 64,
            .columns = 16,
            .piece = piece,
            .stages = 2,
            .slices = 4,
            .copy = catena::copy_method::async};
}
constexpr catena::matmul_policy sliced_plain_tile(int piece) {
    return {.threads = 256, .rows = 32, .columns = 32, .piece = piece, .stages = 3, .slices = 4};
}

/// Tiles that the blocks of a cluster may share.
constexpr catena::matmul_policy in_clusters(catena::matmul_policy p) {
    p.cluster = 4;
    return p;
}

inline void stands_every_case(const std::vector<instance>& rows) {
    for (const instance& on : rows) {
        INFO(row_name(on.computes, on.policy, "test"));
        sweep(on, nullptr, sampled);
    }
    same_bits_of_tiles(rows);
}

}  // namespace catena_test
