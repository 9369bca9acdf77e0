// What the warps of a block that attends make, by tensor cores: what queries attend to of the
// block's positions. These multiply halves: a query and a share are the sum of two halves, which
// keeps 22 bits, or all down to 2^-25.
//
// Lane (g, t) = (lane / 4, lane % 4) brings parts of key g and of values 2t and 2t + 1 of eight
// positions. It has the scores of query g for keys 2t and 2t + 1, and sums of queries 2t and
// 2t + 1.
#pragma once

#include "catena/exec/elementary.hpp"
#include "catena/exec/executor.hpp"
#include "catena/kernel/attended_block.hpp"
#include "catena/kernel/reduce.hpp"
#include "catena/kernel/row/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

template <class X, row_policy P>
class attended_products : protected attended_block<X, P> {
    using base = attended_block<X, P>;

  protected:
    using base::chunk, base::head, base::warps;
    using base::least, base::token_of, base::row_of, base::load_chunk, base::half_of_query;
    using base::rank_, base::most_, base::queries_, base::first_, base::count_;
    using base::score_, base::made_, base::counts_of_warp_, base::part_, base::counts_;
    using base::x_, base::a_, base::by_;

    CATENA_FN attended_products(X& x, const heads_args& a) : base(x, a) {}

    /// What queries_abreast queries from `first` on attend to, of each warp's positions. What has
    /// no share of a query is to count for nothing, but tensor cores add its products with 0: where
    /// sums are no numbers, each query is multiplied by itself with the values that it has shares
    /// of.
    CATENA_FN void attend(int first) {
        const int queries = least(queries_ - first, queries_abreast);
        const real most = score(first);
        some_values values;  // the lane's first ones, which come while it makes shares
        load_values(0, 0, values);
        make_shares(first, most);
        int only = all;
        bool apart = false;
        CATENA_NO_UNROLL
        while (true) {
            const bool numbers = add_values(queries, only, values);
            apart = x_.sync_any(!numbers) || apart;
            if (!apart || ++only == queries) return;
            load_values(0, 0, values);
        }
    }

    /// Adds up the sums of all warps, in their order, for the first block of the cluster. A warp
    /// has an element of each lane, and finds what each warp's sum is multiplied with.
    CATENA_FN void join_warps(int first) {
        const int busy = least(warps, (count_ + keys_abreast - 1) / keys_abreast);
        const int queries = least(queries_ - first, queries_abreast);
        CATENA_NO_UNROLL
        for (int i = x_.warp(); i < queries * segments; i += warps) {
            const int query = i / segments, element = i % segments * warp_size + x_.lane();
            const float* const of = counts_of_warp_ + 2 * (query * warps + x_.lane());
            const bool there = x_.lane() < busy;
            real own = from_bits(minus_infinite_bits), counts{0};
            if (there) own = x_.load(of), counts = x_.load(of + 1);
            const real most = over_threads<warp_size>(x_, own, nullptr, larger);
            const real weight = is_minus_infinite(own) ? real{0} : exp(own - most);
            counts = warp_sum(x_, weight * counts);
            real sum{0};
            CATENA_NO_UNROLL
            for (int begin = 0; begin < busy; begin += joined_warps) {
                CATENA_UNROLL
                for (int w = begin; w < begin + joined_warps; ++w) {
                    const real of_warp = x_.shuffle(weight, w);
                    sum = fma(of_warp, real{x_.load(made_at(w, query, element))}, sum);
                }
            }
            const int to = rank_ * most_ + first + query;
            x_.store_first(part_ + to * head + element, sum);
            if (element != 0) continue;
            x_.store_first(counts_ + 2 * to, most);
            x_.store_first(counts_ + 2 * to + 1, counts);
        }
    }

  private:
    static constexpr int streams = warps * keys_abreast;   // positions that the block has at once
    static constexpr int key_chunks = head / (4 * chunk);  // of a lane
    static constexpr int slices = head / (16 * chunk);     // of values: a lane has two chunks
    static constexpr int segments = head / warp_size;
    static constexpr int all = -1;                    // queries, not one
    static constexpr std::uint16_t no_half = 0x8000;  // -0: a share that is too small for a half

    using some_keys = word4[key_chunks];
    using some_values = word4[2][2];  // two chunks of each of two values

    CATENA_FN int row_of_lane() const { return x_.lane() / 4; }
    CATENA_FN int column_of_lane() const { return x_.lane() % 4; }
    /// The warp's first position of a round, in which it has keys_abreast.
    CATENA_FN int begin_of(int round) const { return round * streams + x_.warp() * keys_abreast; }

    /// The lane's parts of its key of a round.
    CATENA_FN void load_key(int round, some_keys& to) const {
        const std::uint16_t* const key = row_of(0, begin_of(round) + row_of_lane());
        CATENA_UNROLL
        for (int j = 0; j < key_chunks; ++j)
            to[j] = load_chunk(key, (4 * j + column_of_lane()) * chunk);
    }
    /// The lane's parts of its two values of a round, in slice j.
    CATENA_FN void load_values(int round, int j, some_values& to) const {
        CATENA_UNROLL
        for (int i = 0; i < 2; ++i) {
            const std::uint16_t* const value =
                row_of(1, begin_of(round) + 2 * column_of_lane() + i);
            for (int h = 0; h < 2; ++h)
                to[i][h] = load_chunk(value, ((2 * j + h) * 8 + row_of_lane()) * chunk);
        }
    }

    /// Where the lane keeps two scores of a round, and then the first and second halves of their
    /// shares.
    CATENA_FN float* kept_at(int round, int which) const {
        return score_ + (2 * round + which) * x_.threads() + x_.thread();
    }
    /// Finds the lane's scores. Returns the largest of its query and warp.
    CATENA_FN real score(int first) {
        const int query = first + row_of_lane();
        const bool there = query < queries_;
        const std::uint16_t* const masks =
            by_.mask == nullptr || !there ? nullptr : masks_of(query);
        real most = from_bits(minus_infinite_bits);
        CATENA_NO_UNROLL
        for (int round = 0; begin_of(round) < count_; ++round) {
            some_keys key;
            load_key(round, key);
            std::uint16_t mask[2] = {0, 0};
            const int at = begin_of(round) + 2 * column_of_lane();
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i)
                if (masks != nullptr && at + i < count_) mask[i] = x_.load(masks + at + i);
            real sum[2][4] = {{real{0}, real{0}, real{0}, real{0}},
                              {real{0}, real{0}, real{0}, real{0}}};
            CATENA_UNROLL
            for (int j = 0; j < key_chunks; ++j)
                multiply_key(there ? query : first, j, key[j], sum);
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i) {
                const bool counts = at + i < count_ && mask[i] != minus_infinite_half;
                const real s =
                    sum[0][i] + sum[1][i] + (sum[0][2 + i] + sum[1][2 + i]) + from_half(mask[i]);
                const real score = counts ? s : from_bits(minus_infinite_bits);
                x_.store(kept_at(round, i), score);
                most = larger(most, score);
            }
        }
        most = larger(most, x_.shuffle_xor(most, 1));
        return larger(most, x_.shuffle_xor(most, 2));
    }
    CATENA_FN const std::uint16_t* masks_of(int query) const {
        return row_at(by_.mask, {by_.mask_nb, 0, 0}, {token_of(query), 0, 0}) + first_;
    }
    /// Adds the products of a chunk of eight keys and queries, to two sums, so that none waits for
    /// each product. The first two numbers of a sum have the first halves of queries.
    CATENA_FN void multiply_key(int query, int j, const word4& key, real (&sum)[2][4]) {
        const int element = (4 * j + column_of_lane()) * chunk;
        const int some = element < a_.member[0].k ? element : 0;  // for a key's zeros
        word4 half[2];
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) half[h] = x_.load16(half_of_query(query, h) + some);
        x_.template mma<format::f16>(sum[0], {half[0].x, half[1].x, half[0].y, half[1].y},
                                     {key.x, key.y});
        x_.template mma<format::f16>(sum[1], {half[0].z, half[1].z, half[0].w, half[1].w},
                                     {key.z, key.w});
    }

    /// Scores become shares of their warp, which keeps for each query what they count.
    CATENA_FN void make_shares(int first, real most) {
        real sum{0};
        CATENA_NO_UNROLL
        for (int round = 0; begin_of(round) < count_; ++round) {
            unsigned word[2] = {0, 0};
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i) {
                const real s = x_.load(kept_at(round, i));
                const real share = is_minus_infinite(s) ? real{0} : exp(s - most);
                sum = sum + share;
                const std::uint16_t half = to_half(share);
                std::uint16_t rest = to_half(share - from_half(half));
                if (bits_of(share) != 0 && (half | rest) == 0) rest = no_half;
                word[0] |= static_cast<unsigned>(half) << (16 * i);
                word[1] |= static_cast<unsigned>(rest) << (16 * i);
            }
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) x_.store(kept_at(round, h), from_bits(word[h]));
        }
        sum = sum + x_.shuffle_xor(sum, 1);
        sum = sum + x_.shuffle_xor(sum, 2);
        if (column_of_lane() != 0 || first + row_of_lane() >= queries_) return;
        float* const to = counts_of_warp_ + 2 * (row_of_lane() * warps + x_.warp());
        x_.store(to, most);
        x_.store(to + 1, sum);
    }

    /// Adds up the warp's values for `queries` queries, or for `only` one of them; `some`: the
    /// lane's first ones. Are all the lane's sums numbers?
    CATENA_FN bool add_values(int queries, int only, some_values& some) {
        real zero{0};
        CATENA_NO_UNROLL
        for (int j = 0; j < slices; ++j) {
            real sums[chunk][4];
            CATENA_UNROLL
            for (auto& four : sums)
                for (real& s : four) s = real{0};
            CATENA_NO_UNROLL
            for (int round = 0; begin_of(round) < count_; ++round) {
                if (round != 0 || j != 0) load_values(round, j, some);
                add_round(round, only, some, sums);
            }
            put_sums(queries, only, j, sums, zero);
        }
        return !is_nan(zero);
    }
    /// Row g of an mma has an element of the lane's first chunk, row g + 8 one of its second. K has
    /// the first and then the second halves of shares.
    CATENA_FN void add_round(int round, int only, some_values& some, real (&sums)[chunk][4]) {
        unsigned share[2];
        CATENA_UNROLL
        for (int h = 0; h < 2; ++h) share[h] = bits_of(x_.load(kept_at(round, h)));
        if (only != all) {
            const int any = static_cast<int>(share[0] | share[1]);
            const int of_only = x_.shuffle(any, 4 * only + column_of_lane());
            CATENA_UNROLL
            for (int i = 0; i < 2; ++i)
                if ((of_only >> (16 * i) & 0xffff) == 0) some[i][0] = some[i][1] = {0, 0, 0, 0};
        }
        CATENA_UNROLL
        for (int i = 0; i < chunk; ++i) {
            unsigned rows[2];
            CATENA_UNROLL
            for (int h = 0; h < 2; ++h) rows[h] = pair_of(some[0][h], some[1][h], i);
            x_.template mma<format::f16>(sums[i], {rows[0], rows[1], rows[0], rows[1]}, share);
        }
    }
    /// Element i of two chunks, in the halves of a word.
    CATENA_FN unsigned pair_of(const word4& first, const word4& second, int i) const {
        const unsigned low[] = {first.x, first.y, first.z, first.w};
        const unsigned high[] = {second.x, second.y, second.z, second.w};
        return x_.permute(low[i / 2], high[i / 2], i % 2 == 0 ? 0x5410u : 0x7632u);
    }

    /// Where a warp puts an element of a query's sum. Lanes that store together meet in no bank.
    CATENA_FN float* made_at(int warp, int query, int element) const {
        const int turned = element ^ (query & 4);
        return made_ +
               (warp * least(most_, queries_abreast) + query) * attention_room::made_row(head) +
               turned;
    }
    /// Puts the sums of slice j where join_warps reads them. `zero` becomes NaN if one is no
    /// number.
    CATENA_FN void put_sums(int queries, int only, int j, const real (&s)[chunk][4], real& zero) {
        CATENA_UNROLL
        for (int i = 0; i < 2; ++i) {
            const int query = 2 * column_of_lane() + i;
            if (query >= queries || (only != all && query != only)) continue;
            CATENA_UNROLL
            for (int e = 0; e < 2 * chunk; e += quad) {
                const int h = e / chunk, c = e % chunk, which = 2 * h + i;
                const real four[] = {s[c][which], s[c + 1][which], s[c + 2][which],
                                     s[c + 3][which]};
                CATENA_UNROLL
                for (const real& v : four) zero = fma(v, real{0}, zero);
                x_.store16(
                    made_at(x_.warp(), query, ((2 * j + h) * 8 + row_of_lane()) * chunk + c),
                    {bits_of(four[0]), bits_of(four[1]), bits_of(four[2]), bits_of(four[3])});
            }
        }
    }
};

}  // namespace CATENA_NAMESPACE::kernel
