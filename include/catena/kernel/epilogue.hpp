// What a matvec does with a finished dot product before it is written: times scale, plus bias,
// gated by its neighbour, plus residual, as f32 and as q8_1. Every part is a switch of the member,
// equal in all threads of a block. All this happens once for a result, so it is called.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/half.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/gate.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/quantize.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace catena::kernel {

/// The results of one block.
struct matvec_band {
    const matvec_member* member;
    int columns;
    int first_row, end_row;  ///< of the member
    float* finished;  ///< [columns][rows of the band], shared, for what is quantized; else null
};

/// Where the first column of a block stands among the columns of its launch. Asked for anew when a
/// result is finished: nothing of it stays in registers while the weights stream.
struct matvec_column {
    int token = 0, slot = 0;  ///< dense: 0

    template <class X>
    CATENA_FN static matvec_column of(X& x, const matvec_args& a) {
        if (a.ids == nullptr) return {};
        const int column = x.block() / a.bands;
        return {column / a.slots, column % a.slots};
    }
    /// The matrix that the ids pick; dense: 0.
    template <class X>
    CATENA_FN int expert(X& x, const matvec_args& a) const {
        if (a.ids == nullptr) return 0;
        const auto* ids = reinterpret_cast<const std::byte*>(a.ids) + token * a.ids_nb1;
        return x.load(reinterpret_cast<const std::int32_t*>(ids) + slot);
    }
};

/// `tensor` + `bytes`, at element `row`.
template <class T>
CATENA_FN T* row_of(T* tensor, std::int64_t bytes, int row) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(tensor) + bytes) + row;
}

/// An executor as a call takes it: one that is a value is not given an address.
template <class X>
using by_call = std::conditional_t<std::is_copy_constructible_v<X>, X, X&>;

/// One result: the product `v` of a row and a column of the band; of a GLU `v` is the gate's, `up`
/// the value's.
template <class X>
CATENA_CALL void finish(by_call<X> x, const matvec_args& a, matvec_band b, int row, int column,
                        real v, real up) {
    const matvec_member& m = *b.member;
    const matvec_column first = matvec_column::of(x, a);
    v = v * real{m.scale};
    if (m.bias != nullptr) {
        const std::int64_t bias = first.expert(x, a) * m.bias_nb1;
        v = v + x.load(row_of(m.bias, bias, row));
        if (m.up_bias != nullptr) up = up + x.load(row_of(m.up_bias, bias, row));
    }
    if (m.up != nullptr) v = gated(m.function, v, up, real{m.alpha}, real{m.limit});
    const int slot = first.slot + column;
    if (m.residual != nullptr)
        v = v +
            x.load(row_of(m.residual, slot * m.residual_nb1 + first.token * m.residual_nb2, row));
    if (m.dst != nullptr)
        x.store(row_of(m.dst, slot * m.dst_nb1 + first.token * m.dst_nb2, row), v);
    if (m.q8_1 != nullptr)
        x.store(b.finished + column * (b.end_row - b.first_row) + row - b.first_row, v);
}

/// There is no such expert: a NaN is not overlooked.
template <class X>
CATENA_CALL void finish_without(by_call<X> x, const matvec_args& a, matvec_band b) {
    const matvec_member& m = *b.member;
    const matvec_column first = matvec_column::of(x, a);
    const real nan = from_bits(f32_nan_bits);
    float* dst = m.dst == nullptr
                     ? nullptr
                     : row_of(m.dst, first.slot * m.dst_nb1 + first.token * m.dst_nb2, 0);
    CATENA_NO_UNROLL
    for (int row = b.first_row + x.thread(); row < b.end_row; row += x.threads()) {
        if (dst != nullptr) x.store(dst + row, nan);
        if (m.q8_1 != nullptr) x.store(b.finished + row - b.first_row, nan);
    }
}

/// Quantizes the results of a band, whose rows are a multiple of 32; the band with a column's last
/// row adds the padding.
template <class X>
CATENA_CALL void quantize_band(by_call<X> x, const matvec_args& a, matvec_band b) {
    const matvec_member& m = *b.member;
    const matvec_column column = matvec_column::of(x, a);
    const int rows = b.end_row - b.first_row;
    const std::int64_t column_bytes = q8_1_row_bytes(m.rows);
    std::byte* to =
        static_cast<std::byte*>(m.q8_1) + (column.token * a.slots + column.slot) * column_bytes;
    x.sync();
    CATENA_NO_UNROLL
    for (int first = 0; first < b.columns * rows; first += x.threads() * quad) {  // whole warps
        const int at = first + x.thread() * quad;
        const bool inside = at < b.columns * rows;
        const auto word = x.load16(b.finished + (inside ? at : 0));
        const real v[quad] = {from_bits(word.x), from_bits(word.y), from_bits(word.z),
                              from_bits(word.w)};
        const quantized_quad z = quantize(x, v);
        const int block = (b.first_row + at % rows) / 32;
        std::byte* block_at = to + at / rows * column_bytes + block * q8_1_bytes;
        if (inside) store_share(x, place_of_q8_1(block_at), z.ds, z.q);
    }
    if (b.end_row != m.rows) return;
    const int used = m.rows / 32 * q8_1_bytes, padding = static_cast<int>(column_bytes) - used;
    CATENA_NO_UNROLL
    for (int c = 0; c < b.columns; ++c)
        for (int i = x.thread() * 4; i < padding; i += x.threads() * 4)
            x.store(reinterpret_cast<unsigned*>(to + c * column_bytes + used + i), 0u);
}

}  // namespace catena::kernel
