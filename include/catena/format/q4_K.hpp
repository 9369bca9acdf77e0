// q4_K: 256 values in 8 parts of 32; value = d * scale * level - dmin * min, with a 6-bit scale and
// a 6-bit min per part and 4-bit levels. Bytes 32c .. 32c+31 of qs hold part 2c below and part 2c+1
// above.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"
#include "catena/format/scale_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace catena {

struct block_q4_K {
    std::uint16_t d;     ///< f16
    std::uint16_t dmin;  ///< f16
    std::uint8_t scales[12];
    std::uint8_t qs[128];
};
static_assert(sizeof(block_q4_K) == 144, "ggml's layout");

struct scale_min {
    int scale, min;
};

/// Parts 0 to 3 have their scales in the low six bits of bytes 0 to 3 and their mins in those of
/// bytes 4 to 7. Parts 4 to 7 have their low four bits in bytes 8 to 11 (scale below, min above)
/// and their high two bits on top of bytes 0 to 3 (scale) and 4 to 7 (min).
CATENA_FN constexpr scale_min unpack_scale_min(const std::uint8_t* scales, int part) {
    if (part < 4) return {scales[part] & 63, scales[part + 4] & 63};
    return {(scales[part + 4] & 15) | (scales[part - 4] >> 6) << 4,
            (scales[part + 4] >> 4) | (scales[part] >> 6) << 4};
}

/// All eight parts at once; scale and min are 0 to 63.
inline void pack_scale_min(const scale_min* parts, std::uint8_t* scales) {
    for (int i = 0; i < 4; ++i) {
        const scale_min low = parts[i], high = parts[i + 4];
        scales[i] = static_cast<std::uint8_t>(low.scale | (high.scale >> 4) << 6);
        scales[i + 4] = static_cast<std::uint8_t>(low.min | (high.min >> 4) << 6);
        scales[i + 8] = static_cast<std::uint8_t>((high.scale & 15) | (high.min & 15) << 4);
    }
}

template <>
struct codec<format::q4_K> {
    using block = block_q4_K;

    /// Values must be finite.
    static void encode(const float* in, block* out) {
        scale_fit fits[8];
        float largest_scale = 0, largest_min = 0;
        for (int part = 0; part < 8; ++part) {
            fits[part] = fit_scale_min<32>(in + 32 * part, 15);
            largest_scale = std::fmax(largest_scale, fits[part].scale);
            largest_min = std::fmax(largest_min, fits[part].min);
        }
        pair at{stored(largest_scale / 63), stored(largest_min / 63)};
        scale_min parts[8];
        for (int part = 0; part < 8; ++part)
            parts[part] = best_near(in + 32 * part, at, fits[part]);
        at = refit(in, at, parts);
        out->d = f16_from_f32(at.d);
        out->dmin = f16_from_f32(at.dmin);
        pack_scale_min(parts, out->scales);
        for (int part = 0; part < 8; part += 2) {
            std::uint8_t low[32], high[32];
            levels(in + 32 * part, at, parts[part], low);
            levels(in + 32 * part + 32, at, parts[part + 1], high);
            for (int i = 0; i < 32; ++i)
                out->qs[16 * part + i] = static_cast<std::uint8_t>(low[i] | high[i] << 4);
        }
    }

    /// In f32 every product here is exact, so that contraction of the last line changes nothing.
    template <class Real>
    static void decode(const block* in, Real* out) {
        const Real d = f32_from_f16(in->d), dmin = f32_from_f16(in->dmin);
        for (int part = 0; part < 8; ++part) {
            const scale_min at = unpack_scale_min(in->scales, part);
            const Real scale = d * static_cast<Real>(at.scale),
                       min = dmin * static_cast<Real>(at.min);
            const std::uint8_t* qs = in->qs + part / 2 * 32;
            for (int i = 0; i < 32; ++i)
                *out++ = scale * static_cast<Real>((qs[i] >> part % 2 * 4) & 15) - min;
        }
    }

    /// d in [2^-14, 2^-13), scales and mins of 32 to 63, and the dmin that centers the levels on
    /// zero.
    static void bound(block* b) {
        b->d = static_cast<std::uint16_t>(0x0400 | (b->d & 0x3ff));
        b->dmin = f16_from_f32(7.5f * f32_from_f16(b->d));
        scale_min parts[8];
        for (int part = 0; part < 8; ++part) {
            const scale_min noise = unpack_scale_min(b->scales, part);
            parts[part] = {noise.scale | 32, noise.min | 32};
        }
        pack_scale_min(parts, b->scales);
    }

  private:
    struct pair {
        float d, dmin;  ///< as an f16 holds them
    };

    static float stored(float x) { return f32_from_f16(f16_from_f32(x)); }

    /// The scale next to that of `fit`, as it can be stored, and the min, that leave the least
    /// error: rounding each alone would not, since a min makes up for what its scale lost.
    static scale_min best_near(const float* in, pair super, const scale_fit& fit) {
        const int scale = nearest_level(fit.scale * inverse_or_zero(super.d), 0, 63);
        const float per_dmin = inverse_or_zero(super.dmin);
        const int min = nearest_level(fit.min * per_dmin, 0, 63);
        scale_min best{};
        float least = INFINITY;
        const auto attempt = [&](int s, int m) {  // gives the min that would center the error
            const scale_min at{std::clamp(s, 0, 63), std::clamp(m, 0, 63)};
            const part_error error = error_of(in, super, at);
            if (error.squared < least) {
                least = error.squared;
                best = at;
            }
            return at.min + nearest_level(error.mean * per_dmin, -63, 63);
        };
        for (int s = scale - 1; s <= scale + 1; ++s) {
            const int centered = attempt(s, min);
            for (int m = -1; m <= 1; ++m) attempt(s, centered + m);
        }
        return best;
    }

    struct part_error {
        float squared, mean;  ///< mean: of what is stored minus what is wanted
    };

    static part_error error_of(const float* in, pair super, scale_min at) {
        std::uint8_t level[32];
        levels(in, super, at, level);
        const float scale = super.d * static_cast<float>(at.scale);
        const float min = super.dmin * static_cast<float>(at.min);
        float sum = 0, squared = 0;
        for (int i = 0; i < 32; ++i) {
            const float excess = scale * static_cast<float>(level[i]) - min - in[i];
            sum += excess;
            squared += excess * excess;
        }
        return {squared, sum / 32};
    }

    /// The d and dmin of least error for the levels that `super` gives; `super` itself where that
    /// would be a leap.
    static pair refit(const float* in, pair super, const scale_min* parts) {
        // Normal equations of in ~ d * a - dmin * b, where a = scale * level and b = min.
        double aa = 0, ab = 0, bb = 0, va = 0, vb = 0;
        for (int part = 0; part < 8; ++part) {
            std::uint8_t level[32];
            levels(in + 32 * part, super, parts[part], level);
            for (int i = 0; i < 32; ++i) {
                const int a = parts[part].scale * level[i], b = parts[part].min;
                const double v = in[32 * part + i];
                aa += a * a;
                ab += a * b;
                bb += b * b;
                va += v * a;
                vb += v * b;
            }
        }
        const double determinant = aa * bb - ab * ab;
        if (determinant <= 0) return super;
        const pair best{stored(static_cast<float>((va * bb - vb * ab) / determinant)),
                        stored(static_cast<float>((va * ab - vb * aa) / determinant))};
        const auto near = [](float x, float y) { return y / 2 < x && x < y * 2; };
        return near(best.d, super.d) && near(best.dmin, super.dmin) ? best : super;
    }

    /// The nearest levels under a scale and min as they are stored.
    static void levels(const float* in, pair super, scale_min at, std::uint8_t* out) {
        const float per_scale = inverse_or_zero(super.d * static_cast<float>(at.scale));
        const float min = super.dmin * static_cast<float>(at.min);
        for (int i = 0; i < 32; ++i)
            out[i] = static_cast<std::uint8_t>(nearest_level((in[i] + min) * per_scale, 0, 15));
    }
};

}  // namespace catena
