// Integer mma (floats: mma_floats.cpp): where every element of a fragment lies, what comes out,
// and what happens when a warp does not come whole.
#include "launch.hpp"

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace catena_test;

namespace {

/// d[16][8] += a[16][K] * b[K][8].
template <int K>
struct product {
    std::int8_t a[16][K] = {};
    std::int8_t b[K][8] = {};
    int d[16][8] = {};

    void multiply() {
        for (int row = 0; row < 16; ++row)
            for (int column = 0; column < 8; ++column) {
                auto sum = static_cast<unsigned>(d[row][column]);
                for (int k = 0; k < K; ++k) sum += static_cast<unsigned>(a[row][k] * b[k][column]);
                d[row][column] = static_cast<int>(sum);
            }
    }
};

// The PTX ISA's formulas ("Matrix Fragments for mma.m16n8k16" and "... mma.m16n8k32", types .s8):
// element i of a lane's fragment, four to a register of a and b, one to a register of d.
struct place {
    int row, column;
};
template <int K>
place place_in_a(int lane, int i) {
    const int group = lane >> 2, in_group = lane % 4;
    const bool upper_rows = K == 16 ? i < 4 : i < 4 || (i >= 8 && i < 12);
    const int column = in_group * 4 + (i & 3);
    return {upper_rows ? group : group + 8, K == 32 && i >= 8 ? column + 16 : column};
}
place place_in_b(int lane, int i) {
    const int row = (lane % 4) * 4 + (i & 3);
    return {i < 4 ? row : row + 16, lane >> 2};
}
place place_in_d(int lane, int i) {
    return {i < 2 ? lane >> 2 : (lane >> 2) + 8, (lane % 4) * 2 + (i & 1)};
}

/// `p` multiplied by a warp of the host executor.
template <int K>
product<K> by_mma(product<K> p, std::uint64_t seed = 0) {
    host_device device(seed);
    passes(device, {.threads = 32}, [&p](host& x) {
        std::int8_t a[K / 2], b[K / 4];
        int d[4];
        for (int i = 0; i < K / 2; ++i) {
            const place at = place_in_a<K>(x.lane(), i);
            a[i] = p.a[at.row][at.column];
        }
        for (int i = 0; i < K / 4; ++i) {
            const place at = place_in_b(x.lane(), i);
            b[i] = p.b[at.row][at.column];
        }
        for (int i = 0; i < 4; ++i) {
            const place at = place_in_d(x.lane(), i);
            d[i] = p.d[at.row][at.column];
        }
        unsigned a_words[K / 8], b_words[K / 16];
        std::memcpy(a_words, a, sizeof a);
        std::memcpy(b_words, b, sizeof b);
        if constexpr (K == 32)
            x.mma(d, a_words, b_words);
        else
            x.mma(d, a_words, b_words[0]);
        for (int i = 0; i < 4; ++i) {
            const place at = place_in_d(x.lane(), i);
            p.d[at.row][at.column] = d[i];
        }
    });
    return p;
}

template <int K>
void check_products(product<K> p, std::uint64_t seed = 0) {
    const product<K> got = by_mma(p, seed);
    p.multiply();
    CHECK(std::memcmp(got.d, p.d, sizeof p.d) == 0);
}

template <int K>
void check_every_element() {
    for (int row = 0; row < 16; ++row)
        for (int k = 0; k < K; ++k) {
            product<K> p;
            p.a[row][k] = 1;
            for (int column = 0; column < 8; ++column)
                p.b[k][column] = static_cast<std::int8_t>(1 + column);
            check_products(p);
        }
}

template <int K>
void check_random() {
    std::mt19937 random(K);
    const auto byte = [&] { return static_cast<std::int8_t>(random()); };
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        product<K> p;
        for (auto& row : p.a)
            for (auto& v : row) v = byte();
        for (auto& row : p.b)
            for (auto& v : row) v = byte();
        for (auto& row : p.d)
            for (auto& v : row) v = static_cast<int>(random());
        check_products(p, seed);
    }
}

}  // namespace

TEST_CASE("mma takes and leaves every element where the PTX ISA has it") {
    check_every_element<16>();
    check_every_element<32>();
}

TEST_CASE("mma gives what a triple loop gives, in any order of threads, and wraps") {
    check_random<16>();
    check_random<32>();
    product<32> p;
    std::memset(p.a, -128, sizeof p.a);
    std::memset(p.b, -128, sizeof p.b);
    for (auto& row : p.d)
        for (auto& v : row) v = 0x7fffffff;
    check_products(p);
}

TEST_CASE("mma after mma does not mix up operands, whoever is slow") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        host_device device(seed);
        auto* y = device.allocate<int>("y", 64, memory::uninitialized);
        passes(device, {.threads = 64}, [=](host& x) {
            int d[4] = {};
            for (unsigned i = 1; i <= 5; ++i) {
                const unsigned a[4] = {i, i, 0, 0}, b[2] = {1, 1}, half[2] = {i, i};
                x.mma(d, a, b);  // each lane's words hold one value: four products of i * 1
                x.mma(d, half, 1);
            }
            x.store(y + x.thread(), d[0] + d[3]);
        });
        CHECK(std::vector<int>(y, y + 64) == std::vector<int>(64, 2 * 2 * 4 * (1 + 2 + 3 + 4 + 5)));
    }
}

TEST_CASE("an mma in which only a part of the warp takes part is caught") {
    host_device device;
    const auto body = [](bool all) {
        return [=](host& x) {
            int d[4] = {};
            const unsigned a[4] = {}, b[2] = {};
            if (all || x.lane() != 9) x.mma(d, a, b);
        };
    };
    const finding f = caught(device, fault::divergence, {.threads = 64}, body(false));
    CHECK(says(f, "2 threads (first 9) returned"));
    CHECK(says(f, "62 threads (first 0) wait at mma of K 32 (mma.cpp:"));
    passes(device, {.threads = 64}, body(true));
}

TEST_CASE("lanes that come to different mma instructions are caught") {
    host_device device;
    const finding f = caught(device, fault::divergence, {.threads = 32}, [](host& x) {
        int d[4] = {};
        const unsigned a[4] = {}, half[2] = {}, b[2] = {};
        if (x.lane() < 16)
            x.mma(d, a, b);
        else
            x.mma(d, half, 0);
    });
    CHECK(f.thread == 16);
    CHECK(says(f, "comes to mma of K 16 while thread 0 of its warp waits at mma of K 32"));
}

TEST_CASE("an mma orders no memory") {
    host_device device;
    const auto body = [](bool ordered) {
        return [=](host& x) {
            auto* s = x.shared<unsigned>(32);
            int d[4] = {};
            const unsigned a[2] = {};
            x.store(s + x.lane(), 1u);
            x.mma(d, a, 0);
            if (ordered) x.sync_warp();
            x.load(s + (x.lane() ^ 1));
        };
    };
    caught(device, fault::race, {.threads = 32, .shared_bytes = 128}, body(false));
    passes(device, {.threads = 32, .shared_bytes = 128}, body(true));
}
