// What the threads of a row make of a value that each of them has: a tree in each warp, then the
// warps in their order. Every thread gets the result, to the same bits.
#pragma once

#include "catena/exec/real.hpp"
#include "catena/kernel/layout.hpp"

namespace CATENA_NAMESPACE::kernel {

namespace detail {

CATENA_FN real as_real(real v) { return v; }
CATENA_FN real as_real(unsigned v) { return from_bits(v); }
CATENA_FN real as_real(int v) { return from_bits(static_cast<unsigned>(v)); }
CATENA_FN void put(real& to, real v) { to = v; }
CATENA_FN void put(unsigned& to, real v) { to = bits_of(v); }
CATENA_FN void put(int& to, real v) { to = static_cast<int>(bits_of(v)); }

}  // namespace detail

/// `Threads`: a warp, or a whole block, whose warps meet in `meeting`: a float each, of this call
/// alone.
template <int Threads, class X, class T, class Combine>
CATENA_FN T over_threads(X& x, T value, float* meeting, Combine combine) {
    CATENA_UNROLL
    for (int mask = warp_size / 2; mask > 0; mask /= 2)
        value = combine(value, x.shuffle_xor(value, mask));
    if constexpr (Threads > warp_size) {
        if (x.lane() == 0) x.store(meeting + x.warp(), detail::as_real(value));
        x.sync();
        detail::put(value, x.load(meeting));
        CATENA_UNROLL
        for (int w = 1; w < Threads / warp_size; ++w) {
            T other;
            detail::put(other, x.load(meeting + w));
            value = combine(value, other);
        }
    }
    return value;
}

/// The sum of every lane's `value`.
template <class X>
CATENA_FN real warp_sum(X& x, real value) {
    return over_threads<warp_size>(x, value, nullptr, [](real a, real b) { return a + b; });
}

/// The sums, over each `Lanes` neighboring lanes, of N numbers of each lane: lane t of them gets
/// that of number t / (Lanes / N). Each step halves the numbers and the lanes. It is a function of
/// its own: a loop with a bound that changes would keep the numbers in local memory.
template <int Lanes, int N, class X>
CATENA_FN real sums_over_lanes(X& x, const real (&v)[N]) {
    static_assert(N <= Lanes && Lanes <= warp_size, "each lane gets one sum");
    constexpr int mask = Lanes / 2, left = N / 2;
    if constexpr (N > 1) {
        const bool upper = (x.lane() & mask) != 0;
        real sums[left];
        CATENA_UNROLL
        for (int i = 0; i < left; ++i) {
            const real passed = upper ? v[i] : v[i + left], kept = upper ? v[i + left] : v[i];
            sums[i] = kept + x.shuffle_xor(passed, mask);
        }
        return sums_over_lanes<mask>(x, sums);
    } else if constexpr (Lanes > 1) {
        const real sum[1] = {v[0] + x.shuffle_xor(v[0], mask)};
        return sums_over_lanes<mask>(x, sum);
    } else {
        return v[0];
    }
}

/// The sum of every thread's `value`.
template <matvec_policy P, class X>
CATENA_FN real block_sum(X& x, real value, float* partial) {
    return over_threads<P.threads>(x, value, partial, [](real a, real b) { return a + b; });
}

}  // namespace CATENA_NAMESPACE::kernel
