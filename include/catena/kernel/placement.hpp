// The activation made inside the matvec that reads it: each block makes the whole rows for itself, so
// that norm, quantizing and matrices are one launch.
//
//   prologue   rms_norm(x) * weight is quantized, as a row step does it
//   deferred   x * weight is quantized in the one pass that also sums the squares; what lacks,
//              1 / rms, is a factor of the finished products
//
// Without a weight x is quantized as it is.
//
// A block of 32 is q8_1's, with an f32 d in place of d and s: without its norm a row may be of any
// size, and a half would lose small ones and overflow on large ones.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/kernel/product.hpp"
#include "catena/kernel/quantize.hpp"
#include "catena/kernel/row.hpp"

#include <cstddef>
#include <cstdint>

namespace catena::kernel {

/// What stands behind the columns in shared memory.
struct norm_share {
    float* partial;  ///< a float per warp
    float* factor;   ///< a float per column, deferred
};

template <policy P>
CATENA_FN norm_share shared_norm(std::byte* shared_x, int columns, int k) {
    std::byte* at = shared_x + columns * shared_column_bytes(k);
    return {reinterpret_cast<float*>(at),
            reinterpret_cast<float*>(at + round_up(P.threads / warp_size * 4, 16))};
}

/// Makes every column of `u`, f32 rows, blocks at `to`. All threads; a barrier must follow.
template <policy P, class X>
CATENA_FN void make_activation(X& x, const matvec_args& a, const matvec_columns& u, std::byte* to,
                         const norm_share& share) {
    constexpr int stride = P.threads * quad;
    constexpr bool deferred = P.placement == norm_placement::deferred;
    const bool norm = a.norm_weight != nullptr;
    const auto each_quad = [&](const float* row, auto&& take) {
        CATENA_NO_UNROLL
        for (int first = 0; first < a.k; first += norm_quads_ahead * stride) {  // whole warps: they
            const int at = first + x.thread() * quad;                            // shuffle
            real v[norm_quads_ahead][quad], w[norm_quads_ahead][quad];
            CATENA_UNROLL
            for (int i = 0; i < norm_quads_ahead; ++i) {
                load_quad<true>(x, row, at + i * stride, a.k, v[i]);
                for (real& one : w[i]) one = real{1};
                if (norm) load_quad<true>(x, a.norm_weight, at + i * stride, a.k, w[i]);
            }
            CATENA_UNROLL
            for (int i = 0; i < norm_quads_ahead; ++i) take(at + i * stride, v[i], w[i]);
        }
    };
    const auto write = [&](std::byte* row, int at, const real(&v)[quad]) {
        const quantized_quad z = quantize(x, v);
        if (at < a.k) store_share(x, place_of_q8_1(row + at / 32 * q8_1_bytes), z.d_bits(), z.q);
    };
    CATENA_NO_UNROLL
    for (int c = 0; c < u.count; ++c) {
        const auto* row = reinterpret_cast<const float*>(u.x + c * u.x_bytes);
        std::byte* out = to + c * shared_column_bytes(a.k);
        real squares{0};
        each_quad(row, [&](int at, real(&v)[quad], const real(&w)[quad]) {
            CATENA_UNROLL
            for (int i = 0; i < quad; ++i) {
                squares = fma(v[i], v[i], squares);
                v[i] = v[i] * w[i];
            }
            if constexpr (deferred) write(out, at, v);
        });
        real scale{1};
        if (norm) {
            squares = block_sum<P>(x, squares, share.partial);
            scale = real{1} / sqrt(squares / from_int(a.k) + real{a.eps});
        }
        if constexpr (deferred) {
            if (x.thread() == 0) x.store(share.factor + c, scale);
        } else {
            each_quad(row, [&](int at, real(&v)[quad], const real(&w)[quad]) {
                CATENA_UNROLL
                for (int i = 0; i < quad; ++i) v[i] = v[i] * scale * w[i];
                write(out, at, v);
            });
        }
        x.sync();  // the next column's sum takes the same place
    }
}

}  // namespace catena::kernel
