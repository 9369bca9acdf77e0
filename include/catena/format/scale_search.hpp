// The search that the K formats share: which scale, and which min, let a few integer levels come
// closest to some values in the sense of least squares. For given levels the best scale has a
// closed form, and so has the error that it leaves; a grid of inverse scales proposes levels.
#pragma once

#include "catena/format/rounding.hpp"

namespace CATENA_NAMESPACE {

struct scale_fit {
    float scale = 0;
    float min = 0;  ///< subtracted, and never negative
};

/// values ~ scale * level, level in [-span, span). The grid lets the value of largest magnitude
/// fall within 0.9 of level -span: the side that has one level more.
template <int Count>
scale_fit fit_scale(const float* values, int span) {
    const float per_extreme = inverse_or_zero(extreme_of<Count>(values));
    scale_fit best;
    float best_gain = 0;  // sum of squares explained
    for (int step = -9; step <= 9; ++step) {
        const float per_scale =
            -(static_cast<float>(span) + 0.1f * static_cast<float>(step)) * per_extreme;
        float vl = 0;
        int ll = 0;
        for (int i = 0; i < Count; ++i) {
            const int level = nearest_level(values[i] * per_scale, -span, span - 1);
            vl += values[i] * static_cast<float>(level);
            ll += level * level;
        }
        if (ll == 0) continue;
        const float scale = vl / static_cast<float>(ll);
        if (vl * scale > best_gain) {
            best_gain = vl * scale;
            best.scale = scale;
        }
    }
    return best;
}

/// values ~ scale * level - min, level in [0, highest], scale and min not negative.
template <int Count>
scale_fit fit_scale_min(const float* values, int highest) {
    float lowest = 0, largest = 0, v = 0;
    for (int i = 0; i < Count; ++i) {
        lowest = std::fmin(lowest, values[i]);
        largest = std::fmax(largest, values[i]);
        v += values[i];
    }
    const float per_range = inverse_or_zero(largest - lowest);
    scale_fit best{0, -lowest};
    float best_gain = -INFINITY;
    for (int step = -10; step <= 10; ++step) {
        const float per_scale =
            (static_cast<float>(highest) + 0.1f * static_cast<float>(step)) * per_range;
        float vl = 0;
        int l = 0, ll = 0;
        for (int i = 0; i < Count; ++i) {
            const int level = nearest_level((values[i] - lowest) * per_scale, 0, highest);
            vl += values[i] * static_cast<float>(level);
            l += level;
            ll += level * level;
        }
        if (ll == 0) continue;
        float scale = vl / static_cast<float>(ll), offset = 0;
        const int determinant = Count * ll - l * l;  // 0 when all levels are equal
        if (determinant != 0) {
            const auto d = static_cast<float>(determinant);
            const float with_offset = (Count * vl - v * static_cast<float>(l)) / d;
            const float free = (v * static_cast<float>(ll) - vl * static_cast<float>(l)) / d;
            if (free < 0) {
                scale = with_offset;
                offset = free;
            }
        }
        const float gain = scale * vl + offset * v;
        if (gain > best_gain) {
            best_gain = gain;
            best = {scale, -offset};
        }
    }
    return best;
}

}  // namespace CATENA_NAMESPACE
