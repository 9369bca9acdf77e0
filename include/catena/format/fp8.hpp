// fp8_e4m3: a value is one e4m3. Its scale, of a tensor, a channel or a square of 128 values, lies
// in a tensor of its own and is no matter of the format.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/minifloat.hpp"

#include <cstdint>

namespace catena {

template <>
struct codec<format::fp8_e4m3> {
    using block = std::uint8_t;

    static void encode(const float* in, block* out) { *out = e4m3_from_f32_bits(f32_bits(*in)); }

    template <class Real>
    static void decode(const block* in, Real* out) {
        *out = f32_from_bits(f32_bits_from_e4m3(*in));
    }

    /// A multiple of 2^-9, up to 15 of them.
    static void bound(block* b) { *b = static_cast<std::uint8_t>(*b & 0x8f); }
};

}  // namespace catena
