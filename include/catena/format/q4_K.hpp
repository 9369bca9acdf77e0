// q4_K: 256 values in 8 parts of 32; value = d * scale * level - dmin * min, with a 6-bit scale and a 6-bit
// min per part and 4-bit levels. Bytes 32c .. 32c+31 of qs hold part 2c below and part 2c+1 above.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

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

/// Parts 0 to 3 have their scales in the low six bits of bytes 0 to 3 and their mins in those of bytes 4
/// to 7. Parts 4 to 7 have their low four bits in bytes 8 to 11 (scale below, min above) and their high
/// two bits on top of bytes 0 to 3 (scale) and 4 to 7 (min).
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

}  // namespace catena
