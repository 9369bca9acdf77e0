// Seeded numbers, and rows of them in a format of ggml's.
#pragma once

#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace catena_test {

/// Even numbers within `spread` of `mean`; the same on every machine, unlike std's distributions.
inline std::vector<float> numbers(std::mt19937& engine, std::int64_t count, float spread,
                                  float mean = 0) {
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& x : out)
        x = mean + spread * (static_cast<float>(engine() >> 8) / 8388608.0f - 1.0f);
    return out;
}

/// Rows of k values each.
inline std::vector<std::uint8_t> encoded(ggml_type type, const std::vector<float>& values,
                                         std::int64_t k) {
    const auto rows = static_cast<std::int64_t>(values.size()) / k;
    std::vector<std::uint8_t> out(ggml_row_size(type, k) * static_cast<std::size_t>(rows));
    ggml_quantize_chunk(type, values.data(), out.data(), 0, rows, k, nullptr);
    return out;
}

}  // namespace catena_test
