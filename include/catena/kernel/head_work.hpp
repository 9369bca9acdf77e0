// One head on its way to attention: what a warp does with it. All elements of a head are read
// before any is written, so f32 may lie exactly over x, if that is not what attention makes.
#pragma once

#include "catena/kernel/held_head.hpp"
#include "catena/kernel/turn.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

inline constexpr int q8_0_bytes = info(format::q8_0).block_bytes;
inline constexpr int q4_0_bytes = info(format::q4_0).block_bytes;

/// One head's work: a norm, its weight, a turn and a scale; then it is written and stored.
template <class X, row_policy P, row_computation C>
class head_work : held_head<X, P> {
    using base = held_head<X, P>;
    using base::a_, base::m_, base::x_, base::held;
    using base::at, base::load, base::norm_of, base::scale, base::write;

  public:
    using typename base::quads;

    CATENA_FN head_work(X& x, const heads_args& a, const head_member& m, int row, float* exchange,
                        float* meeting)
        : base(x, a, m),
          token_(quotient(row, m.heads)),
          head_(row - token_ * m.heads),
          exchange_(exchange),
          meeting_(meeting) {}

    CATENA_FN void run() {
        quads v;
        const std::int64_t row = make(v);
        if (m_.f32 != nullptr) this->write_f32(head_, token_, v);
        if (stores() && keeps(row)) store(row, v);
    }

    /// The head, as it is written. Returns its row of the cache, or -1.
    CATENA_FN std::int64_t make(quads& v) {
        quads weight;
        const bool weighted = m_.normed && m_.weight != nullptr;
        const bool turned = C.stages.has(stage_kind::rope) && m_.turned;
        if (weighted) load(m_.weight + (m_.token_norm ? head_ * m_.k : 0), weight);
        turns by;
        if (turned) find_frequencies(by);
        x_.grid_wait();
        real scale_of_token{1};
        if constexpr (!attends(C.stages))
            if (m_.normed && m_.token_norm) scale_of_token = norm_of_token();
        load(head_at(head_), v);
        const std::int64_t row = stores() ? cache_row(x_, m_, token_) : -1;
        if (turned) find_directions(by);
        if (m_.normed) scale(m_.token_norm ? scale_of_token : norm_of(v), v);
        if (weighted) {
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                for (int i = 0; i < quad; ++i) v[j][i] = v[j][i] * weight[j][i];
        }
        if (turned) turn(by, v);
        if (m_.scale != 1) scale(real{m_.scale}, v);
        return row;
    }

    /// Does a row of the cache keep this head? Not if there is no such row, or if a later token has
    /// it, too.
    CATENA_FN bool keeps(std::int64_t row) {
        return row >= 0 && row < m_.cache_rows && !stored_again(row);
    }

    /// `row`: that of the cache, which keeps the head.
    CATENA_FN void store(std::int64_t row, const quads& v) {
        auto* const to =
            static_cast<std::byte*>(m_.cache) + distance(static_cast<int>(row), m_.cache_nb);
        const int first = head_ * m_.k;
        if (C.emits.has(format::f32) && m_.cache_type == format::f32)
            write(reinterpret_cast<float*>(to) + first, v);
        if (C.emits.has(format::f16) && m_.cache_type == format::f16)
            write_16(to, first, v, [](real r) { return to_half(r); });
        if (C.emits.has(format::bf16) && m_.cache_type == format::bf16)
            write_16(to, first, v, [](real r) { return to_bfloat16(r); });
        const bool bytes = C.emits.has(format::q8_0) && m_.cache_type == format::q8_0;
        const bool nibbles = C.emits.has(format::q4_0) && m_.cache_type == format::q4_0;
        if (bytes || nibbles) store_blocks(to, first, v, bytes);
    }

    /// Writes the head somewhere else, without gaps.
    CATENA_FN void put(float* to, const quads& v) const { write(to, v); }
    CATENA_FN void put_halves(std::uint16_t* to, const quads& v) const {
        write_16(reinterpret_cast<std::byte*>(to), 0, v, [](real r) { return to_half(r); });
    }

  private:
    const int token_, head_;
    float* const exchange_;  // of the warp: as many as a head has elements
    float* const meeting_;   // of the block: a number of each quarter of a token

    CATENA_FN const float* head_at(int head) const {
        return row_at(m_.x, {m_.x_nb1, m_.x_nb2, 0}, {head, token_, 0});
    }

    /// The squares of a token, whose heads have no gaps, are those of four quarters. If the block's
    /// four warps have heads of the token, each sums up a quarter; else each sums up all.
    CATENA_FN real norm_of_token() {
        const bool together = rows_of_block(P) == quarters && m_.heads % quarters == 0 &&
                              m_.first_row % quarters == 0;
        real sum{0};
        CATENA_NO_UNROLL
        for (int q = 0; q < quarters; ++q) {
            if (together && q != x_.warp()) continue;
            const real own = warp_sum(x_, squares_of(q));
            if (together && x_.lane() == 0) x_.store(meeting_ + q, own);
            sum = sum + own;
        }
        if (together) {
            x_.sync();
            sum = x_.load(meeting_);
            for (int q = 1; q < quarters; ++q) sum = sum + real{x_.load(meeting_ + q)};
        }
        return over_rms(sum, m_.heads * m_.k, m_.eps);
    }

    /// The lane's squares of a quarter of the token. Some quads are on their way at once.
    CATENA_FN real squares_of(int quarter) const {
        constexpr int stride = quad * warp_size, abreast = token_norm_values / (quarters * stride);
        const int all = m_.heads * m_.k,
                  part = stride * quotient(all + quarters * stride - 1, quarters * stride);
        const int end = all < (quarter + 1) * part ? all : (quarter + 1) * part;
        real squares{0};
        CATENA_NO_UNROLL
        for (int first = quarter * part + at(0); first < end; first += abreast * stride) {
            real some[abreast][quad];
            CATENA_UNROLL
            for (int j = 0; j < abreast; ++j)
                load_quad<P.vector>(x_, head_at(0), first + j * stride, end, some[j]);
            CATENA_UNROLL
            for (int j = 0; j < abreast; ++j)
                for (int i = 0; i < quad; ++i) squares = fma(some[j][i], some[j][i], squares);
        }
        return squares;
    }

    // A lane turns whole pairs, so that each direction is found by one lane.
    static constexpr int pairs = held * quad / 2;
    /// What turns the lane's pairs: a frequency before the wait, a direction behind it.
    struct turns {
        frequency by[pairs];
        direction to[pairs];
    };

    CATENA_FN int half() const { return a_.turn.dims / 2; }
    CATENA_FN int pair_at(int i) const { return x_.lane() + i * warp_size; }
    /// Pair 0 where the head turns fewer.
    CATENA_FN int some_pair_at(int i) const { return pair_at(i) < half() ? pair_at(i) : 0; }

    template <class F>
    CATENA_FN static void each_pair(F f) {
        CATENA_UNROLL
        for (int i = 0; i < pairs; ++i) f(i);
    }

    CATENA_FN void find_frequencies(turns& t) const {
        each_pair([&](int i) { t.by[i] = frequency::of(a_.turn, some_pair_at(i)); });
    }

    /// What direction_of (turn.hpp) does for one pair. It goes over all pairs for each thing to
    /// find, so that none waits for another's.
    CATENA_FN void find_directions(turns& t) const {
        const rotation& r = a_.turn;
        const auto position = [&](int which) {
            return from_int(x_.load(a_.positions + which * a_.tokens + token_));
        };
        real angle[pairs];
        if (r.pairs == pairing::sections || r.pairs == pairing::interleaved) {
            each_pair([&](int i) {
                angle[i] = position(section_of(r.pairs, r.section, r.sections, some_pair_at(i)));
            });
        } else {
            const real one = position(0);
            each_pair([&](int i) { angle[i] = one; });
        }
        each_pair([&](int i) { angle[i] = angle[i] * t.by[i].power; });
        if (a_.factors != nullptr) {
            real factor[pairs];
            each_pair([&](int i) { factor[i] = factor_of(x_, a_, some_pair_at(i)); });
            each_pair([&](int i) { angle[i] = angle[i] / factor[i]; });
        }
        each_pair([&](int i) { t.to[i] = direction_of(a_, angle[i] * t.by[i].by); });
    }

    CATENA_FN bool stores() const { return C.stages.has(stage_kind::store) && m_.cache != nullptr; }

    CATENA_FN float* own_quad(int j) const { return exchange_ + at(j); }
    CATENA_FN void put(const quads& v) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            for (int i = 0; i < quad; ++i) x_.store(own_quad(j) + i, v[j][i]);
    }
    CATENA_FN void take(int j, real (&v)[quad]) {
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) v[i] = x_.load(own_quad(j) + i);
    }

    /// Pairs are turned in shared memory, where the warp's lanes have put their elements.
    CATENA_FN void turn(const turns& t, quads& v) {
        const rotation& r = a_.turn;
        const bool neighbors = r.pairs == pairing::neighbors;
        const int away = neighbors ? 1 : half();
        put(v);
        x_.sync_warp();
        each_pair([&](int i) {
            if (pair_at(i) >= half()) return;
            float* const first = exchange_ + r.first + (neighbors ? 2 : 1) * pair_at(i);
            const real p = x_.load(first), q = x_.load(first + away);
            const direction& d = t.to[i];
            x_.store(first, fma(p, d.cosine, q * -d.sine));
            x_.store(first + away, fma(q, d.cosine, p * d.sine));
        });
        x_.sync_warp();
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) take(j, v[j]);
    }

    /// Does a later token go to the same row? Its numbers stay.
    CATENA_FN bool stored_again(std::int64_t row) {
        if (token_ + 1 == a_.tokens) return false;
        int again = 0;
        CATENA_NO_UNROLL
        for (int t = token_ + 1 + x_.lane(); t < a_.tokens; t += warp_size)
            if (cache_row(x_, m_, t) == row) again = 1;
        return over_threads<warp_size>(x_, again, nullptr, [](int p, int q) { return p | q; }) != 0;
    }

    /// A quad of each lane at a time, out of the lane's own place in shared memory: what writes a
    /// block is in the kernel once.
    CATENA_FN void store_blocks(std::byte* row, int first, const quads& v, bool bytes) {
        put(v);
        CATENA_NO_UNROLL
        for (int j = 0; j < held; ++j) {  // whole warps: shuffles
            real own[quad];
            take(j, own);
            if (bytes)
                write_q8_0(row, first, j, own);
            else
                write_q4_0(row, first, j, own);
        }
    }

    template <class Narrow>
    CATENA_FN void write_16(std::byte* row, int first, const quads& v, Narrow narrow) const {
        auto* const to = reinterpret_cast<std::uint16_t*>(row) + first;
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) store_quad<P.vector>(x_, to, at(j), m_.k, v[j], narrow);
    }

    /// Where the block of quad j begins, whose 32 values 8 neighboring lanes have.
    CATENA_FN std::uint16_t* block_at(std::byte* row, int first, int j, int bytes) const {
        return reinterpret_cast<std::uint16_t*>(row + (first + at(j)) / 32 * bytes);
    }

    CATENA_FN static real inverse_or_zero(real d) {
        return (bits_of(d) & 0x7fffffffu) == 0 ? real{0} : real{1} / d;
    }

    CATENA_FN void write_q8_0(std::byte* row, int first, int j, const real (&v)[quad]) {
        unsigned largest = magnitude_of(v);
        CATENA_UNROLL
        for (int mask = 1; mask < 8; mask *= 2) {
            const unsigned other = x_.shuffle_xor(largest, mask);
            largest = other > largest ? other : largest;
        }
        if (at(j) >= m_.k) return;
        const real d = scale_of(largest), per_d = inverse_or_zero(d);
        const unsigned q = int8_word({v[0] * per_d, v[1] * per_d, v[2] * per_d, v[3] * per_d});
        std::uint16_t* const block = block_at(row, first, j, q8_0_bytes);
        const int part = x_.lane() % 8;
        if (part == 0) x_.store(block, to_half(d));
        x_.store(block + 1 + 2 * part, static_cast<std::uint16_t>(q));
        x_.store(block + 2 + 2 * part, static_cast<std::uint16_t>(q >> 16));
    }

    /// The value of largest magnitude, the first of several, becomes -8.
    CATENA_FN void write_q4_0(std::byte* row, int first, int j, const real (&v)[quad]) {
        real extreme{0};
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i)
            if (bits_of(abs(v[i])) > bits_of(abs(extreme))) extreme = v[i];
        CATENA_UNROLL
        for (int mask = 1; mask < 8; mask *= 2) {
            const real other = x_.shuffle_xor(extreme, mask);
            const unsigned mine = bits_of(abs(extreme)), theirs = bits_of(abs(other));
            const bool before = (x_.lane() & mask) != 0;
            if (theirs > mine || (theirs == mine && before)) extreme = other;
        }
        const bool finite = bits_of(abs(extreme)) < infinite_bits;
        const real d = finite ? extreme * real{-0.125f} : from_bits(f32_nan_bits);
        const real per_d = inverse_or_zero(d);
        unsigned levels = 0;
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) {
            const int level = to_int(v[i] * per_d + real{8.5f});
            levels |= static_cast<unsigned>(level < 15 ? level : 15) << (8 * i);
        }
        const unsigned above = x_.shuffle_xor(levels, 4);
        const int part = x_.lane() % 8;
        if (at(j) >= m_.k || part >= 4) return;
        const unsigned both = levels | above << 4;
        std::uint16_t* const block = block_at(row, first, j, q4_0_bytes);
        if (part == 0) x_.store(block, to_half(d));
        x_.store(block + 1 + 2 * part, static_cast<std::uint16_t>(both));
        x_.store(block + 2 + 2 * part, static_cast<std::uint16_t>(both >> 16));
    }
};

}  // namespace CATENA_NAMESPACE::kernel
