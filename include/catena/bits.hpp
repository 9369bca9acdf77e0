// The place of a bit in a word. Compilers spell it differently, so it stands here alone.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The number of the lowest bit of `bits` that is set; there must be one.
constexpr int lowest_bit(std::uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int at = 0;
    for (; (bits & 1) == 0; bits >>= 1) ++at;
    return at;
#endif
}
static_assert(lowest_bit(1) == 0 && lowest_bit(std::uint64_t{5} << 40) == 40, "");

}  // namespace CATENA_NAMESPACE
