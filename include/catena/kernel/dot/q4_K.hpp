// q4_K: 144 bytes per 256 values: half d, half dmin, 12 bytes of eight 6-bit scales and mins, 128
// bytes of nibbles. Chunk c (32 bytes) holds sub-block 2c in its low nibbles and 2c + 1 in its high
// nibbles; a value is d * scale * nibble - dmin * min. Eight lanes share a block: lane j takes half
// of chunk j / 2.
#pragma once

#include "catena/kernel/dot.hpp"

namespace catena::kernel {

template <>
struct dot<format::q4_K> {
    struct weights {
        int low[4], high[4];  ///< 16 values of each of two sub-blocks
        int scale[2], min[2];
        real d, dmin;
    };
    struct activation {
        int low[4], high[4];
        real d[2];
    };

    template <class X>
    CATENA_FN static weights unpack(X& x, const std::byte* step, int lane) {
        const std::byte* block = step + lane / 8 * 144;
        const int chunk = lane % 8 / 2;
        const auto head = x.load16(block);
        const auto nibbles = x.load16(block + 16 + lane % 8 * 16);

        // Bytes 0..3 hold the low 6 bits of scales 0..3, 4..7 of mins 0..3; their top 2 bits and
        // the nibbles of bytes 8..11 make scales and mins 4..7. A chunk wants two neighbouring
        // bytes of each.
        const int shift = chunk % 2 * 16;
        const unsigned first = head.y >> shift, second = head.z >> shift, third = head.w >> shift;
        const bool upper = chunk >= 2;
        const unsigned scales =
            upper ? (third & 0x0f0fu) | ((first & 0xc0c0u) >> 2) : first & 0x3f3fu;
        const unsigned mins =
            upper ? ((third >> 4) & 0x0f0fu) | ((second & 0xc0c0u) >> 2) : second & 0x3f3fu;

        weights w;
        w.d = from_half(static_cast<std::uint16_t>(head.x & 0xffffu));
        w.dmin = from_half(static_cast<std::uint16_t>(head.x >> 16));
        w.scale[0] = static_cast<int>(scales & 0xffu);
        w.scale[1] = static_cast<int>(scales >> 8);
        w.min[0] = static_cast<int>(mins & 0xffu);
        w.min[1] = static_cast<int>(mins >> 8);
        const unsigned word[4] = {nibbles.x, nibbles.y, nibbles.z, nibbles.w};
        for (int i = 0; i < 4; ++i) {
            w.low[i] = static_cast<int>(word[i] & 0x0f0f0f0fu);
            w.high[i] = static_cast<int>((word[i] >> 4) & 0x0f0f0f0fu);
        }
        return w;
    }

    template <class X>
    CATENA_FN static activation load(X& x, const std::byte* q8_1, int lane) {
        const std::byte* low = q8_1 + (lane / 8 * 8 + lane % 8 / 2 * 2) * q8_1_bytes;
        const std::byte* high = low + q8_1_bytes;
        const int half = lane % 2 * 16;
        activation u;
        u.d[0] = load_half(x, low);
        u.d[1] = load_half(x, high);
        for (int i = 0; i < 4; ++i) {
            u.low[i] = load_int(x, low + 4 + half + 4 * i);
            u.high[i] = load_int(x, high + 4 + half + 4 * i);
        }
        return u;
    }

    template <class X>
    CATENA_FN static real add(X& x, const weights& w, const activation& u, real sum) {
        int low = 0, high = 0, low_sum = 0, high_sum = 0;
        for (int i = 0; i < 4; ++i) {
            low = x.dp4a(w.low[i], u.low[i], low);
            high = x.dp4a(w.high[i], u.high[i], high);
            low_sum = x.dp4a(four(1), u.low[i], low_sum);  // shared by all of a warp's rows
            high_sum = x.dp4a(four(1), u.high[i], high_sum);
        }
        const real scaled =
            fma(u.d[1], from_int(w.scale[1] * high), u.d[0] * from_int(w.scale[0] * low));
        const real offset =
            fma(u.d[1], from_int(w.min[1] * high_sum), u.d[0] * from_int(w.min[0] * low_sum));
        return fma(-w.dmin, offset, fma(w.d, scaled, sum));
    }
};

}  // namespace catena::kernel
