// The epilogue of a matvec. A finished dot product is multiplied with scale and factor, gets a
// bias, passes a GLU or a function, is added to the results of the token's other slots, and gets a
// residual. It is then written as f32 and as q8_1. The arguments of the member switch each part on;
// those of the launch switch the sum over slots on. All threads of a block see the same switches,
// and the code of the epilogue is in a kernel once.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/half.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/distance.hpp"
#include "catena/kernel/epilogue_parts.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/quantize.hpp"
#include "catena/kernel/reduce.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

/// The results of one block: of its band, or of its share where the blocks of a cluster have one.
struct matvec_band {
    const matvec_member* member = nullptr;
    int columns = 0;
    int first_row = 0, end_row = 0;  ///< rows of the member's result
    int token = 0, slot = 0;         ///< token and slot of the first column; dense: 0, but for the
                                     ///< token beside experts
    int slots = 1;                   ///< slots whose results are added up
    int picked = 0;  ///< number of the matrix; dense: 0; -1: no such expert; combined: the matrix
                     ///< of the slot that has the lane's number
    int expert = 0;  ///< matrix, as picked, of the slot whose results are finished
    real weight{0};  ///< combined: weight of the lane's slot
    float* finished = nullptr;  ///< [columns or slots][matvec_args::finished], shared: results of
                                ///< the block that are added up or quantized later
    const head_member* head = nullptr;  ///< the policy turns: what the results are as heads
};

/// The number of the matrix that the ids pick, or the token's number. There may be no such matrix.
template <class X>
CATENA_FN int expert_of(X& x, const matvec_args& a, const matvec_band& b, int slot) {
    if (a.ids == nullptr) return b.token;
    const auto* ids = reinterpret_cast<const std::byte*>(a.ids) + distance(b.token, a.ids_nb1);
    return x.load(reinterpret_cast<const std::int32_t*>(ids) + slot);
}

/// The distance from the first operand to that of a column: each expert or each dense column has
/// one. The expert is loaded again, because keeping it would cost registers in all loops. A block
/// that routes has found the expert itself, so it does not read ids.
template <bool Routes, class X>
CATENA_FN std::int64_t to_operand(X& x, const matvec_args& a, const matvec_band& b, int column,
                                  int slot, std::int64_t step) {
    if (b.member->experts == 0) return distance(b.token + column, step);
    if constexpr (Routes)
        return distance(b.expert > 0 ? b.expert : 0, step);
    else
        return distance(b.expert > 0 ? expert_of(x, a, b, b.slot + slot) : 0, step);
}

/// The weight of a slot's results.
template <class X>
CATENA_FN real weight_of(X& x, const matvec_args& a, const matvec_band& b, int slot) {
    if (a.slot_weights == nullptr) return real{1};
    return x.load(a.slot_weights + b.token * a.slots + slot);
}

/// `tensor` + `bytes`, at element `row`.
template <class T>
CATENA_FN T* row_of(T* tensor, std::int64_t bytes, int row) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(tensor) + bytes) + row;
}

/// Bytes from a tensor's first column to a column of the band.
CATENA_FN std::int64_t column_at(const matvec_band& b, int column, std::int64_t nb1,
                                 std::int64_t nb2) {
    return distance(b.slot + column, nb1) + distance(b.token, nb2);
}

/// The terms that the epilogue adds to a result. A missing term is -0, which changes no number.
struct asked_operands {
    real bias{-0.0f}, up_bias{-0.0f}, residual{-0.0f};
};

template <class X>
CATENA_FN real residual_of(X& x, const matvec_band& b, int row, int column) {
    const matvec_member& m = *b.member;
    if (m.residual == nullptr) return real{-0.0f};
    return x.load(row_of(m.residual, column_at(b, column, m.residual_nb1, m.residual_nb2), row));
}

/// Loads the terms of one result, all of them in flight at once. If there is no such expert, the
/// bias is NaN, and so is the result: that cannot be overlooked.
template <bool Pairs, bool Combines, bool Routes, class X>
CATENA_FN asked_operands ask(X& x, const matvec_args& a, const matvec_band& b, int row, int column,
                             int slot) {
    const matvec_member& m = *b.member;
    asked_operands asked;
    if (m.bias != nullptr) {
        const std::int64_t at = to_operand<Routes>(x, a, b, column, slot, m.bias_nb1);
        asked.bias = x.load(row_of(m.bias, at, row));
        if (Pairs && m.up_bias != nullptr) asked.up_bias = x.load(row_of(m.up_bias, at, row));
    }
    if (b.expert < 0) asked.bias = from_bits(f32_nan_bits);
    if (!(Combines && a.combined)) asked.residual = residual_of(x, b, row, column);
    return asked;
}

/// Writes a result where it is wanted.
template <class X>
CATENA_FN void write(X& x, const matvec_args& a, const matvec_band& b, int row, int column,
                     real v) {
    const matvec_member& m = *b.member;
    if (m.dst != nullptr)
        x.store(row_of(m.dst, column_at(b, column, m.dst_nb1, m.dst_nb2), row), v);
    if (m.q8_1 != nullptr) x.store(b.finished + column * a.finished + row - b.first_row, v);
}

/// One result: the product `v` of a row and a column of the band, or of one slot of those that are
/// added up, times `weight`; of a GLU `v` is the gate's, `up` the value's. `Twice`: this code is
/// there more than once in a kernel. `Pairs`: the policy takes the two matrices of a GLU.
template <bool Twice, bool Pairs, bool Combines, bool Routes, class X>
CATENA_FN void finish(X& x, const matvec_args& a, const matvec_band& b, int row, int column,
                      int slot, real weight, const asked_operands& asked, real v, real up) {
    const matvec_member& m = *b.member;
    v = v * real{m.scale};
    if (m.factor != nullptr) {
        const std::int64_t at = to_operand<Routes>(x, a, b, column, slot, m.factor_step);
        v = v * x.load(m.factor + at);
        if (Pairs && m.up_factor != nullptr) up = up * x.load(m.up_factor + at);
    }
    v = v + asked.bias;
    up = up + asked.up_bias;
    const bool pair = Pairs && m.up != nullptr;
    if (!pair) up = real{1};
    v = apply_functions<Twice>(x, m, pair, v, up);
    if (Combines && a.combined)
        x.store(b.finished + slot * a.finished + row - b.first_row, v * weight);
    else
        write(x, a, b, row, column, v + asked.residual);
}

/// Adds up the slots' results of the block's rows, which its warps have shared: each row by one
/// thread, in the order of the slots.
template <class X>
CATENA_FN void add_slots(X& x, const matvec_args& a, const matvec_band& b) {
    int row = b.first_row + x.thread();
    real residual{-0.0f};
    if (row < b.end_row) residual = residual_of(x, b, row, 0);  // on its way while others finish
    x.sync();
    CATENA_NO_UNROLL
    while (row < b.end_row) {
        const float* of_row = b.finished + row - b.first_row;
        real sum = x.load(of_row);
        CATENA_NO_UNROLL
        for (int slot = 1; slot < b.slots; ++slot) {
            of_row += a.finished;
            sum = sum + x.load(of_row);
        }
        write(x, a, b, row, 0, sum + residual);
        row += x.threads();
        if (row < b.end_row) residual = residual_of(x, b, row, 0);
    }
}

/// Rows of a band of so many that each block has, of a cluster of 1, 2, 4 or 8.
template <class X>
CATENA_FN int share_of_band(X& x, int rows) {
    const int blocks = x.cluster_blocks();
    return rows >> ((blocks >> 1) - (blocks >> 3));
}

/// Brings the results of a band's one column, one behind the other, to the first block of the
/// cluster that shares the band.
template <class X>
CATENA_FN void gather(X& x, const matvec_args& a, const matvec_band& b) {
    // The first block must run before the others store in it. Nothing is ordered here: until the
    // sync below it leaves the places alone where they store.
    x.cluster_meet();
    if (x.cluster_rank() != 0) {
        const int before = x.cluster_rank() * share_of_band(x, band_results(a, *b.member));
        CATENA_NO_UNROLL
        for (int i = x.thread(); i < b.end_row - b.first_row; i += x.threads())
            x.store_first(b.finished + before + i, x.load(b.finished + i));
    }
    x.cluster_sync();
}

/// Quantizes the results of a band, whose rows are a multiple of 32; the band with a column's last
/// row adds the padding. `Shares`: blocks of a cluster may have it together. `Begins`: what is
/// quantized may be a norm of the results, which begins here.
template <bool Shares, bool Begins, class X>
CATENA_FN void quantize_band(X& x, const matvec_args& a, const matvec_band& b) {
    const matvec_member& m = *b.member;
    int rows = b.end_row - b.first_row;
    const bool shared = Shares && x.cluster_blocks() > 1,
               first_block = !shared || x.cluster_rank() == 0;
    if (shared) {  // the cluster's first block quantizes the whole band
        const int whole = band_results(a, m), left = m.rows - b.first_row;
        rows = left < whole ? left : whole;
    }
    const int column_bytes = padded_q8_1_bytes(static_cast<unsigned>(m.rows));
    const bool of_slot = m.experts > 0 && !a.combined;
    const int column = of_slot ? b.token * a.slots + b.slot : b.token;
    std::byte* to = static_cast<std::byte*>(m.q8_1) + distance(column, column_bytes);
    const int padding = column_bytes - static_cast<int>(m.rows / 32u * q8_1_bytes);
    const bool begins = Begins && m.begun_weight != nullptr;
    real weight{1};  // of the lane's row: on its way while others finish
    const auto weight_of_row = [&](int first) {
        if (first < rows) weight = x.load(m.begun_weight + b.first_row + first + x.lane());
    };
    if (begins && first_block) weight_of_row(x.warp() * warp_size);
    x.sync();
    if (shared) gather(x, a, b);
    if (!first_block) return;
    CATENA_NO_UNROLL
    for (int c = 0; c < b.columns; ++c, to += column_bytes) {
        CATENA_NO_UNROLL
        for (int first = x.warp() * warp_size; first < rows; first += x.threads()) {
            real v = x.load(b.finished + c * a.finished + first + x.lane());
            if (begins) {
                const real squares = warp_sum(x, v * v);
                if (x.lane() == 0)
                    x.store(m.begun_squares + ((column + c) * m.rows + b.first_row + first) / 32u,
                            squares);
                if (rows > x.threads()) weight_of_row(first);
                v = v * weight;
            }
            const quantized_value z = quantize(x, v);
            const block_place place = place_of_q8_1(to + (b.first_row + first) / 32u * q8_1_bytes);
            if (x.lane() == 0) x.store(reinterpret_cast<float*>(place.scales), z.d);
            x.store(reinterpret_cast<std::int8_t*>(place.values + x.lane()), z.q);
        }
        if (b.first_row + rows != m.rows) continue;
        CATENA_NO_UNROLL
        for (int i = x.thread() * 4; i < padding; i += x.threads() * 4)
            x.store(reinterpret_cast<unsigned*>(to + column_bytes - padding + i), 0u);
    }
}

}  // namespace CATENA_NAMESPACE::kernel
