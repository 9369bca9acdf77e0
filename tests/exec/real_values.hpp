// Floats worth trying: the special ones, both signs of everything, and seeded patterns of all
// exponents.
#pragma once

#include "catena/exec/real.hpp"

#include <cstdint>
#include <vector>

namespace catena_test {

/// Every `step`th value.
inline std::vector<catena::real> real_values(std::size_t step = 1) {
    std::vector<std::uint32_t> bits = {
        0,          1,          2,          0x007fffff, 0x00800000, 0x00800001, 0x33000000,
        0x33000001, 0x387fffff, 0x38800000, 0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff,
        0x3f800000, 0x3f800001, 0x40000000, 0x40490fdb, 0x42fe0000, 0x42ff0000, 0x43000000,
        0x477fe000, 0x477ff000, 0x4b7fffff, 0x4b800000, 0x4effffff, 0x4f000000, 0x7f7fffff,
        0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff};
    std::uint32_t state = 2026;
    for (int i = 0; i < 480; ++i) {
        state = state * 1664525u + 1013904223u;
        bits.push_back((state ^ state >> 15) & 0x7fffffffu);
        // The same again near 1, where most work is done.
        bits.push_back(0x3e000000u + (state >> 8));
    }
    std::vector<catena::real> values;
    for (std::size_t i = 0; i < bits.size(); i += step) {
        values.push_back(catena::from_bits(bits[i]));
        values.push_back(catena::from_bits(bits[i] | 0x80000000u));
    }
    return values;
}

}  // namespace catena_test
