// The encoders of the K formats: a block of parts whose scales, and mins, are small integers that
// share one f16. What a format adds is how it packs what is found here.
#pragma once

#include "catena/format/half.hpp"
#include "catena/format/rounding.hpp"
#include "catena/format/scale_search.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

struct scale_min {
    int scale, min;
};

/// The f32 nearest to x that an f16 holds.
inline float through_f16(float x) { return f32_from_f16(f16_from_f32(x)); }

/// value = d * scale * level, with scales in [-Span, Span) and levels in [-LevelSpan, LevelSpan).
template <int Parts, int Count, int Span, int LevelSpan>
struct scaled_block {
    std::uint16_t d;  ///< f16
    std::int8_t scales[Parts];
    std::int8_t levels[Parts * Count];

    /// Values must be finite. d has the sign that makes the largest scale -Span, the side that has
    /// one more.
    static scaled_block nearest(const float* in) {
        float scales[Parts];
        for (int part = 0; part < Parts; ++part)
            scales[part] = fit_scale<Count>(in + Count * part, LevelSpan).scale;
        scaled_block out;
        out.d = f16_from_f32(extreme_of<Parts>(scales) / static_cast<float>(-Span));
        const float d = f32_from_f16(out.d);
        const float per_d = inverse_or_zero(d);
        for (int part = 0; part < Parts; ++part) {
            const int scale = nearest_level(scales[part] * per_d, -Span, Span - 1);
            out.scales[part] = static_cast<std::int8_t>(scale);
            const float per_scale = inverse_or_zero(d * static_cast<float>(scale));
            for (int i = Count * part; i < Count * (part + 1); ++i)
                out.levels[i] = static_cast<std::int8_t>(
                    nearest_level(in[i] * per_scale, -LevelSpan, LevelSpan - 1));
        }
        return out;
    }
};

/// value = d * scale * level - dmin * min, with scales and mins in [0, HighestScale] and levels in
/// [0, HighestLevel].
template <int Parts, int Count, int HighestScale, int HighestLevel>
struct scale_min_block {
    std::uint16_t d, dmin;  ///< f16
    scale_min parts[Parts];
    std::uint8_t levels[Parts * Count];

    /// Values must be finite.
    static scale_min_block nearest(const float* in) {
        scale_fit fits[Parts];
        float largest_scale = 0, largest_min = 0;
        for (int part = 0; part < Parts; ++part) {
            fits[part] = fit_scale_min<Count>(in + Count * part, HighestLevel);
            largest_scale = std::fmax(largest_scale, fits[part].scale);
            largest_min = std::fmax(largest_min, fits[part].min);
        }
        pair at{through_f16(largest_scale / HighestScale), through_f16(largest_min / HighestScale)};
        scale_min_block out;
        for (int part = 0; part < Parts; ++part)
            out.parts[part] = best_near(in + Count * part, at, fits[part]);
        at = refit(in, at, out.parts);
        out.d = f16_from_f32(at.d);
        out.dmin = f16_from_f32(at.dmin);
        for (int part = 0; part < Parts; ++part)
            find_levels(in + Count * part, at, out.parts[part], out.levels + Count * part);
        return out;
    }

  private:
    struct pair {
        float d, dmin;  ///< values that an f16 can hold
    };

    static int storable(int scale) {
        return scale < 0 ? 0 : scale > HighestScale ? HighestScale : scale;
    }

    /// The scale next to that of `fit`, as it can be stored, and the min, that leave the least
    /// error: rounding each alone would not, since a min makes up for what its scale lost.
    static scale_min best_near(const float* in, pair super, const scale_fit& fit) {
        const int scale = nearest_level(fit.scale * inverse_or_zero(super.d), 0, HighestScale);
        const float per_dmin = inverse_or_zero(super.dmin);
        const int min = nearest_level(fit.min * per_dmin, 0, HighestScale);
        scale_min best{};
        float least = INFINITY;
        const auto attempt = [&](int s, int m) {  // gives the min that would center the error
            const scale_min at{storable(s), storable(m)};
            const part_error error = error_of(in, super, at);
            if (error.squared < least) {
                least = error.squared;
                best = at;
            }
            return at.min + nearest_level(error.mean * per_dmin, -HighestScale, HighestScale);
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
        std::uint8_t level[Count];
        find_levels(in, super, at, level);
        const float scale = super.d * static_cast<float>(at.scale);
        const float min = super.dmin * static_cast<float>(at.min);
        float sum = 0, squared = 0;
        for (int i = 0; i < Count; ++i) {
            const float excess = scale * static_cast<float>(level[i]) - min - in[i];
            sum += excess;
            squared += excess * excess;
        }
        return {squared, sum / Count};
    }

    /// The d and dmin of least error for the levels that `super` gives; `super` itself where that
    /// would be a leap.
    static pair refit(const float* in, pair super, const scale_min* parts) {
        // Normal equations of in ~ d * a - dmin * b, where a = scale * level and b = min.
        double aa = 0, ab = 0, bb = 0, va = 0, vb = 0;
        for (int part = 0; part < Parts; ++part) {
            std::uint8_t level[Count];
            find_levels(in + Count * part, super, parts[part], level);
            for (int i = 0; i < Count; ++i) {
                const int a = parts[part].scale * level[i], b = parts[part].min;
                const double v = in[Count * part + i];
                aa += a * a;
                ab += a * b;
                bb += b * b;
                va += v * a;
                vb += v * b;
            }
        }
        const double determinant = aa * bb - ab * ab;
        if (determinant <= 0) return super;
        const pair best{through_f16(static_cast<float>((va * bb - vb * ab) / determinant)),
                        through_f16(static_cast<float>((va * ab - vb * aa) / determinant))};
        const auto near = [](float x, float y) { return y / 2 < x && x < y * 2; };
        return near(best.d, super.d) && near(best.dmin, super.dmin) ? best : super;
    }

    /// The nearest levels under a scale and min as they are stored.
    static void find_levels(const float* in, pair super, scale_min at, std::uint8_t* out) {
        const float per_scale = inverse_or_zero(super.d * static_cast<float>(at.scale));
        const float min = super.dmin * static_cast<float>(at.min);
        for (int i = 0; i < Count; ++i)
            out[i] = static_cast<std::uint8_t>(
                nearest_level((in[i] + min) * per_scale, 0, HighestLevel));
    }
};

}  // namespace CATENA_NAMESPACE
