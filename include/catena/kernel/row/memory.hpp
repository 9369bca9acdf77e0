// The memory of a row: where it starts in a tensor, and four neighboring elements of it at a time.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/args.hpp"
#include "catena/kernel/distance.hpp"
#include "catena/kernel/quantize.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace CATENA_NAMESPACE::kernel {

struct row_place {
    std::int32_t i1, i2, i3;
};

CATENA_FN row_place place_of(const row_args& a, int row) {
    if (row < a.n1) return {row, 0, 0};
    const int rest = quotient(row, a.n1), i3 = quotient(rest, a.n2);
    return {row - rest * a.n1, rest - i3 * a.n2, i3};
}

template <class T>
CATENA_FN T* row_at(T* tensor, const row_strides& nb, const row_place& p) {
    using byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    return reinterpret_cast<T*>(reinterpret_cast<byte*>(tensor) + distance(p.i1, nb.nb1) +
                                distance(p.i2, nb.nb2) + distance(p.i3, nb.nb3));
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

/// Stores a quad in a 16-bit format; `narrow` makes its bits.
template <bool Vector, class X, class Narrow>
CATENA_FN void store_quad(X& x, std::uint16_t* row, int at, int k, const real (&v)[quad],
                          Narrow narrow) {
    if constexpr (Vector) {
        std::uint64_t word = 0;
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i) word |= std::uint64_t{narrow(v[i])} << (16 * i);
        if (at < k) x.store(reinterpret_cast<std::uint64_t*>(row + at), word);
    } else {
        CATENA_UNROLL
        for (int i = 0; i < quad; ++i)
            if (at + i < k) x.store(row + at + i, narrow(v[i]));
    }
}

}  // namespace CATENA_NAMESPACE::kernel
