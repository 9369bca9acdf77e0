// The activation that a matvec or a matmul of a case multiplies, in double.
#pragma once

#include "matvec_data.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace catena_test {

/// 1 / rms of a row of a norm that was begun.
inline double over_rms(const matvec_case& c, const matvec_data& d, std::size_t row) {
    const auto of_row = static_cast<std::size_t>(c.k / 32);
    const auto first = d.squares.begin() + static_cast<std::ptrdiff_t>(row * of_row);
    const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(of_row), 0.0);
    return 1 / std::sqrt(sum / c.k + double{norm_eps});
}

/// The activation that is multiplied, or nothing if it is a norm that a launch makes itself. What
/// else a launch quantizes itself is what the codec makes of it; a gate may differ in last bits.
inline std::vector<double> decoded_activation(const instance& on, const matvec_case& c,
                                              const matvec_data& d) {
    const format f = on.computes.product().activation;
    if (c.as_f32) {
        if (f != format::q8_1 || (c.norm && !c.gate)) return {};
        const std::vector<double> x = reference_inputs(on, c, d).x;
        const bytes blocks = encode_row(f, std::vector<float>(x.begin(), x.end()));
        return decode_row<double>(f, blocks, std::ssize(x));
    }
    std::vector<double> out;
    if (rounds(on)) {
        for (const float v : d.x)
            out.push_back(rounded(*on.computes.product().weights.begin(), double{v}));
        return out;
    }
    if (reads_fp8(on)) {
        const auto scales = from_bytes<float>(d.scales);
        const std::ptrdiff_t groups = c.k / 128;
        for (std::size_t r = 0; r < d.rows.size(); ++r) {
            const auto first = scales.begin() + static_cast<std::ptrdiff_t>(r) * groups;
            const auto values =
                decode_scaled(format::fp8_group,
                              {from_bytes<std::uint8_t>(d.rows[r]), {first, first + groups}}, c.k);
            out.insert(out.end(), values.begin(), values.end());
        }
        return out;
    }
    for (std::size_t r = 0; r < d.rows.size(); ++r) {
        auto values = decode_row<double>(f, d.rows[r], stored_elements(f, c.k));
        values.resize(static_cast<std::size_t>(c.k));
        const double factor = c.ends ? over_rms(c, d, r) : 1;
        for (const double v : values) out.push_back(v * factor);
    }
    return out;
}

}  // namespace catena_test
