// iq4_nl and iq4_xs: four bits choose one of sixteen levels that lie closer together near zero. In
// iq4_nl 32 values share an f16 scale; in iq4_xs 256 values have one, and each 32 of them a 6-bit
// scale, 32 too large. Byte i of 32 values holds value i below and value i + 16 above.
#pragma once

#include "catena/format/block_search.hpp"
#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>
#include <initializer_list>

namespace CATENA_NAMESPACE {

struct block_iq4_nl {
    std::uint16_t d;  ///< f16
    std::uint8_t qs[16];
};

struct block_iq4_xs {
    std::uint16_t d;           ///< f16
    std::uint16_t scales_h;    ///< bits 2p, 2p + 1: the high bits of scale p
    std::uint8_t scales_l[4];  ///< nibble p: its low bits
    std::uint8_t qs[128];
};

inline constexpr std::int8_t iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

namespace detail {

/// The index of the level nearest to x.
inline int nearest_iq4(float x) {
    int index = 0;
    for (int i = 0; i < 15; ++i)
        index += x * 2 > static_cast<float>(iq4_levels[i] + iq4_levels[i + 1]);
    return index;
}

/// The scale of least squared error for 32 values among those that best fit the levels under which
/// the value of largest magnitude falls near either end.
inline float fit_iq4_scale(const float* in) {
    const float per_extreme = inverse_or_zero(extreme_of<32>(in));
    float best = 0, best_gain = 0;
    for (const int end : {-127, 113})
        for (int step = -8; step <= 8; ++step) {
            const float per_scale = static_cast<float>(end + step) * per_extreme;
            float vl = 0;
            int ll = 0;
            for (int i = 0; i < 32; ++i) {
                const int level = iq4_levels[nearest_iq4(in[i] * per_scale)];
                vl += in[i] * static_cast<float>(level);
                ll += level * level;
            }
            const float scale = vl / static_cast<float>(ll);
            if (vl * scale > best_gain) {
                best_gain = vl * scale;
                best = scale;
            }
        }
    return best;
}

inline float iq4_error(const float* in, float scale) {
    const float per_scale = inverse_or_zero(scale);
    float error = 0;
    for (int i = 0; i < 32; ++i) {
        const int level = iq4_levels[nearest_iq4(in[i] * per_scale)];
        const float excess = scale * static_cast<float>(level) - in[i];
        error += excess * excess;
    }
    return error;
}

inline void encode_iq4(const float* in, float scale, std::uint8_t* out) {
    const float per_scale = inverse_or_zero(scale);
    for (int i = 0; i < 16; ++i)
        out[i] = static_cast<std::uint8_t>(nearest_iq4(in[i] * per_scale) |
                                           nearest_iq4(in[i + 16] * per_scale) << 4);
}

template <class Real>
void decode_iq4(const std::uint8_t* in, Real scale, Real* out) {
    for (int i = 0; i < 16; ++i) {
        out[i] = scale * static_cast<Real>(iq4_levels[in[i] & 15]);
        out[i + 16] = scale * static_cast<Real>(iq4_levels[in[i] >> 4]);
    }
}

}  // namespace detail

template <>
struct codec<format::iq4_nl> : codec_with_d<block_iq4_nl, -12, true> {
    /// Values must be finite.
    static void encode(const float* in, block* out) {
        out->d = f16_from_f32(detail::fit_iq4_scale(in));
        detail::encode_iq4(in, f32_from_f16(out->d), out->qs);
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        detail::decode_iq4<Real>(in->qs, f32_from_f16(in->d), out);
    }
};

template <>
struct codec<format::iq4_xs> {
    using block = block_iq4_xs;

    /// Values must be finite. d has the sign that makes the largest scale -32.
    static void encode(const float* in, block* out) {
        float scales[8];
        for (int part = 0; part < 8; ++part) scales[part] = detail::fit_iq4_scale(in + 32 * part);
        *out = {f16_from_f32(extreme_of<8>(scales) / -32.0f), 0, {}, {}};
        const float d = f32_from_f16(out->d), per_d = inverse_or_zero(d);
        for (int part = 0; part < 8; ++part) {
            const int near = nearest_level(scales[part] * per_d, -32, 31);
            int scale = near;
            float least = INFINITY;
            for (int s = near - 1; s <= near + 1; ++s) {
                if (s < -32 || s > 31) continue;
                const float error = detail::iq4_error(in + 32 * part, d * static_cast<float>(s));
                if (!(error < least)) continue;
                least = error;
                scale = s;
            }
            put_scale(*out, part, scale);
            detail::encode_iq4(in + 32 * part, d * static_cast<float>(scale), out->qs + 16 * part);
        }
    }

    /// In f32 every product here is exact.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d);
        for (int part = 0; part < 8; ++part)
            detail::decode_iq4<Real>(in->qs + 16 * part, d * static_cast<Real>(scale_of(*in, part)),
                                     out + 32 * part);
    }

    static int scale_of(const block& b, int part) {
        return ((b.scales_l[part / 2] >> part % 2 * 4 & 15) | (b.scales_h >> 2 * part & 3) << 4) -
               32;
    }

    /// d of either sign, its magnitude in [2^-17, 2^-16), and scales of either sign, of 16 to 32.
    static void bound(block* b) {
        block fresh = *b;
        fresh.d = static_cast<std::uint16_t>(0x0080 | (b->d & 0x807f));
        fresh.scales_h = 0;
        for (std::uint8_t& byte : fresh.scales_l) byte = 0;
        for (int part = 0; part < 8; ++part) {
            const int noise = scale_of(*b, part);
            put_scale(fresh, part, noise < 0 ? -17 - (noise & 15) : 16 + (noise & 15));
        }
        *b = fresh;
    }

  private:
    static void put_scale(block& b, int part, int scale) {
        std::uint8_t& low = b.scales_l[part / 2];
        low = static_cast<std::uint8_t>(low | ((scale + 32) & 15) << part % 2 * 4);
        b.scales_h = static_cast<std::uint16_t>(b.scales_h | (scale + 32) >> 4 << 2 * part);
    }
};

}  // namespace CATENA_NAMESPACE
