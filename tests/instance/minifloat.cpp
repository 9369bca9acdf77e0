#include "catena/kernel/minifloat.hpp"
#include "catena_test/catch.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {
namespace {

TEST_CASE("A kernel rounds to e4m3 and e2m1 as the format rule does, next to every half") {
    int wrong = 0;
    const auto compare = [&wrong](std::uint32_t bits) {
        const real v = from_bits(bits);
        wrong += minifloat_of(v, false) != e4m3_from_f32_bits(bits);
        if (!is_nan(v)) wrong += minifloat_of(v, true) != e2m1_from_f32_bits(bits);
    };
    for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 2039)
        compare(static_cast<std::uint32_t>(bits));
    // From half of the smallest e4m3 to beyond the largest, numbers next to those with four bits of
    // a mantissa.
    for (std::uint32_t bits = 0x3a000000u; bits < 0x44800000u; bits += 0x80000u)
        for (const std::uint32_t sign : {0u, 0x80000000u})
            for (int off = -1; off <= 1; ++off)
                compare((bits | sign) + static_cast<std::uint32_t>(off));
    CHECK(wrong == 0);
}

TEST_CASE("A kernel reads every e4m3 as the format rule does") {
    for (unsigned code = 0; code < 256; ++code) {
        const real v = from_e4m3(code);
        const real wanted = from_bits(f32_bits_from_e4m3(static_cast<std::uint8_t>(code)));
        CHECK(((is_nan(v) && is_nan(wanted)) || bits_of(v) == bits_of(wanted)));
    }
}

}  // namespace
}  // namespace CATENA_NAMESPACE::kernel
