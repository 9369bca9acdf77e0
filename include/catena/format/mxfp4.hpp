// mxfp4 and nvfp4: e2m1 values under scales that are floats of eight bits. mxfp4 (OCP Microscaling)
// has one power of two for 32 values, nvfp4 an unsigned e4m3 for each 16 of its 64; a scale of the
// whole tensor, where there is one, lies elsewhere. Byte i of a part holds value i below and,
// above, the value half a part later.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/minifloat.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

struct block_mxfp4 {
    std::uint8_t e;  ///< e8m0
    std::uint8_t qs[16];
};

struct block_nvfp4 {
    std::uint8_t d[4];  ///< e4m3 without a sign
    std::uint8_t qs[32];
};

/// Twice the value of each e2m1, an integer. There is no -0.
inline constexpr std::int8_t doubled_e2m1[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

/// Half of 2^(code - 127). The specification has a NaN at 255; ggml reads a power of two.
inline float half_of_e8m0(std::uint8_t code) {
    return f32_from_bits(code < 2 ? 0x200000u << code : (code - 1u) << 23);
}

/// Half of an e4m3, whose sign is not looked at. ggml reads the NaN as 0.
inline float half_of_ue4m3(std::uint8_t code) {
    return code == e4m3_nan ? 0 : f32_from_bits(e4m3::f32_magnitude(code & 0x7fu)) / 2;
}

namespace detail {

/// The squared error that `Count` values leave as e2m1 times a scale, given by its half; bytes go
/// to `out`.
template <int Count>
float encode_e2m1(const float* in, float half_scale, std::uint8_t* out) {
    const float per_scale = 0.5f / half_scale;
    float error = 0;
    for (int i = 0; i < Count; ++i) {
        const std::uint8_t code = e2m1_from_f32_bits(f32_bits(in[i] * per_scale));
        const float excess = half_scale * static_cast<float>(doubled_e2m1[code]) - in[i];
        error += excess * excess;
        std::uint8_t& byte = out[i % (Count / 2)];
        byte = static_cast<std::uint8_t>(i < Count / 2 ? code : byte | code << 4);
    }
    return error;
}

template <int Count, class Real>
void decode_e2m1(const std::uint8_t* in, Real half_scale, Real* out) {
    for (int i = 0; i < Count; ++i)
        out[i] = half_scale *
                 static_cast<Real>(doubled_e2m1[in[i % (Count / 2)] >> i / (Count / 2) * 4 & 15]);
}

}  // namespace detail

template <>
struct codec<format::mxfp4> {
    using block = block_mxfp4;

    /// Values must be finite. The exponent is that of the specification or the next, whichever
    /// leaves less error: the next serves where the largest value would saturate.
    static void encode(const float* in, block* out) {
        const std::uint32_t largest = largest_magnitude({in, 32});
        const std::uint8_t e = e8m0_of_block(largest, 2);
        *out = {e, {}};
        block higher{static_cast<std::uint8_t>(e + 1), {}};
        if (largest == 0) return;
        const float error = detail::encode_e2m1<32>(in, half_of_e8m0(e), out->qs);
        if (detail::encode_e2m1<32>(in, half_of_e8m0(higher.e), higher.qs) < error) *out = higher;
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        detail::decode_e2m1<32, Real>(in->qs, half_of_e8m0(in->e), out);
    }

    /// Scales of 2^-7.
    static void bound(block* b) { b->e = 120; }
};

template <>
struct codec<format::nvfp4> {
    using block = block_nvfp4;

    /// Values must be finite. Each scale is the best of those that put the largest value between 4
    /// and 6, or a little beyond.
    static void encode(const float* in, block* out) {
        for (int part = 0; part < 4; ++part) {
            const float* values = in + 16 * part;
            const float largest = f32_from_bits(largest_magnitude({values, 16}));
            const int for_six = e4m3_from_f32_bits(f32_bits(largest / e2m1_largest));
            float least = INFINITY;
            for (int code = for_six - 1; code <= for_six + 6; ++code) {
                if (code < 0 || code >= e4m3_nan) continue;
                const auto scale = static_cast<std::uint8_t>(code);
                std::uint8_t qs[8];
                const float error = code == 0
                                        ? drop(values, qs)
                                        : detail::encode_e2m1<16>(values, half_of_ue4m3(scale), qs);
                if (!(error < least)) continue;
                least = error;
                out->d[part] = scale;
                std::memcpy(out->qs + 8 * part, qs, sizeof qs);
            }
        }
    }

    template <class Real>
    static void decode(const block* in, Real* out) {
        for (int part = 0; part < 4; ++part)
            detail::decode_e2m1<16, Real>(in->qs + 8 * part, half_of_ue4m3(in->d[part]),
                                          out + 16 * part);
    }

    /// Scales of 3 or 4 times 2^-9, which are subnormal.
    static void bound(block* b) {
        for (std::uint8_t& d : b->d) d = static_cast<std::uint8_t>(3 + (d & 1));
    }

  private:
    /// The error of zeros, the values of a block whose scale is 0.
    static float drop(const float* in, std::uint8_t (&out)[8]) {
        std::memset(out, 0, sizeof out);
        float error = 0;
        for (int i = 0; i < 16; ++i) error += in[i] * in[i];
        return error;
    }
};

}  // namespace CATENA_NAMESPACE
