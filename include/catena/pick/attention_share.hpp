// How a launch that attends is shared out: positions among the blocks of a cluster, queries among
// clusters.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/kernel/attention_layout.hpp"
#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// Positions that a block keeps to itself; assumed.
inline constexpr int fewest_positions = 64;

/// How the attention of a head of keys is shared out, and what a block gets.
struct attention_share {
    int blocks = 1;     ///< blocks of a cluster, which share the positions
    int clusters = 1;   ///< clusters that share the queries
    int queries = 0;    ///< queries of each cluster; the last may have fewer
    int positions = 0;  ///< positions of each block; the last ones may have fewer
};

/// Shared memory of a block that attends.
constexpr std::int64_t attention_bytes(const row& r, const row_problem& p,
                                       const attention_share& share) {
    const row_policy& n = r.policy.row();
    return attention_room::of(head_values(n), rows_of_block(n), share.queries,
                              static_cast<int>(tokens_that_attend(p)), share.positions,
                              share.blocks)
        .bytes();
}

/// With so many blocks of a cluster, of a problem with heads of keys: as many clusters as there are
/// SMs for, each with as many queries as a warp multiplies, and more where a block would have more
/// queries or scores than it can.
constexpr attention_share share_of_attention(const row& r, const row_problem& p, const arch& a,
                                             int blocks) {
    const auto all = static_cast<int>(p.slots);
    const std::int64_t room = a.sms / (blocks * key_heads_of(p));
    attention_share out;
    out.blocks = blocks;
    out.positions = share_of_positions(static_cast<int>(p.positions), blocks);
    const auto share = [&](int clusters) { out.queries = share_of_queries(all, clusters); };
    const auto too_many = [&] {
        return out.queries > most_queries ||
               std::int64_t{out.queries} * out.positions > most_scores ||
               attention_bytes(r, p, out) > a.shared_per_block;
    };
    int clusters = 1;
    share(clusters);
    while ((out.queries > queries_abreast && clusters < room) ||
           (out.queries > shared_queries && too_many()))
        share(++clusters);
    out.clusters = (all + out.queries - 1) / out.queries;
    return out;
}

/// A cluster has as many blocks as there are SMs for, or fewer if a block has room only then for
/// what all of them make.
constexpr attention_share share_of_attention(const row& r, const row_problem& p, const arch& a) {
    const int wanted = r.policy.row().cluster;
    const int most = wanted < a.cluster_blocks ? wanted : a.cluster_blocks;
    const auto positions = static_cast<int>(p.positions);
    int blocks = 1;
    while (2 * blocks <= most && share_of_positions(positions, blocks) > fewest_positions &&
           2 * blocks * key_heads_of(p) <= a.sms)
        blocks *= 2;
    const attention_share widest = share_of_attention(r, p, a, blocks);
    attention_share out = widest;
    while (out.blocks > 1 && attention_bytes(r, p, out) > a.shared_per_block)
        out = share_of_attention(r, p, a, out.blocks / 2);
    return attention_bytes(r, p, out) > a.shared_per_block ? widest : out;
}

}  // namespace CATENA_NAMESPACE
