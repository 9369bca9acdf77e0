// Arithmetic that the encoders share. Rounding is half away from zero, exact, without a library
// call.
#pragma once

#include "catena/format/half.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace CATENA_NAMESPACE {

/// The integer nearest to x, halves away from zero. |x| < 2^31.
inline int round_half_away(float x) {
    const int whole = static_cast<int>(x);
    const float rest = x - static_cast<float>(whole);  // exact
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/// The value of largest magnitude, the first of them.
template <int Count>
float extreme_of(const float* values) {
    float extreme = 0;
    for (int i = 0; i < Count; ++i)
        if (std::fabs(values[i]) > std::fabs(extreme)) extreme = values[i];
    return extreme;
}

/// The bits of the largest magnitude; an infinity or a NaN exceeds every number.
inline std::uint32_t largest_magnitude(std::span<const float> values) {
    std::uint32_t largest = 0;
    for (const float v : values) largest = std::max(largest, f32_bits(v) & 0x7fffffffu);
    return largest;
}

/// 1 / d, or 0 where that is no finite number: every level of a block of zeros is 0.
inline float inverse_or_zero(float d) {
    const float inverse = 1.0f / d;
    return inverse - inverse == 0.0f ? inverse : 0.0f;
}

/// The integer in [lowest, highest] nearest to any x; a NaN gives the lowest.
inline int nearest_level(float x, int lowest, int highest) {
    const auto low = static_cast<float>(lowest), high = static_cast<float>(highest);
    return round_half_away(x > low ? x < high ? x : high : low);
}

/// The int8 nearest to any x; a NaN gives 0.
inline std::int8_t round_to_int8(float x) {
    return static_cast<std::int8_t>(x != x ? 0 : nearest_level(x, -128, 127));
}

}  // namespace CATENA_NAMESPACE
