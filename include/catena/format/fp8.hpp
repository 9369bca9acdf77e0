// fp8_e4m3 as a weight: a value is one e4m3 times a scale that lies in a tensor of its own, as
// checkpoints for vLLM have it: one scale for the tensor, for each row, or for each square of 128
// rows by 128 columns.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/minifloat.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

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

/// The part of a tensor that shares a scale.
enum class fp8_scaling : std::uint8_t { tensor, row, square };

/// Scales of a tensor of rows x k, in the order of rows, then columns. The last squares of a row or
/// a column may hold less.
struct fp8_scales {
    fp8_scaling scaling;
    std::int64_t rows, k;

    constexpr std::int64_t count() const { return at(rows - 1, k - 1) + 1; }

    /// The index of the scale of a value.
    constexpr std::int64_t at(std::int64_t row, std::int64_t column) const {
        if (scaling == fp8_scaling::tensor) return 0;
        if (scaling == fp8_scaling::row) return row;
        return row / 128 * ((k + 127) / 128) + column / 128;
    }
};

struct fp8_matrix {
    fp8_scales layout;
    std::vector<std::uint8_t> data;  ///< row after row
    std::vector<float> scales;
};

/// Values, row after row, must be finite. A scale is the largest magnitude that it scales / 448.
inline fp8_matrix encode_fp8(std::span<const float> values, fp8_scales layout) {
    fp8_matrix out{layout, std::vector<std::uint8_t>(values.size()),
                   std::vector<float>(static_cast<std::size_t>(layout.count()))};
    const auto scale_of = [&](std::size_t i) -> float& {
        const auto at = static_cast<std::int64_t>(i);
        return out.scales[static_cast<std::size_t>(layout.at(at / layout.k, at % layout.k))];
    };
    for (std::size_t i = 0; i < values.size(); ++i)
        scale_of(i) = std::fmax(scale_of(i), std::fabs(values[i]));
    for (float& scale : out.scales) scale /= e4m3_largest;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (scale_of(i) > 0) out.data[i] = e4m3_from_f32_bits(f32_bits(values[i] / scale_of(i)));
    return out;
}

/// Exact.
inline std::vector<double> decode_fp8(const fp8_matrix& m) {
    std::vector<double> out(m.data.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const auto scale = m.layout.at(at / m.layout.k, at % m.layout.k);
        out[i] = double{f32_from_bits(f32_bits_from_e4m3(m.data[i]))} *
                 double{m.scales[static_cast<std::size_t>(scale)]};
    }
    return out;
}

}  // namespace CATENA_NAMESPACE
