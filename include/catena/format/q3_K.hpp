// q3_K: 256 values in 16 parts of 16; value = d * scale * level, with a 6-bit scale, 32 too large,
// and a level of -4 to 3. In each half of 128 values, value 32a + b (b < 32) has its low two bits
// in bits 2a, 2a + 1 of byte b of qs; bit i / 32 of hmask[i % 32] is the third bit of value i, and
// set where the level is not negative.
#pragma once

#include "catena/format/block_search.hpp"
#include "catena/format/format.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct block_q3_K {
    std::uint8_t hmask[32];
    std::uint8_t qs[64];
    std::uint8_t scales[12];
    std::uint16_t d;  ///< f16
};

template <>
struct codec<format::q3_K> {
    using block = block_q3_K;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        const auto best = scaled_block<16, 16, 32, 4>::nearest(in);
        *out = {{}, {}, {}, best.d};
        for (int part = 0; part < 16; ++part) put_scale(*out, part, best.scales[part]);
        for (int i = 0; i < 256; ++i) {
            const int level = best.levels[i] + 4;
            auto& low = out->qs[i / 128 * 32 + i % 32];
            low = static_cast<std::uint8_t>(low | (level & 3) << i % 128 / 32 * 2);
            auto& high = out->hmask[i % 32];
            high = static_cast<std::uint8_t>(high | level >> 2 << i / 32);
        }
    }

    /// In f32 every product here is exact.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int i = 0; i < 256; ++i) {
            const int low = in->qs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
            const int high = in->hmask[i % 32] >> i / 32 & 1;
            out[i] = d * static_cast<Real>(scale_of(*in, i / 16)) *
                     static_cast<Real>((low | high << 2) - 4);
        }
    }

    /// Part p has the low four bits of its scale in nibble p / 8 of byte p % 8, the high two in
    /// bits 2 (p / 4) and up of byte 8 + p % 4.
    static int scale_of(const block& b, int part) {
        const int low = b.scales[part % 8] >> part / 8 * 4 & 15;
        const int high = b.scales[8 + part % 4] >> part / 4 * 2 & 3;
        return (low | high << 4) - 32;
    }

    /// d of either sign, its magnitude in [2^-12, 2^-11), and scales of either sign, of 16 to 32.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x0c00 | (b->d & 0x83ff));
        block fresh = *b;
        for (std::uint8_t& byte : fresh.scales) byte = 0;
        for (int part = 0; part < 16; ++part) {
            const int noise = scale_of(*b, part);
            put_scale(fresh, part, noise < 0 ? -17 - (noise & 15) : 16 + (noise & 15));
        }
        *b = fresh;
    }

  private:
    static void put_scale(block& b, int part, int scale) {
        auto& low = b.scales[part % 8];
        low = static_cast<std::uint8_t>(low | ((scale + 32) & 15) << part / 8 * 4);
        auto& high = b.scales[8 + part % 4];
        high = static_cast<std::uint8_t>(high | (scale + 32) >> 4 << part / 4 * 2);
    }
};

}  // namespace CATENA_NAMESPACE
