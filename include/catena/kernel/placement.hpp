// The activation made inside the matvec that reads it: each block makes the whole rows for itself,
// so that norm, quantizing and matrices are one launch.
//
//   deferred   x * weight is quantized in the one pass that also sums the squares; what lacks,
//              1 / rms, is a factor of the finished products. One column is made part by part,
//              each while warps multiply the one before. For float weights x * weight is kept as it
//              is, of all columns together
//   passing    float weights are multiplied with x * weight as it comes (float_weights.hpp),
//              and each warp sums the squares; 1 / rms as in deferred
//
// Where float weights are multiplied, further blocks write the norm.
//
// Without a weight x is quantized as it is. Or x is gated, head by head: behind a norm of each
// head, or without one.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/float_weights.hpp"
#include "catena/kernel/quantize.hpp"
#include "catena/kernel/row.hpp"

#include <cstddef>

namespace CATENA_NAMESPACE::kernel {

inline constexpr int line_floats = 32;  ///< floats in a line of L2

/// What stands behind the columns in shared memory.
struct norm_share {
    float* partial;  ///< partial_sums
    float* factor;   ///< a float for each column
};

template <matvec_policy P>
CATENA_FN norm_share shared_norm(std::byte* shared_x, int columns, int k) {
    std::byte* at = shared_x + columns * shared_column_bytes(P.product, k);
    return {reinterpret_cast<float*>(at),
            reinterpret_cast<float*>(at + round_up(partial_sums(P, columns) * 4, 16))};
}

/// A column of floats.
CATENA_FN const float* row_of(const matvec_columns& u, int column = 0) {
    return reinterpret_cast<const float*>(u.x + column * u.x_bytes);
}

/// A thread's quads in flight.
template <matvec_policy P>
struct quads_ahead {
    real of[norm_quads_ahead(P)][quad];
};

/// The norm's weight for a thread's quads from `first` on, or ones. Of heads that are normed all
/// quads of a thread have the same place in theirs: the first weight is that of each.
template <matvec_policy P, class X>
CATENA_FN void load_weight(X& x, const matvec_args& a, int first, quads_ahead<P>& w) {
    constexpr int stride = P.threads * quad, quads = norm_quads_ahead(P);
    const bool norm = a.norm_weight != nullptr;
    const bool of_heads = gates(P) && a.gate.data != nullptr;
    CATENA_UNROLL
    for (int i = 0; i < quads; ++i) {
        for (real& one : w.of[i]) one = real{1};
        const int at = first + x.thread() * quad + i * stride;
        const int place = of_heads ? at & (a.gate.k - 1) : at;
        if (norm) load_quad<true>(x, a.norm_weight, place, a.k, w.of[i]);
    }
}

/// Brings the norm's weight to L2 while the previous grid runs: read only with the row, it would
/// come from memory, which takes longer than the row from L2. Where threads have loaded their first
/// weights, what lies behind these. All threads of a block.
template <matvec_policy P, class X>
CATENA_FN void prefetch_weight(X& x, const matvec_args& a) {
    constexpr int from = P.placement == norm_placement::deferred ? part_values(P) : 0;
    if (a.norm_weight == nullptr || a.gate.data != nullptr) return;
    CATENA_NO_UNROLL
    for (int at = from + x.thread() * line_floats; at < a.k; at += x.threads() * line_floats)
        x.prefetch(a.norm_weight + at);
}

/// Writes a thread's quad of an activation as q8_1 to `row`. Whole warps.
template <class X>
CATENA_FN void share_quad(X& x, const matvec_args& a, std::byte* row, int at,
                          const real (&v)[quad]) {
    const quantized_quad z = quantize(x, v);
    if (at < a.k) store_share(x, place_of_q8_1(row + at / 32 * q8_1_bytes), z.d_bits(), z.q);
}

/// The norm of a thread's quad of a head, which neighboring lanes have. Whole warps.
template <class X>
CATENA_FN void norm_in_head(X& x, const matvec_args& a, const real (&weight)[quad],
                            real (&v)[quad]) {
    real squares{0};
    CATENA_UNROLL
    for (const real one : v) squares = fma(one, one, squares);
    CATENA_NO_UNROLL
    for (int mask = a.gate.k / quad / 2; mask > 0; mask /= 2)
        squares = squares + x.shuffle_xor(squares, mask);
    const real scale = over_rms(squares, a.gate.k, a.eps);
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) v[i] = v[i] * scale * weight[i];
}

/// A thread's quad of an activation that is gated: x and the gate.
struct gated_quad {
    real x[quad];
    gate_values<quad> gate;
};

template <class X>
CATENA_FN void load_gated(X& x, const matvec_args& a, const float* row, int at, gated_quad& q) {
    const int head = quotient(at, a.gate.k);
    const float* const gate = row_at(a.gate.data, {a.gate.nb1, 0, 0}, {head, 0, 0});
    load_quad<true>(x, row, at, a.k, q.x);
    load_quad<true>(x, gate, at - head * a.gate.k, at < a.k ? a.gate.k : 0, q.gate.of);
}

/// f(gate) * x. Whole warps.
template <class X>
CATENA_FN gate_values<quad> gate_of_quad(X& x, const activation_gate& by, const gated_quad& q) {
    gate_values<quad> v;
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) v.of[i] = q.x[i];
    if constexpr (has_ops<X>) {
        if (is_own(by.function)) {
            for (int i = 0; i < quad; ++i)
                v.of[i] = gated_on<true>(x, by.function, q.gate.of[i], q.x[i], by.alpha, by.limit);
            return v;
        }
    }
    return gated(by.function, q.gate, v, real{by.alpha}, real{by.limit});
}

/// Makes the one column of `row`, f32, gated, blocks at `to`. `weight` is that of the norm. All
/// threads; a barrier must follow. A quad is on its way while the one before is gated.
template <matvec_policy P, class X>
CATENA_FN void make_gated(X& x, const matvec_args& a, const float* row, std::byte* to,
                          const real (&weight)[quad]) {
    constexpr int stride = P.threads * quad;
    gated_quad now, next;
    CATENA_NO_UNROLL
    for (int at = x.thread() * quad - stride, left = a.k + stride; left > 0;
         at += stride, left -= stride) {
        load_gated(x, a, row, at + stride, next);
        if (left <= a.k) {
            if (a.norm_weight != nullptr) norm_in_head(x, a, weight, now.x);
            share_quad(x, a, to, at, gate_of_quad(x, a.gate, now).of);
        }
        now = next;
    }
}

/// Makes the columns of `u`, f32 rows, times the norm's weight, f32 at `to`, and their factors. The
/// values of all columns are on their way together, so a block waits for L2 once in each turn. All
/// threads; a barrier must follow.
template <matvec_policy P, class X>
CATENA_FN void make_floats(X& x, const matvec_args& a, const matvec_columns& u, std::byte* to,
                           const norm_share& share, quads_ahead<P> weight) {
    constexpr int stride = P.threads * quad, turn = part_values(P), quads = norm_quads_ahead(P);
    constexpr int lanes = warp_size / P.columns;  // that get the sum of a column
    const int column_bytes = shared_column_bytes(P.product, a.k);
    real squares[P.columns];
    for (real& sum : squares) sum = real{0};
    CATENA_NO_UNROLL
    for (int first = x.thread() * quad; first < a.k; first += turn) {
        real v[quads][P.columns][quad];
        CATENA_UNROLL
        for (int i = 0; i < quads; ++i) {
            CATENA_UNROLL
            for (int c = 0; c < P.columns; ++c)
                load_quad<true>(x, row_of(u, c), first + i * stride, c < u.count ? a.k : 0,
                                v[i][c]);
        }
        CATENA_UNROLL
        for (int i = 0; i < quads; ++i) {
            const int at = first + i * stride;
            std::byte* const place = to + place_in_column<P>(4 * at, a.k);
            CATENA_UNROLL
            for (int c = 0; c < P.columns; ++c) {
                unsigned made[quad];
                CATENA_UNROLL
                for (int e = 0; e < quad; ++e) {
                    squares[c] = fma(v[i][c][e], v[i][c][e], squares[c]);
                    made[e] = bits_of(v[i][c][e] * weight.of[i][e]);
                }
                if (at < a.k && c < u.count)
                    x.store16(place + c * column_bytes, {made[0], made[1], made[2], made[3]});
            }
        }
        load_weight<P>(x, a, first - x.thread() * quad + turn, weight);
    }
    const real sum = sums_over_lanes<warp_size>(x, squares);
    if (x.lane() % lanes == 0 && x.lane() / lanes < u.count)
        x.store(share.partial + x.lane() / lanes * x.warps() + x.warp(), sum);
    x.sync();
    if (x.thread() >= u.count) return;
    real all{0};
    CATENA_NO_UNROLL
    for (int w = 0; w < x.warps(); ++w)
        all = all + real{x.load(share.partial + x.thread() * x.warps() + w)};
    x.store(share.factor + x.thread(), over_rms(all, a.k, a.eps));
}

/// Makes columns of q8_1 from f32 rows, times the norm's weight, each part by part. The values of a
/// part are on their way from the part before on. All threads, whole warps.
template <matvec_policy P>
class column_maker {
    static constexpr int stride = P.threads * quad, quads = norm_quads_ahead(P),
                         part = part_values(P);

  public:
    /// The first value of the next part; with the column made, -1.
    CATENA_FN int due() const { return due_; }
    /// 1 / rms of a column that is made, or 1.
    CATENA_FN real factor() const { return factor_; }

    /// Asks for the first part's weight, which need not wait for x.
    template <class X>
    CATENA_FN void ask_for_weight(X& x, const matvec_args& a) {
        load_weight<P>(x, a, 0, weight_);
    }
    CATENA_FN const quads_ahead<P>& weight() const { return weight_; }

    /// Asks for the first part of a row, whose weight has been asked for.
    template <class X>
    CATENA_FN void begin(X& x, const matvec_args& a, const float* row) {
        due_ = 0, squares_ = real{0}, factor_ = real{1};
        if (!gated(a)) ask_for_values(x, a, row, 0);
    }

    /// Makes the part that is due, blocks of the column at `to`, for all threads to read. What is
    /// gated is one part. `partial`: floats for the sum of squares.
    template <class X>
    CATENA_FN void make(X& x, const matvec_args& a, const float* row, std::byte* to,
                        float* partial) {
        const int first = due_, next = first + part;
        if (gated(a)) {
            make_gated<P>(x, a, row, to, weight_.of[0]);
            due_ = -1;
            return x.sync();
        }
        quantize_part(x, a, to, first);
        due_ = next < a.k ? next : -1;
        if (due_ < 0 && a.norm_weight != nullptr) {  // threads meet for the sum
            factor_ = over_rms(block_sum<P>(x, squares_, partial), a.k, a.eps);
            return;
        }
        ask_for_values(x, a, row, next);
        load_weight<P>(x, a, next, weight_);
        x.sync();
    }

  private:
    quads_ahead<P> v_, weight_;
    int due_;
    real squares_, factor_;

    CATENA_FN static bool gated(const matvec_args& a) { return gates(P) && a.gate.data != nullptr; }

    template <class X>
    CATENA_FN void ask_for_values(X& x, const matvec_args& a, const float* row, int first) {
        CATENA_UNROLL
        for (int i = 0; i < quads; ++i)
            load_quad<true>(x, row, first + x.thread() * quad + i * stride, a.k, v_.of[i]);
    }

    template <class X>
    CATENA_FN void quantize_part(X& x, const matvec_args& a, std::byte* to, int first) {
        CATENA_UNROLL
        for (int i = 0; i < quads; ++i) {
            real(&v)[quad] = v_.of[i];
            CATENA_UNROLL
            for (int e = 0; e < quad; ++e) {
                squares_ = fma(v[e], v[e], squares_);
                v[e] = v[e] * weight_.of[i][e];
            }
            share_quad(x, a, to, first + x.thread() * quad + i * stride, v);
        }
    }
};

/// Makes every column of `u`, f32 rows, at `to`, and its factor. `maker` has asked for the weight
/// of the first part. All threads; a barrier must follow.
template <matvec_policy P, class X>
CATENA_FN void make_columns(X& x, const matvec_args& a, const matvec_columns& u, std::byte* to,
                            const norm_share& share, column_maker<P>& maker) {
    if constexpr (P.product == inner_product::fma) {
        make_floats(x, a, u, to, share, maker.weight());
    } else {
        CATENA_NO_UNROLL
        for (int c = 0; c < u.count; ++c) {
            const float* const row = row_of(u, c);
            if (c > 0) maker.ask_for_weight(x, a);
            maker.begin(x, a, row);
            CATENA_NO_UNROLL
            while (maker.due() >= 0)
                maker.make(x, a, row, to + c * shared_column_bytes(P.product, a.k), share.partial);
            if (x.thread() == 0) x.store(share.factor + c, maker.factor());
            x.sync();  // the next column's sum takes the same place
        }
    }
}

/// Writes a part of the norm of a column for those who read it besides: a quad of each thread. The
/// bits are those of a row step with as many threads. All threads of a block, which has nothing
/// else to do; `partial`: a float per warp.
template <matvec_policy P, class X>
CATENA_FN void write_norm(X& x, const matvec_args& a, int block, float* partial) {
    constexpr int stride = P.threads * quad, ahead = written_quads_ahead;
    const int parts = blocks_that_write(P, a.k), column = quotient(block, parts);
    const int own = (block - column * parts) * stride + x.thread() * quad;
    real weight[quad], v[quad];
    load_quad<true>(x, a.norm_weight, own, a.k, weight);
    x.grid_wait();
    const auto* const row = reinterpret_cast<const float*>(static_cast<const std::byte*>(a.x) +
                                                           distance(column, a.x_bytes));
    load_quad<true>(x, row, own, a.k, v);
    real squares{0};
    CATENA_NO_UNROLL
    for (int at = x.thread() * quad; at < a.k; at += ahead * stride) {
        real some[ahead][quad];
        CATENA_UNROLL
        for (int i = 0; i < ahead; ++i) load_quad<true>(x, row, at + i * stride, a.k, some[i]);
        CATENA_UNROLL
        for (const auto& four : some)
            for (const real one : four) squares = fma(one, one, squares);
    }
    const real scale = over_rms(block_sum<P>(x, squares, partial), a.k, a.eps);
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) v[i] = own < a.k ? v[i] * scale * weight[i] : real{0};
    if (a.norm_f32 != nullptr) store_quad<true>(x, a.norm_f32 + distance(column, a.k), own, a.k, v);
    if (a.norm_q8_1 == nullptr) return;
    const int row_bytes = padded_q8_1_bytes(static_cast<unsigned>(a.k));
    std::byte* const to = static_cast<std::byte*>(a.norm_q8_1) + distance(column, row_bytes);
    const int place = own / 32 * q8_1_bytes;
    const quantized_quad z = quantize(x, v);
    if (place < row_bytes) store_share(x, place_of_q8_1(to + place), z.d_bits(), z.q);
}

}  // namespace CATENA_NAMESPACE::kernel
