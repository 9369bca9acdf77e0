// The scales of a row, as a launch stores them.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/minifloat.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

namespace catena_test {

/// The code of a power of two, or of a NaN, given by its bits.
inline std::uint8_t e8m0_of_power(std::uint32_t bits) {
    return static_cast<std::uint8_t>(bits >= 0x7f800000u ? catena::e8m0_nan : bits >> 23);
}

/// The scales as they are stored: of `type` (f32, f16, bf16) where that is a parameter, e8m0 or
/// e4m3 of the mx and nv formats.
inline std::vector<std::byte> stored_scales(catena::format f, const std::vector<float>& scales,
                                            catena::format type = catena::format::f32) {
    using namespace catena;
    std::vector<std::byte> out;
    const auto append = [&out](auto bits) {
        const auto at = out.size();
        out.resize(at + sizeof bits);
        std::memcpy(out.data() + at, &bits, sizeof bits);
    };
    for (const float scale : scales) {
        if (f == format::mxfp8_rows || f == format::mxfp4_rows)
            append(e8m0_of_power(f32_bits(scale)));
        else if (f == format::nvfp4_rows)
            append(e4m3_from_f32_bits(f32_bits(scale)));
        else if (type == format::f16)
            append(f16_from_f32(scale));
        else if (type == format::bf16)
            append(bf16_from_f32(scale));
        else
            append(scale);
    }
    return out;
}

}  // namespace catena_test
