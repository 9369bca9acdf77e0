// fp8_e4m3 as a weight: a value is one e4m3 times a scale that lies in a tensor of its own, as
// checkpoints for vLLM have it: one scale for the tensor, for each row, or for each square of 128
// rows by 128 columns.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/minifloat.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

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

}  // namespace CATENA_NAMESPACE
