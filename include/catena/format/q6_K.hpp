// q6_K: 256 values in 16 parts of 16; value = d * scale * (level - 32), with an int8 scale per part
// and 6-bit levels. In each half of 128 values, value 64a + b (b < 64) has its low four bits in
// nibble a of ql[b], value 32a + b (b < 32) its high two bits in bits 2a, 2a+1 of qh[b].
#pragma once

#include "catena/format/block_search.hpp"
#include "catena/format/format.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

struct block_q6_K {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    std::uint16_t d;  ///< f16
};

template <>
struct codec<format::q6_K> {
    using block = block_q6_K;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        const auto best = scaled_block<16, 16, 128, 32>::nearest(in);
        out->d = best.d;
        std::memcpy(out->scales, best.scales, sizeof out->scales);
        for (int half = 0; half < 2; ++half) pack(best.levels + 128 * half, *out, half);
    }

    /// In f32 every product here is exact.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 256; ++i) {
            const int half = i / 128;
            const int low = in->ql[64 * half + i % 64] >> i % 128 / 64 * 4;
            const int high = in->qh[32 * half + i % 32] >> i % 128 / 32 * 2;
            const int level = (low & 15) | (high & 3) << 4;
            out[i] = d * static_cast<Real>(in->scales[i / 16]) * static_cast<Real>(level - 32);
        }
    }

    /// d of either sign, its magnitude in [2^-17, 2^-16), and scales of either sign, of 64 to 127.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x80 | (b->d & 0x807f));
        for (std::int8_t& scale : b->scales)
            scale = static_cast<std::int8_t>(scale < 0 ? -64 - (scale & 63) : 64 + (scale & 63));
    }

  private:
    static void pack(const std::int8_t* levels, block& out, int half) {
        const auto level = [&](int i) { return levels[i] + 32; };
        for (int b = 0; b < 64; ++b)
            out.ql[64 * half + b] =
                static_cast<std::uint8_t>((level(b) & 15) | (level(b + 64) & 15) << 4);
        for (int b = 0; b < 32; ++b)
            out.qh[32 * half + b] =
                static_cast<std::uint8_t>(level(b) >> 4 | level(b + 32) >> 4 << 2 |
                                          level(b + 64) >> 4 << 4 | level(b + 96) >> 4 << 6);
    }
};

}  // namespace CATENA_NAMESPACE
