// q6_K: 210 bytes per 256 values: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 int8
// scales, half d; each 6-bit value is 32 too large. Half n (128 values) takes 64 bytes of nibbles
// and 32 of pairs: byte b of the pairs serves values b, b + 32, b + 64, b + 96 of the half. Eight
// lanes share a block: lane j takes bytes 8 * (j % 4) .. + 7 of half j / 4, that is, 8 values of
// each of four q8_1 blocks.
#pragma once

#include "catena/kernel/dot.hpp"

namespace catena::kernel {

template <>
struct dot<format::q6_K> {
    struct weights {
        int q[4][2];
        int scale[4];
        real d;
    };
    struct activation {
        int q[4][2];
        real d[4];
    };

    template <class X>
    CATENA_FN static weights unpack(X& x, const std::byte* step, int lane) {
        const std::byte* block = step + lane / 8 * 210;
        const int half = lane % 8 / 4, part = lane % 4;
        const two near = words(x, block + half * 64 + part * 8);
        const two far = words(x, block + half * 64 + 32 + part * 8);
        const two pairs = words(x, block + 128 + half * 32 + part * 8);
        const std::byte* scales = block + 192 + half * 8 + part / 2;

        weights w;
        w.d = load_half(x, block + 208);
        for (int g = 0; g < 4; ++g) w.scale[g] = load_as<std::int8_t>(x, scales + 2 * g);
        for (int i = 0; i < 2; ++i) {
            const unsigned high = pairs.word[i];
            w.q[0][i] = merge(near.word[i], high << 4);
            w.q[1][i] = merge(far.word[i], high << 2);
            w.q[2][i] = merge(near.word[i] >> 4, high);
            w.q[3][i] = merge(far.word[i] >> 4, high >> 2);
        }
        return w;
    }

    template <class X>
    CATENA_FN static activation load(X& x, const std::byte* q8_1, int lane) {
        const std::byte* block = q8_1 + lane / 4 * 4 * q8_1_bytes;
        activation u;
        for (int g = 0; g < 4; ++g) {
            u.d[g] = load_half(x, block + g * q8_1_bytes);
            for (int i = 0; i < 2; ++i)
                u.q[g][i] = load_int(x, block + g * q8_1_bytes + 4 + lane % 4 * 8 + 4 * i);
        }
        return u;
    }

    template <class X>
    CATENA_FN static real add(X& x, const weights& w, const activation& u, real sum) {
        real scaled{};
        for (int g = 0; g < 4; ++g) {
            int product = 0;  // zero points first: the same for all rows of a warp
            for (int i = 0; i < 2; ++i) product = x.dp4a(four(-32), u.q[g][i], product);
            for (int i = 0; i < 2; ++i) product = x.dp4a(w.q[g][i], u.q[g][i], product);
            const real exact = from_int(w.scale[g] * product);
            scaled = g == 0 ? u.d[g] * exact : fma(u.d[g], exact, scaled);
        }
        return fma(w.d, scaled, sum);
    }

  private:
    struct two {
        unsigned word[2];
    };

    /// The 8 bytes at p, which is 2-byte aligned; the third word that it may touch is in the block
    /// too.
    template <class X>
    CATENA_FN static two words(X& x, const std::byte* p) {
        const unsigned past = past_word(p);
        unsigned word[3];
        for (int i = 0; i < 3; ++i) word[i] = load_as<unsigned>(x, p - past + 4 * i);
        return {{x.funnel(word[0], word[1], 8u * past), x.funnel(word[1], word[2], 8u * past)}};
    }

    CATENA_FN static int merge(unsigned nibbles, unsigned pairs) {
        return static_cast<int>((nibbles & 0x0f0f0f0fu) | (pairs & 0x30303030u));
    }
};

}  // namespace catena::kernel
