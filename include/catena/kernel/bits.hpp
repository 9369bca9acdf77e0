// Few bits made into nibbles and bytes, which is how formats with less than four bits a value are
// taken apart.
#pragma once

#include "catena/config.hpp"

namespace catena::kernel {

/// Bit i of the low four bits of `bits` becomes bit `at` of byte i; bits around it are anything.
/// 1 <= at <= 7. A product with four powers of two, 2^7 apart: four bits never overlap.
CATENA_FN constexpr unsigned spread_bits(unsigned bits, int at) {
    return (bits & 15u) * (0x204081u << at);
}

/// Bit i of eight becomes bit 2 of nibble i; bits around it are 0. Even and odd bits apart: of
/// four copies six bits apart, none then carries into a bit that is wanted.
CATENA_FN constexpr unsigned spread_eight(unsigned bits) {
    return ((bits & 0x55u) * 0x00104104u & 0x04040404u) |
           ((bits & 0xaau) * 0x00820820u & 0x40404040u);
}

/// `word` with bit `from` of every byte at bit `to`; the others rotate along.
template <class X>
CATENA_FN unsigned move_bit(X& x, unsigned word, int from, int to) {
    return x.funnel(word, word, static_cast<unsigned>(from - to) & 31u);
}

/// One less in every byte of 0 to 127.
CATENA_FN constexpr unsigned minus_one_each(unsigned bytes) {
    return (bytes + 0x7f7f7f7fu) ^ 0x80808080u;
}

}  // namespace catena::kernel
