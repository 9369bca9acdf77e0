// mma of numbers: where every element of a fragment lies, what comes out by the model that
// exec/executor.hpp states, and how fragments are loaded.
#include "launch.hpp"

#include "catena/format/half.hpp"
#include "catena/format/minifloat.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

template <format F>
constexpr int bytes_of_value = info(F).block_bytes;
template <format F>
constexpr int depth = 32 / bytes_of_value<F>;  ///< K of an mma

template <format F>
std::uint32_t bits_from(float v) {
    if (F == format::f16) return f16_from_f32(v);
    if (F == format::bf16) return bf16_from_f32(v);
    if (F == format::fp8_e4m3) return e4m3_from_f32_bits(f32_bits(v));
    return f32_bits(v) & 0xffffe000u;
}
template <format F>
float value_of(std::uint32_t bits) {
    if (F == format::f16) return f32_from_f16(static_cast<std::uint16_t>(bits));
    if (F == format::bf16) return f32_from_bf16(static_cast<std::uint16_t>(bits));
    if (F == format::fp8_e4m3)
        return f32_from_bits(f32_bits_from_e4m3(static_cast<std::uint8_t>(bits)));
    return f32_from_bits(bits & 0xffffe000u);
}

/// d[16][8] += a[16][K] * b[K][8], of values that F holds.
template <format F>
struct product {
    float a[16][depth<F>] = {};
    float b[depth<F>][8] = {};
    float d[16][8] = {};

    void multiply() {
        for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 8; ++column) {
                double sum = 0;
                for (int k = 0; k < depth<F>; ++k) sum += double{a[row][k]} * double{b[k][column]};
                d[row][column] = static_cast<float>(sum + double{d[row][column]});
            }
    }
};

// The PTX ISA's formulas ("Matrix Fragments for mma.m16n8k8" of .tf32, "... mma.m16n8k16 with
// floating point type", "... mma.m16n8k32" of .e4m3): element i of a lane's fragment.
struct place {
    int row, column;
};
template <format F>
place place_in_a(int lane, int i) {
    const int group = lane >> 2, in_group = lane % 4;
    switch (depth<F>) {
        case 8:  // row: i is 0 or 2; column: i < 2
            return {i == 0 || i == 2 ? group : group + 8, i < 2 ? in_group : in_group + 4};
        case 16:
            return {i < 2 || (i >= 4 && i < 6) ? group : group + 8,
                    in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
        default:
            return {i < 4 || (i >= 8 && i < 12) ? group : group + 8,
                    in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
    }
}
template <format F>
place place_in_b(int lane, int i) {
    const int group = lane >> 2, in_group = lane % 4;
    switch (depth<F>) {
        case 8:
            return {i == 0 ? in_group : in_group + 4, group};
        case 16:
            return {in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
        default:
            return {in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group};
    }
}
place place_in_d(int lane, int i) {
    return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)};
}

/// Puts value i of a fragment into its words.
template <format F>
void put(unsigned* words, int i, float v) {
    const int per_word = 4 / bytes_of_value<F>;
    words[i / per_word] |= bits_from<F>(v) << (i % per_word * 8 * bytes_of_value<F>);
}

template <format F>
void check_product(product<F> p, std::uint64_t seed = 0) {
    product<F> got = p;
    host_device device(seed);
    passes(device, {.threads = 32}, [&got, &p](host& x) {
        unsigned a[4] = {}, b[2] = {};
        real d[4];
        for (int i = 0; i < depth<F> / 2; ++i) {
            const place at = place_in_a<F>(x.lane(), i);
            put<F>(a, i, p.a[at.row][at.column]);
        }
        for (int i = 0; i < depth<F> / 4; ++i) {
            const place at = place_in_b<F>(x.lane(), i);
            put<F>(b, i, p.b[at.row][at.column]);
        }
        for (int i = 0; i < 4; ++i) {
            const place at = place_in_d(x.lane(), i);
            d[i] = {p.d[at.row][at.column]};
        }
        x.mma<F>(d, a, b);
        for (int i = 0; i < 4; ++i) {
            const place at = place_in_d(x.lane(), i);
            got.d[at.row][at.column] = d[i].v;
        }
    });
    p.multiply();
    CHECK(std::memcmp(got.d, p.d, sizeof p.d) == 0);
}

template <format F>
void check_every_element() {
    for (int row = 0; row < 16; ++row)
        for (int k = 0; k < depth<F>; ++k) {
            product<F> p;
            p.a[row][k] = 1;
            for (int column = 0; column < 8; ++column)
                p.b[k][column] = static_cast<float>(1 + column);
            check_product(p);
        }
}

template <format F>
void check_random() {
    std::mt19937 random(static_cast<unsigned>(F));
    std::normal_distribution<float> normal(0, 4);
    const auto value = [&] { return value_of<F>(bits_from<F>(normal(random))); };
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        product<F> p;
        for (auto& row : p.a)
            for (float& v : row) v = value();
        for (auto& row : p.b)
            for (float& v : row) v = value();
        for (auto& row : p.d)
            for (float& v : row) v = normal(random);
        check_product(p, seed);
    }
}

}  // namespace

TEST_CASE("mma of numbers takes and leaves every element where the PTX ISA has it") {
    check_every_element<format::f16>();
    check_every_element<format::bf16>();
    check_every_element<format::f32>();
    check_every_element<format::fp8_e4m3>();
}

TEST_CASE("mma of numbers adds exact products in double and rounds once") {
    check_random<format::f16>();
    check_random<format::bf16>();
    check_random<format::f32>();
    check_random<format::fp8_e4m3>();
}

TEST_CASE("what f32 has beyond tf32 does not count in an mma") {
    host_device device;
    auto* y = device.allocate<float>("y", 32, memory::uninitialized);
    passes(device, {.threads = 32}, [=](host& x) {
        const unsigned one = f32_bits(1.0f) | 0x1fffu;
        real d[4] = {{0}, {0}, {0}, {0}};
        x.mma<format::f32>(d, {one, one, one, one}, {one, one});
        x.store(y + x.lane(), d[0]);
    });
    CHECK(std::vector<float>(y, y + 32) == std::vector<float>(32, 8.0f));
}

TEST_CASE("tf32 is rounded to nearest, ties away from zero, and a NaN stays one") {
    CHECK(to_tf32({1}) == 0x3f800000u);
    CHECK(to_tf32(from_bits(0x3f800fffu)) == 0x3f800000u);
    CHECK(to_tf32(from_bits(0x3f801000u)) == 0x3f802000u);
    CHECK(to_tf32(from_bits(0xbf801000u)) == 0xbf802000u);
    CHECK(to_tf32(from_bits(0x7f7fffffu)) == 0x7f800000u);
    CHECK(to_tf32({-std::numeric_limits<float>::infinity()}) == 0xff800000u);
    CHECK(is_nan(from_bits(to_tf32(from_bits(0xffffffffu)))));
}

TEST_CASE("two numbers in a word are rounded as one is") {
    for (const float v : {1.0f, -2.4f, 65519.0f, 65520.0f, 1e-8f, 3.39e38f}) {
        const real low{v}, high{-v / 3};
        CHECK(to_half_pair(low, high) ==
              (to_half(low) | static_cast<std::uint32_t>(to_half(high)) << 16));
        CHECK(to_bfloat16_pair(low, high) ==
              (to_bfloat16(low) | static_cast<std::uint32_t>(to_bfloat16(high)) << 16));
    }
}

TEST_CASE("lanes that come to an mma of another type are caught") {
    host_device device;
    const finding f = caught(device, fault::divergence, {.threads = 32}, [](host& x) {
        real d[4] = {{0}, {0}, {0}, {0}};
        int n[4] = {};
        const unsigned a[4] = {}, b[2] = {};
        if (x.lane() < 16)
            x.mma<format::f16>(d, a, b);
        else
            x.mma(n, a, b);
    });
    CHECK(says(f, "comes to mma of K 32 while thread 0 of its warp waits at mma of f16"));
}

TEST_CASE("load_matrices deals rows of 16 bytes to four lanes each, from aligned addresses") {
    host_device device;
    const auto body = [](int skew, unsigned* y) {
        return [=](host& x) {
            auto* s = x.shared<unsigned>(32 * 4 + 4);
            for (int i = 0; i < 4; ++i)
                x.store(s + 4 * x.lane() + i, static_cast<unsigned>(10 * x.lane() + i));
            if (x.lane() == 0) x.store(s + 128, 0u);
            x.sync_warp();
            unsigned v[4];
            x.load_matrices(v, [s, skew](int row) { return s + 4 * row + skew; });
            for (int i = 0; i < 4; ++i) x.store(y + 4 * x.lane() + i, v[i]);
        };
    };
    auto* y = device.allocate<unsigned>("y", 128, memory::uninitialized);
    passes(device, {.threads = 32, .shared_bytes = 528}, body(0, y));
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4; ++i)
            CHECK(y[4 * lane + i] == 10 * (8 * i + lane / 4) + lane % 4);
    caught(device, fault::misaligned, {.threads = 32, .shared_bytes = 528}, body(1, y));
}
