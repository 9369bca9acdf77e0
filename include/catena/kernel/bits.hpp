// Few bits made into nibbles and bytes, which is how formats with less than four bits a value are
// taken apart.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE::kernel {

/// Bit j of nibble `i` of a word becomes bit `at` of byte j; bits around it are anything.
/// 4 <= at <= 7. A product with four powers of two, 2^7 apart: four bits never overlap. Where i is
/// known when compiled, since N words are made at a time, two of them share a shift.
template <int N>
CATENA_FN constexpr unsigned spread_nth(unsigned word, int i, int at) {
    const int upper = N > 1 ? i % 2 * 4 : 0;
    return (word >> (4 * i - upper) & (15u << upper)) * (0x204081u << (at - upper));
}

/// Any function of three bits, of all bits of three words at once; bit 4a + 2b + c of `Table` is
/// its result. Written so that the compiler does not make two functions of it.
template <unsigned Table>
CATENA_FN unsigned bitwise(unsigned a, unsigned b, unsigned c) {
    unsigned out = 0;
#if defined(__CUDA_ARCH__)
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(out) : "r"(a), "r"(b), "r"(c), "n"(Table));
#else
    for (unsigned i = 0; i < 8; ++i)
        if ((Table >> i & 1u) != 0)
            out |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
#endif
    return out;
}

/// A constant in a register of its own: read from memory, since else it is made anew for each
/// instruction that wants it.
template <unsigned Word>
CATENA_FN unsigned kept() {
#if defined(__CUDA_ARCH__)
    static __device__ constexpr unsigned held = Word;
    unsigned word;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(&held));
    return word;
#else
    return Word;
#endif
}

/// How many bits are set. Of eight signs that is even: of seven its lowest bit is the eighth.
CATENA_FN unsigned ones_in(unsigned bits) {
#if defined(__CUDA_ARCH__)
    return static_cast<unsigned>(__popc(bits));
#else
    unsigned count = 0;
    for (; bits != 0; bits &= bits - 1) ++count;
    return count;
#endif
}

/// `word` with bit `from` of every byte at bit `to`; the others rotate along.
template <class X>
CATENA_FN unsigned move_bit(X& x, unsigned word, int from, int to) {
    return x.funnel(word, word, static_cast<unsigned>(from - to) & 31u);
}

/// One less in every byte of 0 to 127.
template <int N>
CATENA_FN void minus_one_each(int (&bytes)[N]) {
    CATENA_UNROLL
    for (int i = 0; i < N; ++i)
        bytes[i] = static_cast<int>((static_cast<unsigned>(bytes[i]) + 0x7f7f7f7fu) ^ 0x80808080u);
}

}  // namespace CATENA_NAMESPACE::kernel
