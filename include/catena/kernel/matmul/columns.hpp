// What a product needs of an activation's columns besides their int8: scales, and for weights with
// a minimum the sums. q8_1_mmq_ds4 has the sums of whole groups; others are added by tensor cores.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/format/q8_1_mmq.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/unpack.hpp"

#include <cstddef>

namespace CATENA_NAMESPACE::kernel {

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

/// The scale in a word of a block's header.
template <format L>
CATENA_FN real scale_in(unsigned word) {
    return from_bits(L == format::q8_1_mmq_ds4 ? word & ~ds4_sum_mask : word);
}

/// The sum of int8 in a word of q8_1_mmq_ds4, in two's complement.
CATENA_FN real sum_in(unsigned word) {
    constexpr int sign = (ds4_sum_mask + 1) / 2;
    return exact_sum((static_cast<int>(word & ds4_sum_mask) ^ sign) + (sum_zero - sign));
}

/// The pair whose first block is at `p`; b: the lane's fragment of the mma. The whole warp calls.
template <format L, int Scales, bool Mins, class X>
CATENA_FN column_pair<Scales, Mins> load_columns(X& x, const std::byte* p, int part,
                                                 const unsigned (&b)[2]) {
    column_pair<Scales, Mins> c;
    unsigned word[2];
    for (int i = 0; i < 2; ++i) {
        word[i] = load_as<unsigned>(x, p + i * mmq_bytes + 4 * part);
        c.d[i] = scale_in<L>(word[i]);
    }
    if constexpr (Mins && L == format::q8_1_mmq_ds4) {
        static_assert(Scales == 1, "a sum belongs to a whole group");
        for (int i = 0; i < 2; ++i) c.sum[0][i] = sum_in(word[i]) * c.d[i];
    } else if constexpr (Mins) {
        CATENA_UNROLL
        for (int half = 0; half < Scales; ++half) {
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

}  // namespace CATENA_NAMESPACE::kernel
