// The plain formats f32, f16 and bf16: a block is one number.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/half.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

template <>
struct codec<format::f32> {
    using block = float;
    static void encode(const float* in, block* out) { *out = *in; }
    template <class Real>
    static void decode(const block* in, Real* out) {
        *out = *in;
    }
};

template <std::uint16_t (*Encode)(float), float (*Decode)(std::uint16_t)>
struct codec_of_16_bits {
    using block = std::uint16_t;
    static void encode(const float* in, block* out) { *out = Encode(*in); }
    template <class Real>
    static void decode(const block* in, Real* out) {
        *out = Decode(*in);
    }
};
template <>
struct codec<format::f16> : codec_of_16_bits<f16_from_f32, f32_from_f16> {};
template <>
struct codec<format::bf16> : codec_of_16_bits<bf16_from_f32, f32_from_bf16> {};

}  // namespace CATENA_NAMESPACE
