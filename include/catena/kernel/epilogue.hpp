// What a matvec does with a finished dot product before it is written: times scale, plus bias,
// gated by its neighbour, plus residual, as f32 and as q8_1. Every part is a switch of the member,
// equal in all threads of a block; each lane finishes one result.
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

/// What one block works on.
struct matvec_block {
    const matvec_member* member;
    const std::byte* x;    ///< first activation row
    std::int64_t x_bytes;  ///< from one column's row to the next
    int columns;
    int first_row, end_row;  ///< of the member: the band
    float* finished;  ///< [columns][rows of the band], shared, for what is quantized; else null
};

/// Where the first column of a block stands among the columns of its launch. Asked for anew when a
/// result is finished: nothing of it stays in registers while the dot stages work.
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

/// The results of one group of `Rows` weight rows: lane c * Rows + r has the dot product `v` of row
/// r and column c. Of a GLU, even rows are the gate's, odd ones the value's.
template <int Rows, class X>
CATENA_FN void finish(X& x, const matvec_args& a, const matvec_block& b, int first_row, real v) {
    const matvec_member& m = *b.member;
    const matvec_column first = matvec_column::of(x, a);
    const int c = x.lane() / Rows, r = x.lane() % Rows;
    const bool pairs = Rows % 2 == 0 && m.up != nullptr;
    const bool value = pairs && r % 2 != 0;
    const int row = first_row + (pairs ? r / 2 : r);
    const bool inside = c < b.columns && row < b.end_row;

    if (!value) v = v * real{m.scale};
    const float* bias = value ? m.up_bias : m.bias;
    if (bias != nullptr && inside)
        v = v + x.load(row_of(bias, first.expert(x, a) * m.bias_nb1, row));
    if (pairs) v = gated(m.function, v, x.shuffle_xor(v, 1), real{m.alpha}, real{m.limit});
    if (!inside || value) return;
    const int slot = first.slot + c;
    if (m.residual != nullptr)
        v = v +
            x.load(row_of(m.residual, slot * m.residual_nb1 + first.token * m.residual_nb2, row));
    if (m.dst != nullptr)
        x.store(row_of(m.dst, slot * m.dst_nb1 + first.token * m.dst_nb2, row), v);
    if (m.q8_1 != nullptr)
        x.store(b.finished + c * (b.end_row - b.first_row) + row - b.first_row, v);
}

/// There is no such expert: a NaN is not overlooked.
template <class X>
CATENA_FN void finish_without(X& x, const matvec_args& a, const matvec_block& b) {
    const matvec_member& m = *b.member;
    const matvec_column first = matvec_column::of(x, a);
    const real nan = from_bits(f32_nan_bits);
    float* dst = m.dst == nullptr
                     ? nullptr
                     : row_of(m.dst, first.slot * m.dst_nb1 + first.token * m.dst_nb2, 0);
    for (int row = b.first_row + x.thread(); row < b.end_row; row += x.threads()) {
        if (dst != nullptr) x.store(dst + row, nan);
        if (m.q8_1 != nullptr) x.store(b.finished + row - b.first_row, nan);
    }
}

/// Quantizes the results of a band, whose rows are a multiple of 32; the band with a column's last
/// row adds the padding.
template <class X>
CATENA_FN void quantize_band(X& x, const matvec_args& a, const matvec_block& b) {
    const matvec_member& m = *b.member;
    const matvec_column column = matvec_column::of(x, a);
    const int rows = b.end_row - b.first_row;
    const std::int64_t column_bytes = q8_1_row_bytes(m.rows);
    std::byte* to =
        static_cast<std::byte*>(m.q8_1) + (column.token * a.slots + column.slot) * column_bytes;
    x.sync();
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
    for (int c = 0; c < b.columns; ++c)
        for (int i = x.thread() * 4; i < padding; i += x.threads() * 4)
            x.store(reinterpret_cast<unsigned*>(to + c * column_bytes + used + i), 0u);
}

}  // namespace catena::kernel
