// What a product needs of an activation's columns besides their int8: scales, and for weights with
// a minimum the sums. Layouts that carry sums are read, of the others tensor cores add the int8.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/half.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/unpack.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

/// A lane's two columns of an mma in one group. `sum` belongs to whole groups, or to each half.
template <int Scales, bool Mins>
struct column_pair {
    real d[2];
    real sum[Scales][2];
};
template <int Scales>
struct column_pair<Scales, false> {
    real d[2];
};

/// Scale of part `part` (32 values) of the block at `p`.
template <format L, class X>
CATENA_FN real column_scale(X& x, const std::byte* p, int part) {
    if constexpr (L == format::q8_1_mmq_d4)
        return x.load(reinterpret_cast<const float*>(p) + part);
    else if constexpr (L == format::q8_1_mmq_ds4)
        return load_half(x, p + 4 * part);
    else
        return load_half(x, p + part / 2 * 2);
}

/// Does the header hold the sum, and where? Of 32 values (ds4), or of each half (d2s6: of the first
/// three parts).
template <format L, int Scales>
CATENA_FN int sum_offset(int part, int half) {
    if constexpr (L == format::q8_1_mmq_ds4 && Scales == 1) return 4 * part + 2;
    if constexpr (L == format::q8_1_mmq_d2s6 && Scales == 2)
        return part < 3 ? 4 + 4 * part + 2 * half : -1;
    return -1;
}

/// The pair whose first block is at `p`; b: the lane's fragment of the mma. The whole warp calls.
template <format L, int Scales, bool Mins, class X>
CATENA_FN column_pair<Scales, Mins> load_columns(X& x, const std::byte* p, int part,
                                                 const unsigned (&b)[2]) {
    column_pair<Scales, Mins> c;
    for (int i = 0; i < 2; ++i) c.d[i] = column_scale<L>(x, p + i * mmq_bytes, part);
    if constexpr (Mins) {
        CATENA_UNROLL
        for (int half = 0; half < Scales; ++half) {
            const int at = sum_offset<L, Scales>(part, half);
            if (at >= 0) {
                for (int i = 0; i < 2; ++i) c.sum[half][i] = load_half(x, p + i * mmq_bytes + at);
                continue;
            }
            int total[4] = {sum_zero, sum_zero, sum_zero, sum_zero};
            constexpr unsigned ones = 0x01010101u;
            if constexpr (Scales == 1) {
                const unsigned a[4] = {ones, ones, ones, ones};
                x.mma(total, a, b);
            } else {
                const unsigned a[2] = {ones, ones};
                x.mma(total, a, b[half]);
            }
            for (int i = 0; i < 2; ++i) c.sum[half][i] = exact_sum(total[i]) * c.d[i];
        }
    }
    return c;
}

}  // namespace catena::kernel
