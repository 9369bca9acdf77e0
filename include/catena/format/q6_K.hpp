// q6_K: 256 values in 16 parts of 16; value = d * scale * (level - 32), with an int8 scale per part and 6-bit
// levels. In each half of 128 values, value 64a + b (b < 64) has its low four bits in nibble a of ql[b],
// value 32a + b (b < 32) its high two bits in bits 2a, 2a+1 of qh[b].
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>

namespace catena {

struct block_q6_K {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    std::uint16_t d;  ///< f16
};
static_assert(sizeof(block_q6_K) == 210, "ggml's layout");

}  // namespace catena
