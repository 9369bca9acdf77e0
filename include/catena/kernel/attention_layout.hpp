// Sizes that the body of attention and its pick must agree on: what lanes, blocks and clusters
// share out, and shared memory.
#pragma once

#include "catena/kernel/layout.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Attention: elements of a key or a value that a lane has, and queries that a warp has together.
inline constexpr int attended_by_lane = 8, queries_abreast = 4;
/// Queries of one head of keys, and their scores, that a block has at most.
inline constexpr int most_queries = 32, most_scores = 4096;

/// Lanes that have a key or a value together, and how many of these a warp has at once.
CATENA_FN constexpr int attending_lanes(const row_policy& p) {
    return p.values * warp_size / attended_by_lane;
}
CATENA_FN constexpr int attended_abreast(const row_policy& p) {
    return warp_size / attending_lanes(p);
}
/// Keys that come to a lane together: each of half a warp's lanes gets one of their scores.
inline constexpr int keys_ahead = warp_size / 2 / queries_abreast;

/// Positions that each block has, of a head of keys that so many blocks share.
CATENA_FN constexpr int share_of_positions(int positions, int blocks) {
    return static_cast<int>(static_cast<unsigned>(positions + blocks - 1) /
                            static_cast<unsigned>(blocks));
}

/// Queries that warps have together, of which the last may be none.
CATENA_FN constexpr int whole_queries(int queries) {
    return (queries + queries_abreast - 1) & -queries_abreast;
}

/// Queries that each cluster has, of those of a head of keys that so many clusters share. The last
/// one may have fewer.
CATENA_FN constexpr int share_of_queries(int queries, int clusters) {
    return whole_queries(static_cast<int>(static_cast<unsigned>(queries + clusters - 1) /
                                          static_cast<unsigned>(clusters)));
}

/// What a block that attends has in shared memory: floats of its queries, their scores, what its
/// warps, and the blocks of its cluster, have made of the values, and what these count; and halves
/// of the tokens' keys and values, with the number of a token, or 0, for each position.
struct attention_room {
    int queries, scores, made, parts, counts, shares;
    int stored, places;

    CATENA_FN static constexpr attention_room of(int head, int warps, int queries, int tokens,
                                                 int share, int blocks) {
        const int whole = whole_queries(queries), of_blocks = blocks * whole;
        return {whole * head,      whole * share, warps * queries_abreast * head,
                of_blocks * head,  of_blocks * 2, of_blocks,
                2 * tokens * head, 2 * share};
    }
    constexpr std::int64_t bytes() const {
        std::int64_t all = 0;
        const int floats[] = {queries, scores, made, parts, counts, shares};
        const int halves[] = {stored, places};
        for (const int count : floats) all += round_up(std::int64_t{4} * count, 16);
        for (const int count : halves) all += round_up(std::int64_t{2} * count, 16);
        return all;
    }
};

}  // namespace CATENA_NAMESPACE
