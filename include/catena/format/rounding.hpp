// Arithmetic that the encoders share. Rounding is half away from zero, exact, without a library call.
#pragma once

#include <cstdint>

namespace catena {

/// The integer nearest to x, halves away from zero. |x| < 2^31.
inline int round_half_away(float x) {
    const int whole = static_cast<int>(x);
    const float rest = x - static_cast<float>(whole);  // exact
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/// The same, saturating to int8; a NaN gives 0.
inline std::int8_t round_to_int8(float x) {
    if (x != x) return 0;
    if (x >= 127.0f) return 127;
    if (x <= -128.0f) return -128;
    return static_cast<std::int8_t>(round_half_away(x));
}

/// 1 / d, or 0 where that is no finite number: every level of a block of zeros is 0.
inline float inverse_or_zero(float d) {
    const float inverse = 1.0f / d;
    return inverse - inverse == 0.0f ? inverse : 0.0f;
}

constexpr int clamp_level(int level, int lowest, int highest) {
    return level < lowest ? lowest : level > highest ? highest : level;
}

}  // namespace catena
