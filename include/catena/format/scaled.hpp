// Activations whose scales lie apart, as engines outside ggml read them: int8, e4m3 and e2m1 with a
// scale a tensor, a token or a group. The rule to the bit that the row skeleton follows, and its
// inverse, for tools, tests and references on the host.
//
//   int8_token  scale = largest / 127 of a row, q = x / scale rounded half away from zero; the sum
//   of
//               q goes with it
//   fp8_token   scale = largest / 448 of a row, q = e4m3(x / scale)
//   fp8_group   the same of 128 values
//   fp8_tensor  q = e4m3(x / scale), the scale given
//   mxfp8_rows, mxfp4_rows   32 values, the scale a power of two (e8m0_of_block), q = e4m3 or e2m1
//   of
//               x / scale
//   nvfp4_rows  16 values, scale = e4m3(largest / 6 / tensor scale), q = e2m1(x / (scale * tensor
//               scale)), the tensor scale given
//
// q is made with the scale in f32, also where a narrower type stores it; a scale of zero makes q =
// 0. What holds a NaN or an infinity gets a NaN as its scale and q = 0, or, where the scale is
// given, a NaN in the data. Two e2m1 share a byte, the first in its low half.
#pragma once

#include "catena/format/format.hpp"
#include "catena/format/minifloat.hpp"
#include "catena/format/rounding.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace CATENA_NAMESPACE {

struct scaled_row {
    std::vector<std::uint8_t> data;
    std::vector<float> scales;  ///< scales of a row, e8m0 and e4m3 as their values; empty if the
                                ///< scale is an input
    std::int32_t sum = 0;       ///< int8_token: of the data

    bool operator==(const scaled_row&) const = default;
};

namespace detail {

/// The scale of a group of values; `given` of a tensor.
inline float scale_of(format f, std::span<const float> values, float given) {
    const std::uint32_t largest = largest_magnitude(values);
    if (f == format::fp8_tensor) return given;
    if (f == format::mxfp8_rows)
        return f32_from_bits(f32_bits_from_e8m0(e8m0_of_block(largest, 8)));
    if (f == format::mxfp4_rows)
        return f32_from_bits(f32_bits_from_e8m0(e8m0_of_block(largest, 2)));
    if (largest >= 0x7f800000u) return f32_from_bits(f32_nan_bits);
    const float unit = f == format::int8_token   ? 127
                       : f == format::nvfp4_rows ? e2m1_largest
                                                 : e4m3_largest;
    const float scale = f32_from_bits(largest) / unit;
    if (f != format::nvfp4_rows) return scale;
    return f32_from_bits(f32_bits_from_e4m3(e4m3_from_f32_bits(f32_bits(scale / given))));
}

}  // namespace detail

/// Quantizes a row, whose length is a multiple of scale_group(f). `given`: the scale of the tensor.
inline scaled_row encode_scaled(format f, std::span<const float> row, float given = 1) {
    const auto k = static_cast<std::int64_t>(row.size());
    const auto group = static_cast<std::size_t>(scale_group(f, k));
    const bool four_bits = f == format::mxfp4_rows || f == format::nvfp4_rows;
    scaled_row out;
    out.data.resize(four_bits ? row.size() / 2 : row.size());
    for (std::size_t first = 0; first < row.size(); first += group) {
        const float scale = detail::scale_of(f, row.subspan(first, group), given);
        if (f != format::fp8_tensor) out.scales.push_back(scale);
        const float step = f == format::nvfp4_rows ? given * scale : scale;
        const bool divides = step > 0 && f32_bits(step) < 0x7f800000u;
        for (std::size_t i = first; i < first + group && divides; ++i) {
            const float q = row[i] / step;
            if (f == format::int8_token) {
                const std::int8_t rounded = round_to_int8(q);
                std::memcpy(&out.data[i], &rounded, 1);
                out.sum += rounded;
            } else if (four_bits) {
                const unsigned bits = e2m1_from_f32_bits(f32_bits(q));
                out.data[i / 2] |= static_cast<std::uint8_t>(bits << (i % 2 * 4));
            } else {
                out.data[i] = e4m3_from_f32_bits(f32_bits(q));
            }
        }
    }
    return out;
}

/// The k values of a row.
inline std::vector<double> decode_scaled(format f, const scaled_row& row, std::int64_t k,
                                         double given = 1) {
    const auto group = static_cast<std::size_t>(scale_group(f, k));
    std::vector<double> out(static_cast<std::size_t>(k));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const bool four_bits = f == format::mxfp4_rows || f == format::nvfp4_rows;
        const auto code = static_cast<std::uint8_t>(four_bits ? row.data[i / 2] >> (i % 2 * 4) & 15
                                                              : row.data[i]);
        const double q = f == format::int8_token
                             ? static_cast<std::int8_t>(code)
                             : double{f32_from_bits(four_bits ? f32_bits_from_e2m1(code)
                                                              : f32_bits_from_e4m3(code))};
        const double scale = f == format::fp8_tensor ? given : double{row.scales[i / group]};
        out[i] = q * scale * (f == format::nvfp4_rows ? given : 1);
    }
    return out;
}

}  // namespace CATENA_NAMESPACE
