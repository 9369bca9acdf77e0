// Seeded data that any machine makes alike, and any part of it alone: what is at an index depends
// on the seed and that index only. Integer arithmetic, so that no compiler flag changes a bit.
#pragma once

#include "catena/format/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace CATENA_NAMESPACE {

/// 64 random bits for an index (the output function of splitmix64).
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
    std::uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// A bell curve of mean 0 and deviation 1: four uniform numbers added, so never beyond 3.47.
constexpr float random_value(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t bits = random_bits(seed, index);
    int sum = -2 * 0xffff;
    for (int part = 0; part < 64; part += 16) sum += static_cast<int>((bits >> part) & 0xffffu);
    return static_cast<float>(sum) * 0x1.bb67aep-16f;  // sqrt(3) / 2^16
}

inline void fill_random_values(std::uint64_t seed, std::uint64_t first, std::span<float> out) {
    for (float& value : out) value = random_value(seed, first++);
}

/// Blocks of f, as many as `out` holds, numbered from `first_block`. Decoded, they have a mean near
/// 0 and a deviation near 1/50, as the weights of a model. Throws std::invalid_argument when f has
/// no codec or `out` is no whole number of blocks.
///
/// A codec may offer `static void bound(block* b)`, which gives a block of random bits scales of
/// that size; else random values are encoded, which takes far longer for the K formats.
inline void fill_random_blocks(format f, std::uint64_t seed, std::uint64_t first_block,
                               std::span<std::byte> out) {
    detail::check_row(f, 0, 0);
    const auto bytes = static_cast<std::size_t>(info(f).block_bytes);
    if (out.size() % bytes != 0)
        throw std::invalid_argument(std::to_string(out.size()) + " bytes are no whole number of " +
                                    name(f) + " blocks of " + std::to_string(bytes) + ".");
    detail::with_codec(f, [&]<format F>(std::integral_constant<format, F>) {
        using block = typename codec<F>::block;
        for (std::size_t at = 0; at < out.size(); at += bytes) {
            const std::uint64_t key = random_bits(seed, first_block++);
            block made;
            if constexpr (bounds<F>) {
                std::uint64_t noise[(sizeof(block) + 7) / 8];
                for (std::uint64_t i = 0; i < std::size(noise); ++i) noise[i] = random_bits(key, i);
                std::memcpy(&made, noise, sizeof made);
                codec<F>::bound(&made);
            } else {
                float values[info(F).block_elements];
                fill_random_values(key, 0, values);
                for (float& value : values) value /= 50;
                codec<F>::encode(values, &made);
            }
            std::memcpy(out.data() + at, &made, sizeof made);
        }
    });
}

}  // namespace CATENA_NAMESPACE
