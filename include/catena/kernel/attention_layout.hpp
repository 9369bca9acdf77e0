// Sizes that the body of attention and its pick must agree on: what lanes, blocks and clusters
// share out, and shared memory.
#pragma once

#include "catena/kernel/layout.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Attention: elements of a key or a value that a lane loads together, and queries and positions
/// that a warp multiplies together.
inline constexpr int attended_by_lane = 8, queries_abreast = 8, keys_abreast = 8;
/// Queries of one head of keys, and their scores, that a block has at most.
inline constexpr int most_queries = 32, most_scores = 4096;
/// Clusters share queries by so many.
inline constexpr int shared_queries = 4;
/// Warps of a block, whose sums are added up by so many.
inline constexpr int joined_warps = 4;

/// Positions that each block has, of a head of keys that so many blocks share.
CATENA_FN constexpr int share_of_positions(int positions, int blocks) {
    return static_cast<int>(static_cast<unsigned>(positions + blocks - 1) /
                            static_cast<unsigned>(blocks));
}

/// Queries that each cluster has, of those of a head of keys that so many clusters share. The last
/// one may have fewer.
CATENA_FN constexpr int share_of_queries(int queries, int clusters) {
    const int share = static_cast<int>(static_cast<unsigned>(queries + clusters - 1) /
                                       static_cast<unsigned>(clusters));
    const int whole = (share + shared_queries - 1) & -shared_queries;
    return whole < queries ? whole : queries;
}

/// What a block that attends has in shared memory: floats of its scores; of the sums that warps
/// have made of the values of some queries, and what these count; the same of the blocks of its
/// cluster, and what those are multiplied with. And halves of its queries; and of the tokens' keys
/// and values, with the number of a token, or 0, for each position.
struct attention_room {
    int scores, made, counts_of_warps, parts, counts, weights;
    int queries, stored, places;

    /// A row of the sums of a warp, and of halves of a query: lanes that read or write rows
    /// together meet in no bank of shared memory.
    CATENA_FN static constexpr int made_row(int head) { return head + 8; }
    CATENA_FN static constexpr int query_row(int head) { return head + 16; }

    CATENA_FN static constexpr attention_room of(int head, int warps, int queries, int tokens,
                                                 int share, int blocks) {
        const int abreast = queries < queries_abreast ? queries : queries_abreast;
        const int streams = warps * keys_abreast, of_blocks = blocks * queries;
        return {share_of_positions(share, streams) * streams * queries_abreast,
                warps * abreast * made_row(head),
                2 * warps * abreast,
                of_blocks * head,
                2 * of_blocks,
                of_blocks,
                2 * queries * query_row(head),
                2 * tokens * head,
                2 * share};
    }
    constexpr std::int64_t bytes() const {
        std::int64_t all = 0;
        const int floats[] = {scores, made, counts_of_warps, parts, counts, weights};
        const int halves[] = {queries, stored, places};
        for (const int count : floats) all += round_up(std::int64_t{4} * count, 16);
        for (const int count : halves) all += round_up(std::int64_t{2} * count, 16);
        return all;
    }
};

}  // namespace CATENA_NAMESPACE
