// A block that attends (attended_head.hpp): which queries and positions it has, where they lie in
// its shared memory, and how it reads keys and values.
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/exec/executor.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/attention_layout.hpp"
#include "catena/kernel/distance.hpp"
#include "catena/kernel/divider.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

inline constexpr unsigned minus_infinite_bits = 0xff800000u;
inline constexpr std::uint16_t minus_infinite_half = 0xfc00;

CATENA_FN bool is_minus_infinite(real v) { return bits_of(v) == minus_infinite_bits; }

template <class X, row_policy P>
class attended_block {
  protected:
    static constexpr int head = head_values(P), warps = rows_of_block(P);
    static constexpr int chunk = attended_by_lane;  // elements of 16 bytes

    X& x_;
    const heads_args& a_;
    const attention_args& by_;
    const int blocks_, rank_;
    const int part_of_queries_;        // that the cluster has
    const int key_head_;               // the head of keys
    const int group_;                  // heads of queries that share it
    const int most_;                   // queries of each cluster, of those of all tokens
    const int first_query_, queries_;  // the cluster's own
    const int share_;                  // positions of each block
    const int first_, count_;          // the block's own
    float *score_, *made_, *counts_of_warp_, *part_, *counts_, *weight_;
    std::uint16_t* query_;     // two halves of each element
    std::uint16_t* stored_;    // a key and a value of each token
    std::uint16_t* token_at_;  // for each key, then value: the number of its token, from 1 on, or 0

    CATENA_FN attended_block(X& x, const heads_args& a)
        : x_(x),
          a_(a),
          by_(a.attended),
          blocks_(x.cluster_blocks()),
          rank_(x.cluster_rank()),
          part_of_queries_(quotient(x.cluster(), a.member[1].heads)),
          key_head_(x.cluster() - part_of_queries_ * a.member[1].heads),
          group_(quotient(a.member[0].heads, a.member[1].heads)),
          most_(share_of_queries(group_ * a.tokens,
                                 quotient(x.blocks(), blocks_ * a.member[1].heads))),
          first_query_(part_of_queries_ * most_),
          queries_(least(most_, group_ * a.tokens - first_query_)),
          share_(share_of_positions(by_.positions, blocks_)),
          first_(rank_ * share_),
          count_(least(share_, by_.positions - first_)) {
        const attention_room room =
            attention_room::of(head, warps, most_, a.tokens, share_, blocks_);
        score_ = x.template shared<float>(room.scores);
        made_ = x.template shared<float>(room.made);
        counts_of_warp_ = x.template shared<float>(room.counts_of_warps);
        part_ = x.template shared<float>(room.parts);
        counts_ = x.template shared<float>(room.counts);
        weight_ = x.template shared<float>(room.weights);
        query_ = x.template shared<std::uint16_t>(room.queries);
        stored_ = x.template shared<std::uint16_t>(room.stored);
        token_at_ = x.template shared<std::uint16_t>(room.places);
    }

    CATENA_FN static int least(int a, int b) { return a < b ? a : b; }

    CATENA_FN int token_of(int query) const {
        return a_.tokens == 1 ? 0 : quotient(first_query_ + query, group_);  // which is a call
    }
    CATENA_FN int head_of(int query) const {
        return key_head_ * group_ + first_query_ + query - token_of(query) * group_;
    }

    /// Position `at` of the block in a cache, from `element` on.
    CATENA_FN const std::byte* in_cache(const head_member& m, int at, int element) const {
        return static_cast<const std::byte*>(m.cache) +
               distance(by_.first_row + first_ + at, m.cache_nb) + 2 * (key_head_ * m.k + element);
    }

    /// Position `at` of the keys (0) or the values (1); null: there is none. Those of the tokens
    /// are not read from the cache, where another block may be about to store them.
    CATENA_FN const std::uint16_t* row_of(int cache, int at) const {
        if (at >= count_) return nullptr;
        const int token = x_.load(token_at_ + cache * share_ + at);
        const void* from = in_cache(a_.member[1 + cache], at, 0);
        if (token != 0) from = stored_ + (2 * (token - 1) + cache) * head;
        return static_cast<const std::uint16_t*>(from);
    }
    /// A chunk of such a row, or zeros.
    CATENA_FN word4 load_chunk(const std::uint16_t* row, int element) const {
        if (row == nullptr || element >= a_.member[1].k) return {0, 0, 0, 0};
        return x_.load16(row + element);
    }
    CATENA_FN std::uint16_t* half_of_query(int query, int which) const {
        return query_ + (2 * query + which) * attention_room::query_row(head);
    }
};

}  // namespace CATENA_NAMESPACE::kernel
