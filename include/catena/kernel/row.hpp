// The row skeleton: one block per row of k floats. Makes a value of x (x + residual, its norm, or x
// gated by another row), scales it by a weight, and writes it in any set of formats in one pass. x
// is read once, into registers; only the norm of a policy with values == 0 reads it again, and so
// takes any k.
//
// Thread t owns elements 4 * (j * threads + t) .. + 3 for j = 0, 1, ...: 32 quantized values belong
// to 8 neighbouring threads, and the order of additions depends on the number of threads alone.
// Every element is read before the thread that read it writes it: an output may lie exactly over x,
// residual or gate.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/activation.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/gate.hpp"
#include "catena/kernel/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace catena::kernel {

struct row_place {
    std::int64_t i1, i2, i3;
};

CATENA_FN row_place place_of(const row_args& a, int row) {
    const int rest = row / a.n1;
    return {row % a.n1, rest % a.n2, rest / a.n2};
}

template <class T>
CATENA_FN T* row_at(T* tensor, const row_strides& nb, const row_place& p) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(tensor) + p.i1 * nb.nb1 + p.i2 * nb.nb2 +
                                p.i3 * nb.nb3);
}

/// Four elements from `at`; those past k are zero.
template <bool Vector, class X>
CATENA_FN void load_quad(X& x, const float* row, int at, int k, real (&to)[quad]) {
    if constexpr (Vector) {
        if (at < k) {
            const auto word = x.load16(row + at);
            to[0] = from_bits(word.x);
            to[1] = from_bits(word.y);
            to[2] = from_bits(word.z);
            to[3] = from_bits(word.w);
            return;
        }
    }
    CATENA_UNROLL
    for (int i = 0; i < quad; ++i) to[i] = !Vector && at + i < k ? x.load(row + at + i) : real{0};
}

template <bool Vector, class X>
CATENA_FN void store_quad(X& x, float* row, int at, int k, const real (&v)[quad]) {
    if constexpr (Vector) {
        if (at < k)
            x.store16(row + at, {bits_of(v[0]), bits_of(v[1]), bits_of(v[2]), bits_of(v[3])});
    } else {
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i)
            if (at + i < k) x.store(row + at + i, v[i]);
    }
}

/// The same for the 16-bit formats.
template <bool Vector, class X>
CATENA_FN void store_quad(X& x, std::uint16_t* row, int at, int k, const std::uint16_t (&v)[quad]) {
    if constexpr (Vector) {
        std::uint64_t word = 0;
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) word |= std::uint64_t{v[i]} << (16 * i);
        if (at < k) x.store(reinterpret_cast<std::uint64_t*>(row + at), word);
    } else {
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i)
            if (at + i < k) x.store(row + at + i, v[i]);
    }
}

/// The sum of every thread's `value`: a tree in each warp, then the warps in their order. `partial`
/// holds a float per warp.
template <policy P, class X>
CATENA_FN real block_sum(X& x, real value, float* partial) {
    CATENA_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2) value = value + x.shuffle_xor(value, mask);
    if (x.lane() == 0) x.store(partial + x.warp(), value);
    x.sync();
    value = x.load(partial);
    CATENA_UNROLL
    for (int w = 1; w < P.threads / warp_size; ++w) value = value + x.load(partial + w);
    return value;
}

/// The body. Grid: one block per row. Shared memory as kernel/layout.hpp says. `a` follows
/// args.hpp; with values > 0, k <= threads * values; with vector, k is a multiple of 4 and every
/// row of 16 bytes (f16, bf16: of 8).
template <class X, policy P, value_kind N>
CATENA_FN void row_body(X& x, const row_args& a) {
    static_assert(P.threads % warp_size == 0 && P.threads > 0, "threads come in whole warps");
    static_assert(P.values % quad == 0 && P.values >= 0, "a thread owns whole quads");
    constexpr bool kept = P.values > 0;
    constexpr int held = kept ? P.values / quad : 1;  // quads in registers

    x.grid_trigger();
    float* partial = x.template shared<float>(P.threads / warp_size);
    const row_place place = place_of(a, x.block());
    const float* from = row_at(a.x, a.x_at, place);
    const bool joined = N == value_kind::glu || a.residual != nullptr;
    const float* second = !joined                ? nullptr
                          : N == value_kind::glu ? row_at(a.gate, a.gate_at, place)
                                                 : row_at(a.residual, a.residual_at, place);
    const int mine = x.thread() * quad;
    constexpr int stride = P.threads * quad;

    real value[held][quad], weight[held][quad];
    const auto load_weights = [&] {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            load_quad<P.vector>(x, a.weight, mine + j * stride, a.k, weight[j]);
    };
    const auto join = [&](real(&v)[quad], const real(&other)[quad]) {
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i)
            if constexpr (N == value_kind::glu)
                v[i] = gated(a.function, other[i], v[i], real{a.alpha}, real{a.limit});
            else
                v[i] = v[i] + other[i];
    };
    const auto load_values = [&](int at, real(&v)[quad]) {  // not kept
        load_quad<P.vector>(x, from, at, a.k, v);
        if (!joined) return;
        real other[quad];
        load_quad<P.vector>(x, second, at, a.k, other);
        join(v, other);
    };

    const bool weight_early = kept && a.weight_early && a.weight != nullptr;
    if (weight_early) load_weights();
    x.grid_wait();
    if constexpr (kept) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j)
            load_quad<P.vector>(x, from, mine + j * stride, a.k, value[j]);
        if (!weight_early && a.weight != nullptr) load_weights();
        if (joined) {  // all loads are in flight before the first addition
            real other[held][quad];
            CATENA_UNROLL
            for (int j = 0; j < held; ++j)
                load_quad<P.vector>(x, second, mine + j * stride, a.k, other[j]);
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) join(value[j], other[j]);
        }
    }

    real scale{1};
    if constexpr (N == value_kind::rms_norm) {
        real squares{0};
        const auto add = [&](const real(&v)[quad]) {
            CATENA_UNROLL
            for (int i = 0; i < quad; ++i) squares = fma(v[i], v[i], squares);
        };
        if constexpr (kept) {
            CATENA_UNROLL
            for (int j = 0; j < held; ++j) add(value[j]);
        } else {
            for (int at = mine; at < a.k; at += stride) {
                real v[quad];
                load_values(at, v);
                add(v);
            }
        }
        squares = block_sum<P>(x, squares, partial);
        scale = real{1} / sqrt(squares / from_int(a.k) + real{a.eps});
    }

    const auto store_16 = [&](void* to, const row_strides& nb, int at, const real(&v)[quad],
                              auto narrow) {
        std::uint16_t bits[quad];
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) bits[i] = narrow(v[i]);
        store_quad<P.vector>(x, row_at(static_cast<std::uint16_t*>(to), nb, place), at, a.k, bits);
    };
    const bool quantized =
        a.q8_1 != nullptr || a.q8_1_mmq_d4 != nullptr || a.q8_1_mmq_ds4 != nullptr;
    const activation_rows rows = quantized ? activation_rows::of(a, x.block()) : activation_rows{};
    const auto finish = [&](int at, real(&v)[quad], const real(&w)[quad]) {
        if (a.sum != nullptr) store_quad<P.vector>(x, row_at(a.sum, a.sum_at, place), at, a.k, v);
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) {
            if constexpr (N == value_kind::rms_norm) v[i] = v[i] * scale;
            if (a.weight != nullptr) v[i] = v[i] * w[i];
        }
        if (a.f32 != nullptr) store_quad<P.vector>(x, row_at(a.f32, a.f32_at, place), at, a.k, v);
        if (a.f16 != nullptr) store_16(a.f16, a.f16_at, at, v, [](real r) { return to_half(r); });
        if (a.bf16 != nullptr)
            store_16(a.bf16, a.bf16_at, at, v, [](real r) { return to_bfloat16(r); });
        if (quantized) {
            const quantized_quad z = quantize(x, v);
            if (at < a.k) rows.store(x, a, at / 32, z);
        }
    };

    if constexpr (kept) {
        CATENA_UNROLL
        for (int j = 0; j < held; ++j) finish(mine + j * stride, value[j], weight[j]);
    } else {
        for (int first = 0; first < a.k; first += stride) {  // whole warps: quantizing shuffles
            const int at = first + mine;
            real v[quad], w[quad] = {};
            load_values(at, v);
            if (a.weight != nullptr) load_quad<P.vector>(x, a.weight, at, a.k, w);
            finish(at, v, w);
        }
    }
    if (quantized) rows.store_padding(x, a);
}

}  // namespace catena::kernel
