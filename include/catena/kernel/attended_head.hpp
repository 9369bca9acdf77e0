// Attention of few tokens (chain/ops/attend.hpp). A block, or a cluster of them, has queries of one
// head of keys, all of them or as many as other clusters have; each block of a cluster has a part
// of the positions:
//
//   early       what the caches hold of the positions comes to L2
//   heads       queries are made in shared memory, as are the tokens' keys and values that a block
//               has positions of; one block stores each of these
//   scores      a warp multiplies eight keys at a time with eight queries
//   shares      each lane turns scores of one query into shares of its warp
//   values      the warp multiplies values with shares
//   warps       the block adds up what its warps have made
//   blocks      the first block of the cluster adds up what all have made, and writes it as f32 and
//               as q8_1
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/exec/executor.hpp"
#include "catena/kernel/attended_products.hpp"
#include "catena/kernel/head_work.hpp"
#include "catena/kernel/quantize.hpp"
#include "catena/kernel/reduce.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

template <class X, row_policy P, row_computation C>
class attended_head : attended_products<X, P> {
    using base = attended_products<X, P>;
    using base::attend, base::join_warps;
    using base::blocks_, base::rank_, base::part_of_queries_, base::key_head_, base::most_;
    using base::head, base::warps;
    using base::part_, base::counts_, base::weight_, base::made_, base::stored_, base::token_at_;
    using base::queries_, base::share_, base::first_, base::count_;
    using base::token_of, base::head_of, base::in_cache, base::half_of_query;
    using base::x_, base::a_, base::by_;

  public:
    CATENA_FN attended_head(X& x, const heads_args& a) : base(x, a) {}

    CATENA_FN void run() {
        bring_caches();
        CATENA_NO_UNROLL
        for (int i = x_.thread(); i < 2 * share_; i += x_.threads())
            x_.store(token_at_ + i, std::uint16_t{0});
        x_.cluster_meet();
        x_.sync();
        make_heads();
        x_.sync();
        CATENA_NO_UNROLL
        for (int q = 0; q < queries_; q += queries_abreast) {
            if (q != 0) x_.sync();  // the sums of the queries before are read
            attend(q);
            join_warps(q);
        }
        x_.cluster_sync();
        if (rank_ != 0) return;
        CATENA_NO_UNROLL
        for (int q = x_.warp(); q < queries_; q += warps) weigh_blocks(q);
        x_.sync();
        join_blocks();
    }

  private:
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
                put_query(one, i, v);
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

    /// A query, scaled, as the sum of two halves.
    template <class Work>
    CATENA_FN void put_query(const Work& one, int i, typename Work::quads& v) const {
        CATENA_UNROLL
        for (auto& four : v)
            for (real& e : four) e = e * real{by_.scale};
        one.put_halves(half_of_query(i, 0), v);
        CATENA_UNROLL
        for (auto& four : v)
            for (real& e : four) e = e - from_half(to_half(e));
        one.put_halves(half_of_query(i, 1), v);
    }

    /// What each block's part of a query is multiplied with. A lane has a block.
    CATENA_FN void weigh_blocks(int query) {
        const real nothing = from_bits(minus_infinite_bits);
        const float* const of = counts_ + 2 * (x_.lane() * most_ + query);
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
