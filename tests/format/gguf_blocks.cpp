// Writes into a folder, for every format that a Python package knows too, what Catena makes of
// blocks; without the first two files where it has no encoder:
//   <name>.values   random f32 values          <name>.encoded  their blocks, by our encoder
//   <name>.blocks   encoded and random blocks  <name>.decoded  their f32 values, by our decoder
#include "has_encoder.hpp"

#include "catena/format/random.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using namespace catena;

constexpr std::int64_t elements = 1 << 16;

template <class T>
void write(const std::filesystem::path& path, const std::vector<T>& data) {
    std::ofstream file(path, std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    file.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(T)));
}

/// Values of many magnitudes, a few zeros among them.
std::vector<float> some_values(std::uint64_t seed) {
    std::vector<float> values(elements);
    fill_random_values(seed, 0, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto group = static_cast<int>(i / 256 % 24);
        values[i] = group == 23 ? 0 : std::ldexp(values[i], group - 16);  // up to 2^8
    }
    return values;
}

/// Blocks as encoded ones, as ones of random weights and as random bits, whatever their scales then
/// are; of two-byte formats, every pattern.
std::vector<std::byte> some_blocks(format f, const std::vector<std::byte>& encoded) {
    if (info(f).block_bytes == 2) {
        std::vector<std::byte> patterns;
        for (int bits = 0; bits < 0x10000; ++bits) {
            patterns.push_back(static_cast<std::byte>(bits & 255));
            patterns.push_back(static_cast<std::byte>(bits >> 8));
        }
        return patterns;
    }
    std::vector<std::byte> blocks = encoded, weights(encoded.size());
    fill_random_blocks(f, 1, 0, weights);
    blocks.insert(blocks.end(), weights.begin(), weights.end());
    for (std::size_t i = 0; i < encoded.size(); ++i)
        blocks.push_back(static_cast<std::byte>(random_bits(2, i) & 255));
    return blocks;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::fprintf(stderr, "usage: gguf_blocks FOLDER\n");
        return 2;
    }
    for (int i = 1; i < format_count; ++i) {
        const auto f = static_cast<format>(i);
        if (info(f).role == format_role::activation || f == format::f32 || !has_codec(f)) continue;
        const std::string stem = std::string(argv[1]) + "/" + name(f);
        std::vector<std::byte> encoded(static_cast<std::size_t>(row_bytes(f, elements)));
        if (catena_test::has_encoder(f)) {
            const std::vector<float> values = some_values(7);
            encode_row(f, values, encoded);
            write(stem + ".values", values);
            write(stem + ".encoded", encoded);
        }
        const std::vector<std::byte> blocks = some_blocks(f, encoded);
        const auto count = std::ssize(blocks) / info(f).block_bytes * info(f).block_elements;
        write(stem + ".blocks", blocks);
        write(stem + ".decoded", decode_row(f, blocks, count));
    }
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "gguf_blocks: %s\n", e.what());
    return 1;
}
