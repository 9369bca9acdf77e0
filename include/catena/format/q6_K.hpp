// q6_K: 256 values in 16 parts of 16; value = d * scale * (level - 32), with an int8 scale per part
// and 6-bit levels. In each half of 128 values, value 64a + b (b < 64) has its low four bits in
// nibble a of ql[b], value 32a + b (b < 32) its high two bits in bits 2a, 2a+1 of qh[b].
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"
#include "catena/format/scale_search.hpp"

#include <cmath>
#include <cstdint>

namespace catena {

struct block_q6_K {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    std::uint16_t d;  ///< f16
};
static_assert(sizeof(block_q6_K) == 210, "ggml's layout");

template <>
struct codec<format::q6_K> {
    using block = block_q6_K;

    /// Values must be finite. d has the sign that makes the largest scale -128, the int8 with the
    /// most room.
    static void encode(const float* in, block* out) {
        float scales[16], extreme = 0;
        for (int part = 0; part < 16; ++part) {
            scales[part] = fit_scale<16>(in + 16 * part, 32).scale;
            if (std::fabs(scales[part]) > std::fabs(extreme)) extreme = scales[part];
        }
        out->d = f16_from_f32(extreme / -128.0f);
        const float d = f32_from_f16(out->d);
        const float per_d = inverse_or_zero(d);
        std::uint8_t levels[256];
        for (int part = 0; part < 16; ++part) {
            out->scales[part] = round_to_int8(scales[part] * per_d);
            const float per_scale = inverse_or_zero(d * static_cast<float>(out->scales[part]));
            for (int i = 16 * part; i < 16 * part + 16; ++i)
                levels[i] =
                    static_cast<std::uint8_t>(nearest_level(in[i] * per_scale, -32, 31) + 32);
        }
        for (int half = 0; half < 2; ++half) pack(levels + 128 * half, *out, half);
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
    static void pack(const std::uint8_t* levels, block& out, int half) {
        for (int b = 0; b < 64; ++b)
            out.ql[64 * half + b] =
                static_cast<std::uint8_t>((levels[b] & 15) | (levels[b + 64] & 15) << 4);
        for (int b = 0; b < 32; ++b)
            out.qh[32 * half + b] =
                static_cast<std::uint8_t>(levels[b] >> 4 | levels[b + 32] >> 4 << 2 |
                                          levels[b + 64] >> 4 << 4 | levels[b + 96] >> 4 << 6);
    }
};

}  // namespace catena
