// A warpgroup's multiplication: where every element of its operands and sums lies, what comes out
// by the model that exec/executor.hpp states, and what is caught that a GPU would not say.
#include "launch.hpp"

#include "catena/format/float_weights.hpp"
#include "catena/format/half.hpp"
#include "catena/format/minifloat.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

using namespace catena;
using namespace catena_test;
using catena::exec::wgmma_operand;

namespace {

constexpr int rows = 64, columns = 24, row_bytes = 128;  // a whole row of the swizzle
constexpr int stride = 2048;                             // of the columns: gaps between eight
constexpr int columns_at = rows * 128;
constexpr launch_config warpgroup = {.threads = 128,
                                     .shared_bytes = columns_at + columns / 8 * stride};

constexpr int bytes_of(format f) { return info(f).block_bytes; }
constexpr int depth_of(format f) { return row_bytes / bytes_of(f); }

std::uint16_t bits_from(format f, float v) {
    if (f == format::fp8_e4m3) return e4m3_from_f32_bits(f32_bits(v));
    return f == format::f16 ? f16_from_f32(v) : bf16_from_f32(v);
}
float value_of(format f, std::uint16_t bits) {
    if (f == format::fp8_e4m3)
        return f32_from_bits(f32_bits_from_e4m3(static_cast<std::uint8_t>(bits)));
    return f == format::f16 ? f32_from_f16(bits) : f32_from_bf16(bits);
}

/// d[64][24] += a * b over a row of the swizzle, of values that the format holds.
struct product {
    float a[rows][row_bytes] = {};
    float b[row_bytes][columns] = {};
    float d[rows][columns] = {};

    /// 32 bytes of K at a time.
    void multiply(format f) {
        const int step = 32 / bytes_of(f);
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column)
                for (int first = 0; first < depth_of(f); first += step) {
                    double sum = 0;
                    for (int k = first; k < first + step; ++k)
                        sum += double{a[row][k]} * double{b[k][column]};
                    d[row][column] = static_cast<float>(sum + double{d[row][column]});
                }
    }
};

// The PTX ISA: of K-major operands with the 128-byte swizzle eight rows of 128 bytes are next to
// each other, and bits 4 to 6 of an address are those of the plain layout xor bits 7 to 9.
int place_in_operand(int row, int byte, int row_stride) {
    const int plain = row / 8 * row_stride + row % 8 * row_bytes + byte;
    return plain ^ ((plain >> 7 & 7) << 4);
}
/// "Register Fragments for wgmma.mma_async.m64nNk16": element i of d.
int row_of_sum(int thread, int i) { return thread / 32 * 16 + (thread % 32) / 4 + (i / 2) % 2 * 8; }
int column_of_sum(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

/// What the body under test leaves out, in the sequence of the calls.
enum class step { none, async_fence, sync, wgmma_fence, commit, wait };

std::uint16_t* at(std::byte* base, int row, int k, int row_stride) {
    return reinterpret_cast<std::uint16_t*>(base + place_in_operand(row, 2 * k, row_stride));
}

/// Puts an element of an operand where it belongs.
template <class X>
void store_element(X& x, std::byte* base, format f, int row, int k, int row_stride, float v) {
    std::byte* to = base + place_in_operand(row, k * bytes_of(f), row_stride);
    if (bytes_of(f) == 2)
        x.store(reinterpret_cast<std::uint16_t*>(to), bits_from(f, v));
    else
        x.store(reinterpret_cast<std::uint8_t*>(to), static_cast<std::uint8_t>(bits_from(f, v)));
}

/// Puts a thread's share of both operands where they belong.
template <class X>
void store_operands(X& x, std::byte* shared, format f, const product& p) {
    const int depth = depth_of(f);
    for (int i = x.thread(); i < rows * depth; i += x.threads())
        store_element(x, shared, f, i / depth, i % depth, 1024, p.a[i / depth][i % depth]);
    for (int i = x.thread(); i < columns * depth; i += x.threads())
        store_element(x, shared + columns_at, f, i / depth, i % depth, stride,
                      p.b[i % depth][i / depth]);
}

template <format F>
auto multiplies(product& p, step left_out = step::none) {
    return [&p, left_out](host& x) {
        auto* shared = x.shared<std::byte>(warpgroup.shared_bytes);
        store_operands(x, shared, F, p);
        if (left_out != step::async_fence) x.async_fence();
        if (left_out != step::sync) x.sync();
        real sum[1][columns / 8][4];
        for (int i = 0; i < columns / 2; ++i)
            sum[0][i / 4][i % 4] = {p.d[row_of_sum(x.thread(), i)][column_of_sum(x.thread(), i)]};
        wgmma_operand a = x.operand_at(shared, 1024), b = x.operand_at(shared + columns_at, stride);
        if (left_out != step::wgmma_fence) x.wgmma_fence();
        for (int k = 0; k < row_bytes; k += 32, a = a + 32, b = b + 32) x.wgmma<F>(sum[0], a, b);
        if (left_out != step::commit) x.wgmma_commit();
        if (left_out != step::wait) x.wgmma_wait<0>(sum);
        for (int i = 0; i < columns / 2; ++i)
            p.d[row_of_sum(x.thread(), i)][column_of_sum(x.thread(), i)] = sum[0][i / 4][i % 4].v;
    };
}

template <format F>
void check_product(product p, std::uint64_t seed = 0) {
    product got = p;
    host_device device(seed);
    passes(device, warpgroup, multiplies<F>(got));
    p.multiply(F);
    CHECK(std::memcmp(got.d, p.d, sizeof p.d) == 0);
}

template <format F>
void check_elements_and_sums() {
    std::mt19937 random(static_cast<unsigned>(F));
    std::normal_distribution<float> normal(0, 4);
    const auto value = [&] { return value_of(F, bits_from(F, normal(random))); };
    for (int k = 0; k < depth_of(F);
         ++k) {  // one value of K alone: every element tells where it is from
        product p;
        for (int row = 0; row < rows; ++row) p.a[row][k] = static_cast<float>(1 + row);
        for (int column = 0; column < columns; ++column)
            p.b[k][column] = static_cast<float>(1 << column % 8);
        if (F == format::fp8_e4m3)  // which holds four bits of them
            for (auto& row : p.a) row[k] = value_of(F, bits_from(F, row[k]));
        check_product<F>(p);
    }
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        product p;
        for (auto& row : p.a)
            for (float& v : row) v = value();
        for (auto& row : p.b)
            for (float& v : row) v = value();
        for (auto& row : p.d)
            for (float& v : row) v = normal(random);
        check_product<F>(p, seed);
    }
}

finding without(step s, fault kind) {
    product p;
    host_device device;
    return caught(device, kind, warpgroup, multiplies<format::f16>(p, s));
}

/// A body that multiplies and, before it waits, does `meanwhile(x, shared)`.
template <class Meanwhile>
auto multiplies_and(Meanwhile meanwhile) {
    return [=](host& x) {
        auto* shared = x.shared<std::byte>(warpgroup.shared_bytes);
        store_operands(x, shared, format::f16, product{});
        x.async_fence();
        x.sync();
        real sum[1][columns / 8][4] = {};
        x.wgmma_fence();
        x.wgmma<format::f16>(sum[0], x.operand_at(shared, 1024),
                             x.operand_at(shared + columns_at, stride));
        x.wgmma_commit();
        meanwhile(x, shared, sum);
        x.wgmma_wait<0>(sum);
    };
}

}  // namespace

TEST_CASE(
    "wgmma takes and leaves every element where the PTX ISA has it, and rounds once for each "
    "call") {
    check_elements_and_sums<format::f16>();
    check_elements_and_sums<format::bf16>();
    check_elements_and_sums<format::fp8_e4m3>();
}

TEST_CASE("A wgmma that does not add starts its sums anew, in every thread") {
    product p;
    for (auto& row : p.a) row[5] = 2;
    for (float& v : p.b[5]) v = 3;
    const auto body = [&p](auto adds) {
        return [&p, adds](host& x) {
            auto* shared = x.shared<std::byte>(warpgroup.shared_bytes);
            store_operands(x, shared, format::fp8_e4m3, p);
            x.async_fence();
            x.sync();
            real sum[1][columns / 8][4];
            for (auto& tile : sum[0])
                for (real& v : tile) v = real{100};
            const wgmma_operand a = x.operand_at(shared, 1024),
                                b = x.operand_at(shared + columns_at, stride);
            x.wgmma_fence();
            if (adds(x))
                x.wgmma<format::fp8_e4m3>(sum[0], a, b);
            else
                x.wgmma<format::fp8_e4m3, false>(sum[0], a, b);
            x.wgmma_commit();
            x.wgmma_wait<0>(sum);
            CHECK(sum[0][2][3].v == (adds(x) ? 106 : 6));
        };
    };
    host_device device;
    passes(device, warpgroup, body([](host&) { return false; }));
    passes(device, warpgroup, body([](host&) { return true; }));
    const finding f =
        caught(device, fault::divergence, warpgroup, body([](host& x) { return x.warp() == 1; }));
    CHECK(says(f, "multiplies other operands than a thread before it"));
}

TEST_CASE("An operand's descriptor has the fields of the PTX ISA") {
    constexpr wgmma_operand o = wgmma_operand::at(0x23400, 2048) + 96;
    CHECK((o.bits & 0x3fff) == 0x2346);           // address / 16
    CHECK((o.bits >> 32 & 0x3fff) == 2048 / 16);  // stride / 16
    CHECK(o.bits >> 62 == 1);                     // swizzle of 128 bytes
    CHECK((o.bits >> 49 & 7) == 0);               // the pattern starts at a multiple of 1024
    CHECK(o.address() == 0x23460);
    CHECK(o.stride() == 2048);
    for (int row = 0; row < 24; ++row)
        for (int chunk = 0; chunk < 8; ++chunk)
            CHECK(exec::swizzled(row, chunk, stride) == place_in_operand(row, 16 * chunk, stride));
}

TEST_CASE("A step that is left out of a warpgroup's multiplication is caught") {
    CHECK(says(without(step::async_fence, fault::race), "which tensor cores need not see yet"));
    CHECK(says(without(step::sync, fault::race), "put a sync between"));
    CHECK(says(without(step::wgmma_fence, fault::race), "wgmma_fence first"));
    CHECK(says(without(step::commit, fault::stream), "wgmma_commit and wgmma_wait<0> first"));
    CHECK(says(without(step::wait, fault::stream), "wgmma_commit and wgmma_wait<0> first"));
}

TEST_CASE("An operand that is written before the wait is caught, with a sync between or without") {
    host_device device;
    const auto write = [](host& x, std::byte* shared) {
        // Row 0 is read for this thread's warp, by the lane that comes last: this one.
        if (x.thread() == 31) x.store(at(shared, 0, 3, 1024), std::uint16_t{1});
    };
    caught(device, fault::race, warpgroup,
           multiplies_and([=](host& x, std::byte* shared, auto&) { write(x, shared); }));
    const finding f = caught(device, fault::race, warpgroup,
                             multiplies_and([=](host& x, std::byte* shared, auto&) {
                                 x.sync();
                                 write(x, shared);
                                 x.sync();
                             }));
    CHECK(says(f, "written while a wgmma might still read it"));
    passes(device, warpgroup, multiplies_and([=](host& x, std::byte* shared, auto& sum) {
               x.template wgmma_wait<0>(sum);
               x.sync();
               write(x, shared);
           }));
}

TEST_CASE("Sums that are read before the wait are NaN; groups are waited for from the oldest on") {
    host_device device;
    passes(device, warpgroup, multiplies_and([](host& x, std::byte* shared, auto& sum) {
               CHECK(is_nan(sum[0][2][3]));
               real more[1][columns / 8][4] = {};
               x.wgmma<format::f16>(more[0], x.operand_at(shared, 1024),
                                    x.operand_at(shared + columns_at, stride));
               x.wgmma_commit();
               x.wgmma_wait<1>(sum);
               CHECK(sum[0][2][3].v == 0);
               CHECK(is_nan(more[0][0][0]));
               x.wgmma_wait<0>(more);
               CHECK(more[0][0][0].v == 0);
           }));
}

TEST_CASE(
    "Operands of threads that differ, off their pattern, or outside shared memory are caught") {
    host_device device;
    const auto with = [](auto operand_of) {
        return [=](host& x) {
            auto* shared = x.shared<std::byte>(warpgroup.shared_bytes);
            store_operands(x, shared, format::f16, product{});
            x.async_fence();
            x.sync();
            real sum[1][columns / 8][4] = {};
            x.wgmma_fence();
            x.wgmma<format::f16>(sum[0], operand_of(x, shared),
                                 x.operand_at(shared + columns_at, stride));
            x.wgmma_commit();
            x.wgmma_wait<0>(sum);
        };
    };
    passes(device, warpgroup, with([](host& x, std::byte* s) { return x.operand_at(s, 1024); }));
    const finding f = caught(device, fault::divergence, warpgroup, with([](host& x, std::byte* s) {
                                 return x.operand_at(s, 1024) + (x.warp() == 2 ? 32 : 0);
                             }));
    CHECK(says(f, "multiplies other operands than a thread before it"));
    caught(device, fault::misaligned, warpgroup,
           with([](host& x, std::byte* s) { return x.operand_at(s + 128, 1024); }));
    static std::byte outside[1024];
    caught(device, fault::body, warpgroup,
           with([](host& x, std::byte*) { return x.operand_at(outside, 1024); }));
    caught(device, fault::out_of_bounds, warpgroup,
           with([](host& x, std::byte* s) { return x.operand_at(s, 2048) + 8 * 1024; }));
    CHECK(says(caught(device, fault::out_of_bounds, warpgroup, with([](host& x, std::byte* s) {
                          return x.operand_at(s, 1024) + 32 * 1024;
                      })),
               "outside all shared arrays: check the operand's address and stride"));
}

TEST_CASE("A warp that multiplies alone, and a block that is no whole warpgroup, are caught") {
    host_device device;
    product p;
    const auto body = multiplies<format::f16>(p);
    launch_config two_warps = warpgroup;
    two_warps.threads = 64;
    caught(device, fault::body, two_warps, body);
    const finding f = caught(
        device, fault::stream, warpgroup, multiplies_and([](host& x, std::byte* shared, auto& sum) {
            if (x.warp() == 3) return;
            const auto b = x.operand_at(shared + columns_at, stride);
            x.template wgmma<format::f16>(sum[0], x.operand_at(shared, 1024), b);
            x.wgmma_commit();
        }));
    CHECK(says(f, "returns with fewer wgmma than another thread of its warpgroup"));
}
