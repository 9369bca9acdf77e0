// A weight format taken apart is what its codec decodes, wherever the block lies.
#include "catena/format/random.hpp"
#include "catena/kernel/unpack/all.hpp"
#include "catena_test/catch.hpp"

#include <array>
#include <cstring>
#include <vector>

using namespace catena;
using namespace catena::kernel;

namespace {

/// An executor of one thread that reads around one block, and only where a lane may.
struct reader {
    const std::byte* block;
    std::size_t bytes;
    std::size_t faults = 0;

    template <class T>
    T load(const T* p) {
        return read<T>(p, sizeof(T) == 4);
    }
    word4 load16(const void* p) { return read<word4>(p, false); }
    unsigned permute(unsigned low, unsigned high, unsigned pick) const {
        unsigned picked = 0;
        for (int at = 0; at < 32; at += 8, pick >>= 4) {
            const auto byte = (std::uint64_t{high} << 32 | low) >> (pick & 7) * 8 & 255;
            picked |= static_cast<unsigned>((pick & 8) == 0 ? byte : byte / 128 * 255) << at;
        }
        return picked;
    }
    unsigned funnel(unsigned low, unsigned high, unsigned bits) const {
        return static_cast<unsigned>(((std::uint64_t{high} << 32) | low) >> (bits % 32));
    }
    unsigned funnel_up(unsigned low, unsigned high, unsigned bits) const {
        return bits % 32 == 0 ? high : funnel(low, high, 32 - bits % 32);
    }

  private:
    template <class T>
    T read(const void* p, bool half_inside) {
        const auto* at = static_cast<const std::byte*>(p);
        const auto first = at - block, end = first + static_cast<std::ptrdiff_t>(sizeof(T));
        const auto size = static_cast<std::ptrdiff_t>(bytes);
        const bool inside = half_inside ? end > 0 && first < size : first >= 0 && end <= size;
        if (!inside || reinterpret_cast<std::uintptr_t>(at) % alignof(T) != 0) ++faults;
        T v;
        std::memcpy(&v, at, sizeof v);
        return v;
    }
};

double value_of(int word, int i) { return static_cast<std::int8_t>(word >> (8 * i)); }

template <class Scales>
double min_of([[maybe_unused]] const Scales& s, [[maybe_unused]] int half) {
    if constexpr (requires { s.min; })
        return s.min[half].v;
    else
        return 0;
}

/// Words with an excess are what they should be without it, one by one and all at once.
template <format F>
void check_raw_words(reader& x, int group, const int (&all)[group_words]) {
    if constexpr (excess_of<F> != 0) {
        int raw[group_words];
        raw_words<F>(x, x.block, group, 0, raw);
        for (int w = 0; w < group_words; ++w) {
            int one[1];
            raw_words<F>(x, x.block, group, w, one);
            CHECK(one[0] == raw[w]);
            for (int i = 0; i < 4; ++i)
                CHECK(value_of(raw[w], i) == value_of(all[w], i) + excess_of<F>);
        }
    }
}

/// Transposed words: their bytes, without the excess, in their places.
template <format F>
void check_transposed_words(reader& x, int group, const int (&all)[group_words]) {
    if constexpr (has_transposed<F>) {
        int q[group_words], places[group_words];
        unpack<F>::transposed_words(x, x.block, group, q);
        for (int w = 0; w < group_words; ++w) places[w] = 0x03020100 + 0x04040404 * w;
        transpose(x, places[0], places[1], places[2], places[3]);
        transpose(x, places[4], places[5], places[6], places[7]);
        for (int w = 0; w < group_words; ++w)
            for (int i = 0; i < 4; ++i) {
                const auto place = static_cast<int>(value_of(places[w], i));
                CHECK(value_of(q[w], i) - unpack<F>::transposed_excess ==
                      value_of(all[place / 4], place % 4));
            }
    }
}

/// Words times an integer scale, and mins, what those are with scales of their own.
template <format F>
void check_scaled_words(reader& x, int group, const int (&all)[group_words]) {
    if constexpr (has_integer_scales<F>) {
        const auto scales = unpack<F>::scales_of(x, x.block, group);
        const auto factors = unpack<F>::factors_of(x, x.block);
        for (int w = 0; w < group_words; w += 2) {
            const integer_scale s = unpack<F>::integers_of(x, x.block, group, w / 4);
            int pair[2];
            unpack<F>::scaled_pair(x, x.block, group, w / 2, s, pair);
            for (int i = 0; i < 8; ++i)
                CHECK(double{factors.scale[0].v} * value_of(pair[i / 4], i % 4) ==
                      double{scales.scale[w / 4].v} * value_of(all[w + i / 4], i % 4));
            if constexpr (unpack<F>::mins)
                for (int i = 0; i < 4; ++i)
                    CHECK(min_of(factors, 0) * value_of(s.rest, i) == min_of(scales, w / 4));
        }
    }
}

/// The block's values by `unpack`, its words one by one and all at once.
template <format F>
std::vector<double> taken_apart(reader& x) {
    std::vector<double> out;
    for (int group = 0; group < block_groups<F>; ++group) {
        const auto scales = unpack<F>::scales_of(x, x.block, group);
        int all[group_words];
        unpack<F>::template words<group_words>(x, x.block, group, 0, all);
        check_raw_words<F>(x, group, all);
        check_scaled_words<F>(x, group, all);
        check_transposed_words<F>(x, group, all);
        for (int w = 0; w < group_words; ++w) {
            int one[1];
            unpack<F>::template words<1>(x, x.block, group, w, one);
            CHECK(one[0] == all[w]);
            const int half = unpack<F>::scales == 1 ? 0 : w / 4;
            for (int i = 0; i < 4; ++i)
                out.push_back(double{scales.scale[half].v} * value_of(all[w], i) -
                              min_of(scales, half));
        }
    }
    return out;
}

/// Is the block at x taken apart as its codec decodes it?
template <format F>
void check_block(reader& x) {
    double wanted[info(F).block_elements];
    typename codec<F>::block block;
    std::memcpy(&block, x.block, x.bytes);
    codec<F>::decode(&block, wanted);
    CHECK(taken_apart<F>(x) == std::vector<double>(std::begin(wanted), std::end(wanted)));
    CHECK(x.faults == 0);
}

template <format F>
void check_format() {
    INFO(name(F));
    constexpr std::size_t bytes = info(F).block_bytes;
    std::vector<std::byte> noise(40 * bytes);
    fill_random_blocks(F, 7, 0, noise);
    alignas(16) std::array<std::byte, bytes + 48> memory{};
    for (std::size_t b = 0; b < 40; ++b) {
        const std::size_t offset = 16 + b * block_alignment<F> % 16;
        std::memcpy(memory.data() + offset, noise.data() + b * bytes, bytes);
        reader x{memory.data() + offset, bytes};
        INFO("block " << b);
        check_block<F>(x);
    }
}

}  // namespace

TEST_CASE("a weight format taken apart is what its codec decodes, at every alignment") {
    [&]<int... I>(std::integer_sequence<int, I...>) {
        const auto one = [&]<format F>(std::integral_constant<format, F>) {
            if constexpr (info(F).role == format_role::weight && has_codec(F) &&
                          F != format::fp8_e4m3)  // no int8 holds it
                check_format<F>();
        };
        (one(std::integral_constant<format, static_cast<format>(I)>{}), ...);
    }
    (std::make_integer_sequence<int, format_count>{});
}

TEST_CASE("every scale of mxfp4 but NaN is what its codec decodes, subnormal numbers too") {
    alignas(16) std::array<std::byte, 64> memory{};
    const std::size_t bytes = info(format::mxfp4).block_bytes;
    for (int e = 0; e < 255; ++e) {
        for (std::size_t i = 0; i < bytes; ++i) memory[16 + i] = static_cast<std::byte>(17 * i);
        memory[16] = static_cast<std::byte>(e);
        reader x{memory.data() + 16, bytes};
        INFO("scale " << e);
        check_block<format::mxfp4>(x);
    }
}

TEST_CASE("a scale of nvfp4 that is NaN counts as zero, as its codec decodes it") {
    alignas(16) std::array<std::byte, 80> memory{};
    const std::size_t bytes = info(format::nvfp4).block_bytes;
    for (std::size_t i = 0; i < bytes; ++i) memory[16 + i] = static_cast<std::byte>(17 * i);
    for (std::size_t i = 0; i < 4; ++i) memory[16 + i] = std::byte{0x7f};
    reader x{memory.data() + 16, bytes};
    check_block<format::nvfp4>(x);
}
