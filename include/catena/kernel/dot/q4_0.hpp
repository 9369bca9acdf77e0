// q4_0: 18 bytes per 32 values: half d, 16 bytes whose low nibbles are values 0..15 and whose high
// nibbles are values 16..31, each 8 too large. A lane owns a block.
#pragma once

#include "catena/kernel/dot.hpp"

namespace catena::kernel {

template <>
struct dot<format::q4_0> {
    struct weights {
        int q[8];
        real d;
    };
    using activation = q8_1_lane;

    template <class X>
    CATENA_FN static weights unpack(X& x, const std::byte* step, int lane) {
        const std::byte* block = step + lane * 18;
        const unsigned past = past_word(block);  // 0 or 2
        const std::byte* word_at = block + past;
        unsigned word[5];
        for (int i = 0; i < 4; ++i) word[i] = load_as<unsigned>(x, word_at + 4 * i);
        word[4] = past == 0 ? load_as<unsigned>(x, word_at + 16) : 0;
        weights w;
        w.d = load_half(x, block);
        for (int i = 0; i < 4; ++i) {
            const unsigned nibbles = x.funnel(word[i], word[i + 1], 16u - 8u * past);
            w.q[i] = static_cast<int>(nibbles & 0x0f0f0f0fu);
            w.q[4 + i] = static_cast<int>((nibbles >> 4) & 0x0f0f0f0fu);
        }
        return w;
    }

    template <class X>
    CATENA_FN static activation load(X& x, const std::byte* q8_1, int lane) {
        return load_q8_1_block(x, q8_1, lane);
    }

    template <class X>
    CATENA_FN static real add(X& x, const weights& w, const activation& u, real sum) {
        int product = 0;  // zero points first: the same for all rows of a warp
        for (int i = 0; i < 8; ++i) product = x.dp4a(four(-8), u.q[i], product);
        for (int i = 0; i < 8; ++i) product = x.dp4a(w.q[i], u.q[i], product);
        return fma(w.d * u.d, from_int(product), sum);
    }
};

}  // namespace catena::kernel
