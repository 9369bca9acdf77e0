// Attention of few tokens (chain/ops/attend.hpp). A block, or a cluster of them, has queries of one
// head of keys, all of them or as many as other clusters have; each block of a cluster has a part
// of the positions:
//
//   early       what the caches hold of the positions comes to L2
//   heads       queries are made in shared memory, as are the tokens' keys and values that a block
//               has positions of; one block stores each of these
//   scores      neighboring lanes have a key together, and multiply it with four queries
//   soft max    a warp has the scores of a query
//   values      neighboring lanes have a value together, and add it to four sums
//   parts       the first block of the cluster adds up what all have made, and writes it as f32
//               and as q8_1
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/exec/executor.hpp"
#include "catena/kernel/attention_layout.hpp"
#include "catena/kernel/head_work.hpp"
#include "catena/kernel/quantize.hpp"
#include "catena/kernel/reduce.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

inline constexpr unsigned minus_infinite_bits = 0xff800000u;
inline constexpr std::uint16_t minus_infinite_half = 0xfc00;

CATENA_FN bool is_minus_infinite(real v) { return bits_of(v) == minus_infinite_bits; }

template <class X, row_policy P, row_computation C>
class attended_head {
  public:
    CATENA_FN attended_head(X& x, const heads_args& a)
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
        query_ = x.template shared<float>(room.queries);
        score_ = x.template shared<float>(room.scores);
        made_ = x.template shared<float>(room.made);
        part_ = x.template shared<float>(room.parts);
        counted_ = x.template shared<float>(room.counts);
        weight_ = x.template shared<float>(room.shares);
        stored_ = x.template shared<std::uint16_t>(room.stored);
        token_at_ = x.template shared<std::uint16_t>(room.places);
    }

    CATENA_FN void run() {
        bring_caches();
        CATENA_NO_UNROLL
        for (int i = x_.thread(); i < 2 * share_; i += x_.threads())
            x_.store(token_at_ + i, std::uint16_t{0});
        x_.cluster_meet();
        x_.sync();
        make_heads();
        x_.sync();
        word4 values[ahead];  // the lane's first ones, which come while the warp scores
        load_rows(1, first_of_lane(), values);
        score();
        x_.sync();
        CATENA_NO_UNROLL
        for (int q = x_.warp(); q < whole_queries(queries_); q += warps) soften(q);
        x_.sync();
        CATENA_NO_UNROLL
        for (int q = 0; q < queries_; q += queries_abreast) {
            add_values(q, values);
            x_.sync();
            join_warps(q);
            x_.sync();
        }
        x_.cluster_sync();
        if (rank_ != 0) return;
        CATENA_NO_UNROLL
        for (int q = x_.warp(); q < queries_; q += warps) weigh_blocks(q);
        x_.sync();
        join_blocks();
    }

  private:
    static constexpr int head = head_values(P), warps = rows_of_block(P);
    static constexpr int lanes = attending_lanes(P);     // that have a key or a value together
    static constexpr int abreast = attended_abreast(P);  // keys that a warp has at once
    static constexpr int streams = warps * abreast;      // keys that the block has at once
    static constexpr int ahead = keys_ahead;             // those that come to a lane together

    using eight = real[attended_by_lane];

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
    float *query_, *score_, *made_, *part_, *counted_, *weight_;
    std::uint16_t* stored_;    // a key and a value of each token
    std::uint16_t* token_at_;  // for each key, then value: the number of its token, from 1 on, or 0

    CATENA_FN static int least(int a, int b) { return a < b ? a : b; }

    CATENA_FN int token_of(int query) const {
        return a_.tokens == 1 ? 0 : quotient(first_query_ + query, group_);  // which is a call
    }
    CATENA_FN int head_of(int query) const {
        return key_head_ * group_ + first_query_ + query - token_of(query) * group_;
    }

    /// The first position of the lane, of which each further one is `streams` away.
    CATENA_FN int first_of_lane() const { return x_.warp() * abreast + x_.lane() / lanes; }
    CATENA_FN int first_element() const { return x_.lane() % lanes * attended_by_lane; }
    /// Position `at` of the block in a cache, from the lane's own elements on.
    CATENA_FN const std::byte* in_cache(const head_member& m, int at, int element) const {
        return static_cast<const std::byte*>(m.cache) +
               distance(by_.first_row + first_ + at, m.cache_nb) + 2 * (key_head_ * m.k + element);
    }

    /// A prefetch reads nothing. A row that an earlier kernel still writes is written in L2, too.
    CATENA_FN void bring_caches() const {
        constexpr int line = 64;  // elements
        const int lines = quotient(a_.member[1].k + line - 1, line);
        CATENA_NO_UNROLL
        for (int i = x_.thread(); i < 2 * count_ * lines; i += x_.threads()) {
            const int row = quotient(i, lines), cache = row >= count_ ? 2 : 1;
            x_.prefetch(in_cache(a_.member[cache], cache == 2 ? row - count_ : row,
                                 (i - row * lines) * line));
        }
    }

    /// A warp makes a query, or the key or the value of a token.
    CATENA_FN void make_heads() {
        using work = head_work<X, P, C>;
        float* const exchange = made_ + x_.warp() * head;
        CATENA_NO_UNROLL
        for (int i = x_.warp(); i < queries_ + 2 * a_.tokens; i += warps) {
            const bool query = i < queries_;
            const int other = i - queries_;
            const head_member& m = a_.member[query ? 0 : 1 + other % 2];
            const int token = query ? token_of(i) : other / 2;
            const int which = query ? head_of(i) : key_head_;
            work one(x_, a_, m, token * m.heads + which, exchange, nullptr);
            typename work::quads v;
            const std::int64_t row = one.make(v);
            if (query)
                one.put(query_ + i * head, v);
            else if (one.keeps(row))
                keep(one, row, v, other);
        }
        x_.grid_wait();
    }
    /// Keeps a token's key or value where the block has its position, and stores it: of the blocks
    /// that have the position, that of the first queries does, and the first block stores rows that
    /// have no position.
    template <class Work>
    CATENA_FN void keep(Work& one, std::int64_t row, const typename Work::quads& v, int which) {
        const std::int64_t position = row - by_.first_row;
        const bool none = position < 0 || position >= by_.positions;
        const bool own = position >= first_ && position < first_ + count_;
        if (own) {
            one.put_halves(stored_ + which * head, v);
            const int at = static_cast<int>(position) - first_;
            if (x_.lane() == 0)
                x_.store(token_at_ + which % 2 * share_ + at,
                         static_cast<std::uint16_t>(which / 2 + 1));
        }
        if (part_of_queries_ == 0 && (none ? rank_ == 0 : own)) one.store(row, v);
    }

    /// The lane's elements of the keys (0) or the values (1) at first, first + streams, ... Those
    /// of the tokens are not read from the cache, where another block may be about to store them.
    CATENA_FN void load_rows(int cache, int first, word4 (&rows)[ahead]) const {
        const head_member& m = a_.member[1 + cache];
        CATENA_UNROLL
        for (int u = 0; u < ahead; ++u) {
            const int at = first + u * streams;
            rows[u] = {0, 0, 0, 0};
            if (at >= count_ || first_element() >= m.k) continue;
            const int token = x_.load(token_at_ + cache * share_ + at);
            const void* from = in_cache(m, at, first_element());
            if (token != 0) from = stored_ + (2 * (token - 1) + cache) * head + first_element();
            rows[u] = x_.load16(from);
        }
    }
    CATENA_FN static void unpack(const word4& row, eight& to) {
        const unsigned words[] = {row.x, row.y, row.z, row.w};
        CATENA_UNROLL
        for (int i = 0; i < attended_by_lane; ++i)
            to[i] = from_half(static_cast<std::uint16_t>(words[i / 2] >> (16 * (i % 2))));
    }
    /// The lane's own elements of a query.
    CATENA_FN void load_query(int query, eight& to) const {
        CATENA_UNROLL
        for (int h = 0; h < attended_by_lane; h += quad) {
            real four[quad];
            load_quad<true>(x_, query_ + query * head, first_element() + h, a_.member[0].k, four);
            for (int i = 0; i < quad; ++i) to[h + i] = four[i];
        }
    }

    /// Scores of four queries lie together for each position.
    CATENA_FN float* score_at(int query, int at) const {
        const int rest = query % queries_abreast;
        return score_ + (query - rest) * share_ + at * queries_abreast + rest;
    }

    /// The scores of all queries. Each key is loaded once, for all of them.
    CATENA_FN void score() {
        CATENA_NO_UNROLL
        for (int base = 0; x_.warp() * abreast + base < count_; base += ahead * streams) {
            const int at = first_of_lane() + base;
            word4 keys[ahead];
            load_rows(0, at, keys);
            CATENA_NO_UNROLL
            for (int q = 0; q < queries_; q += queries_abreast) score_some(q, at, keys);
        }
    }
    /// Those of queries_abreast queries from `first` on for the keys of `at`, at + streams, ...
    CATENA_FN void score_some(int first, int at, const word4 (&keys)[ahead]) {
        constexpr int sums = ahead * queries_abreast, of_sum = lanes / sums;
        const int own = x_.lane() % lanes / of_sum;  // the sum that the lane gets
        const int query = first + own % queries_abreast,
                  mine = at + own / queries_abreast * streams;
        const bool scored = x_.lane() % of_sum == 0 && query < queries_ && mine < count_;
        std::uint16_t mask = 0;
        if (scored && by_.mask != nullptr) mask = x_.load(mask_at(query, mine));
        eight queries[queries_abreast];
        CATENA_UNROLL
        for (int i = 0; i < queries_abreast; ++i)
            load_query(first + i < queries_ ? first + i : first, queries[i]);
        real all[sums];
        CATENA_UNROLL
        for (int u = 0; u < ahead; ++u) {
            eight key;
            unpack(keys[u], key);
            CATENA_UNROLL
            for (int i = 0; i < queries_abreast; ++i) {
                real& sum = all[u * queries_abreast + i];
                sum = key[0] * queries[i][0];
                for (int e = 1; e < attended_by_lane; ++e) sum = fma(key[e], queries[i][e], sum);
            }
        }
        const real sum = sums_over_lanes<lanes>(x_, all);
        if (!scored) return;
        const real s = fma(sum, real{by_.scale}, from_half(mask));
        const bool counts = mask != minus_infinite_half;
        x_.store(score_at(query, mine), counts ? s : from_bits(minus_infinite_bits));
    }
    CATENA_FN const std::uint16_t* mask_at(int query, int at) const {
        return row_at(by_.mask, {by_.mask_nb, 0, 0}, {token_of(query), 0, 0}) + first_ + at;
    }

    /// Scores become shares of their block, for the first block with what they count.
    CATENA_FN void soften(int query) {
        real most = from_bits(minus_infinite_bits), sum{0};
        const bool there = query < queries_;
        CATENA_NO_UNROLL
        for (int i = x_.lane(); there && i < count_; i += warp_size)
            most = larger(most, x_.load(score_at(query, i)));
        most = over_threads<warp_size>(x_, most, nullptr, larger);
        CATENA_NO_UNROLL
        for (int i = x_.lane(); i < count_; i += warp_size) {
            real share{0};
            if (there) {
                const real s = x_.load(score_at(query, i));
                if (!is_minus_infinite(s)) share = exp(s - most);
            }
            x_.store(score_at(query, i), share);
            sum = sum + share;
        }
        sum = warp_sum(x_, sum);
        if (!there || x_.lane() != 0) return;
        float* const to = counted_ + 2 * (rank_ * most_ + query);
        x_.store_first(to, most);
        x_.store_first(to + 1, sum);
    }

    /// Adds up the warp's values for queries_abreast queries from `first` on; `values`: the
    /// lane's first ones.
    CATENA_FN void add_values(int first, const word4 (&values)[ahead]) {
        eight sums[queries_abreast];
        CATENA_UNROLL
        for (int i = 0; i < queries_abreast; ++i)
            for (int e = 0; e < attended_by_lane; ++e) sums[i][e] = real{0};
        add_rows(first, first_of_lane(), values, sums);
        CATENA_NO_UNROLL
        for (int at = first_of_lane() + ahead * streams; at < count_; at += ahead * streams) {
            word4 more[ahead];
            load_rows(1, at, more);
            add_rows(first, at, more, sums);
        }
        put_sums(sums);
    }
    CATENA_FN void add_rows(int first, int at, const word4 (&values)[ahead],
                            eight (&sums)[queries_abreast]) const {
        CATENA_UNROLL
        for (int u = 0; u < ahead; ++u)
            if (at + u * streams < count_)
                add_value(values[u], score_at(first, at + u * streams), sums);
    }
    /// What has no share of a query does not count, whatever it is.
    CATENA_FN void add_value(const word4& row, const float* shares,
                             eight (&sums)[queries_abreast]) const {
        const word4 w = x_.load16(shares);
        const unsigned by[] = {w.x, w.y, w.z, w.w};
        eight value;
        unpack(row, value);
        CATENA_UNROLL
        for (int i = 0; i < queries_abreast; ++i)
            if (by[i] != 0)
                for (int e = 0; e < attended_by_lane; ++e)
                    sums[i][e] = fma(from_bits(by[i]), value[e], sums[i][e]);
    }
    /// Lanes that have the same elements share queries. Each query's sums lie in `made_`.
    CATENA_FN void put_sums(eight (&sums)[queries_abreast]) {
        constexpr int own = queries_abreast / abreast;
        const bool upper = x_.lane() >= lanes;
        if constexpr (abreast == 2) {
            CATENA_UNROLL
            for (int i = 0; i < own; ++i)
                for (int e = 0; e < attended_by_lane; ++e) {
                    const real passed = upper ? sums[i][e] : sums[i + own][e];
                    const real kept = upper ? sums[i + own][e] : sums[i][e];
                    sums[i][e] = kept + x_.shuffle_xor(passed, lanes);
                }
        }
        float* to =
            made_ + (x_.warp() * queries_abreast + (upper ? own : 0)) * head + first_element();
        CATENA_UNROLL
        for (int i = 0; i < own; ++i) {
            for (int h = 0; h < 2; ++h) {
                const real* const s = sums[i] + quad * h;
                x_.store16(to + i * head + quad * h,
                           {bits_of(s[0]), bits_of(s[1]), bits_of(s[2]), bits_of(s[3])});
            }
        }
    }

    /// Brings the sums of all warps, in their order, to the first block.
    CATENA_FN void join_warps(int first) {
        constexpr int of_warp = queries_abreast * head;
        float* const to = part_ + (rank_ * most_ + first) * head;
        CATENA_NO_UNROLL
        for (int i = x_.thread(); i < of_warp; i += x_.threads()) {
            real sum = x_.load(made_ + i);
            CATENA_UNROLL
            for (int w = 1; w < warps; ++w) sum = sum + real{x_.load(made_ + w * of_warp + i)};
            x_.store_first(to + i, sum);
        }
    }

    /// What each block's part of a query is multiplied with. A lane has a block.
    CATENA_FN void weigh_blocks(int query) {
        const real nothing = from_bits(minus_infinite_bits);
        const float* const of = counted_ + 2 * (x_.lane() * most_ + query);
        const bool there = x_.lane() < blocks_;
        real own = nothing, sum{0};
        if (there) own = x_.load(of), sum = x_.load(of + 1);
        real most = over_threads<warp_size>(x_, own, nullptr, larger);
        real sink = nothing;
        if (by_.sinks != nullptr) sink = x_.load(by_.sinks + head_of(query));
        most = larger(most, sink);
        const auto share = [&](real s) { return is_minus_infinite(s) ? real{0} : exp(s - most); };
        const real counts = share(own);
        const real all = warp_sum(x_, counts * sum) + share(sink);
        const bool some = (bits_of(all) & 0x7fffffffu) != 0;
        if (there) x_.store(weight_ + query * blocks_ + x_.lane(), some ? counts / all : real{0});
    }

    CATENA_FN void join_blocks() {
        const int k = a_.member[0].k, quads = quotient(k, quad), all = queries_ * quads;
        CATENA_NO_UNROLL
        for (int first = x_.warp() * warp_size; first < all; first += x_.threads()) {
            const int i = first + x_.lane();  // whole warps: shuffles
            const int query = i < all ? quotient(i, quads) : 0, at = quad * (i - query * quads);
            real sum[quad] = {real{0}, real{0}, real{0}, real{0}};
            CATENA_NO_UNROLL
            for (int b = 0; b < blocks_; ++b) {
                real own[quad];
                load_quad<true>(x_, part_ + (b * most_ + query) * head, at, k, own);
                const real weight = x_.load(weight_ + query * blocks_ + b);
                CATENA_UNROLL
                for (int e = 0; e < quad; ++e) sum[e] = fma(weight, own[e], sum[e]);
            }
            write(query, at, sum);
        }
        if constexpr (C.emits.has(format::q8_1)) pad_rows();
    }

    /// Writes a thread's quad of what a query attends to, as f32 and as q8_1. Whole warps.
    CATENA_FN void write(int query, int at, const real (&v)[quad]) {
        const head_member& m = a_.member[0];
        const int head_number = head_of(query), token = token_of(query);
        if (m.f32 != nullptr)
            store_quad<true>(x_, row_at(m.f32, {m.f32_nb1, m.f32_nb2, 0}, {head_number, token, 0}),
                             at, m.k, v);
        if constexpr (C.emits.has(format::q8_1)) {
            if (by_.q8_1 == nullptr) return;
            const quantized_quad z = quantize(x_, v);
            std::byte* const block = row_of(token) + (head_number * m.k + at) / 32 * q8_1_bytes;
            if (at < m.k) store_share(x_, place_of_q8_1(block), z.d_bits(), z.q);
        }
    }
    CATENA_FN int row_bytes() const {
        const head_member& m = a_.member[0];
        return padded_q8_1_bytes(static_cast<unsigned>(m.k * m.heads));
    }
    CATENA_FN std::byte* row_of(int token) const {
        return static_cast<std::byte*>(by_.q8_1) + distance(token, row_bytes());
    }
    /// Zeros behind a token's last head.
    CATENA_FN void pad_rows() {
        const head_member& m = a_.member[0];
        const int begin = m.k * m.heads / 32 * q8_1_bytes, end = row_bytes();
        if (by_.q8_1 == nullptr || begin == end) return;
        CATENA_NO_UNROLL
        for (int q = 0; q < queries_; ++q) {
            if (head_of(q) + 1 != m.heads) continue;
            CATENA_NO_UNROLL
            for (int i = begin + 4 * x_.thread(); i < end; i += 4 * x_.threads())
                x_.store(reinterpret_cast<unsigned*>(row_of(token_of(q)) + i), 0u);
        }
    }
};

/// The body of a launch that attends.
template <row_policy P, row_computation C, class X>
CATENA_FN void attend_heads(X& x, const heads_args& a) {
    attended_head<X, P, C>(x, a).run();
}

}  // namespace CATENA_NAMESPACE::kernel
