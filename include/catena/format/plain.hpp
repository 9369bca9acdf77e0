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

template <>
struct codec<format::f16> {
    using block = std::uint16_t;
    static void encode(const float* in, block* out) { *out = f16_from_f32(*in); }
    template <class Real>
    static void decode(const block* in, Real* out) {
        *out = f32_from_f16(*in);
    }
};

template <>
struct codec<format::bf16> {
    using block = std::uint16_t;
    static void encode(const float* in, block* out) { *out = bf16_from_f32(*in); }
    template <class Real>
    static void decode(const block* in, Real* out) {
        *out = f32_from_bf16(*in);
    }
};

}  // namespace CATENA_NAMESPACE
