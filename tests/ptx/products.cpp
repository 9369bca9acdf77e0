// The interpreter of PTX: mma and wgmma against three loops. Where an element lies is spelled here
// as the PTX ISA's tables do, element by element.
#include "snippet.hpp"

#include "catena_test/catch.hpp"

#include <bit>
#include <random>

using namespace catena_test;

namespace {

using u32 = std::uint32_t;

struct mma_case {
    std::string name;
    int m, k, bits, a_words, b_words, d_words;
    int (*a_row)(int group, int i);
    int (*a_column)(int in_group, int i);
    int (*b_row)(int in_group, int i);
};

int small(int row, int column) { return (row * 7 + column * 5 + row * column) % 11 - 5; }

u32 stored(int value, const std::string& name) {
    const auto f = std::bit_cast<u32>(static_cast<float>(value));
    if (name.find("s8") != std::string::npos) return static_cast<u32>(value) & 0xffu;
    if (name.find("tf32") != std::string::npos) return f;
    if (name.find("bf16") != std::string::npos) return f >> 16;
    const u32 sign = f >> 31, exponent = f >> 23 & 0xffu;
    if (value == 0) return 0;
    if (name.find("e4m3") != std::string::npos)
        return sign << 7 | (exponent - 120) << 3 | (f >> 20 & 7u);
    return sign << 15 | (exponent - 112) << 10 | (f >> 13 & 0x3ffu);
}

std::string words(const char* name, int first, int count) {
    std::string out = "{";
    for (int i = 0; i < count; ++i)
        out += (i == 0 ? "" : ", ") + std::string(name) + std::to_string(first + i);
    return out + "}";
}

void check(const mma_case& c) {
    INFO(c.name);
    const int each = 32 / c.bits, all = c.a_words + c.b_words;
    snippet s;
    s.in.resize(static_cast<std::size_t>(32 * all));
    s.out.resize(static_cast<std::size_t>(32 * c.d_words));
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4, in_group = lane % 4;
        for (int i = 0; i < c.a_words * each; ++i)
            s.in[static_cast<std::size_t>(lane * all + i / each)] |=
                stored(small(c.a_row(group, i), c.a_column(in_group, i)), c.name)
                << i % each * c.bits % 32;
        for (int i = 0; i < c.b_words * each; ++i)
            s.in[static_cast<std::size_t>(lane * all + c.a_words + i / each)] |=
                stored(small(c.b_row(in_group, i) + 3, group), c.name) << i % each * c.bits % 32;
    }
    const bool floats = c.name.find("s32") == std::string::npos;
    s.body = "mul.lo.s32 %r1, %r0, " + std::to_string(4 * all) +
             "; cvt.u64.u32 %d5, %r1; add.s64 %d5, %d0, %d5;\n"
             "mul.lo.s32 %r1, %r0, " +
             std::to_string(4 * c.d_words) + "; cvt.u64.u32 %d6, %r1; add.s64 %d6, %d1, %d6;\n";
    for (int i = 0; i < all; ++i)
        s.body += "ld.global.u32 %r" + std::to_string(10 + i) + ", [%d5+" + std::to_string(4 * i) +
                  "];\n";
    for (int i = 0; i < c.d_words; ++i)
        s.body += "mov.b32 %" + std::string(floats ? "f" : "r") + std::to_string(30 + i) + ", " +
                  (floats ? "0f40400000" : "3") + ";\n";
    const std::string d = words(floats ? "%f" : "%r", 30, c.d_words);
    s.body += "mma.sync.aligned." + c.name + " " + d + ", " + words("%r", 10, c.a_words) + ", " +
              words("%r", 10 + c.a_words, c.b_words) + ", " + d + ";\n";
    for (int i = 0; i < c.d_words; ++i)
        s.body += "st.global." + std::string(floats ? "f32" : "u32") + " [%d6+" +
                  std::to_string(4 * i) + "], %" + (floats ? "f" : "r") + std::to_string(30 + i) +
                  ";\n";
    REQUIRE(s.run() == "");
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < c.d_words; ++i) {
            const int row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1);
            int sum = 3;
            for (int k = 0; k < c.k; ++k) sum += small(row, k) * small(k + 3, column);
            const u32 wanted =
                floats ? std::bit_cast<u32>(static_cast<float>(sum)) : static_cast<u32>(sum);
            CHECK(s.out[static_cast<std::size_t>(lane * c.d_words + i)] == wanted);
        }
}

}  // namespace

TEST_CASE("PTX: mma is three loops over fragments that lie as the PTX ISA says") {
    const auto group = [](int g, int) { return g; };
    const auto halves_of_8 = [](int g, int i) { return i < 4 ? g : g + 8; };
    const auto four = [](int t, int i) { return t * 4 + (i & 3); };
    check({"m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 8, 1, 1, 2, group, four, four});
    check({"m16n8k16.row.col.s32.s8.s8.s32", 16, 16, 8, 2, 1, 4, halves_of_8, four, four});
    const auto rows_of_16 = [](int g, int i) { return i < 4 || (i >= 8 && i < 12) ? g : g + 8; };
    const auto columns_of_16 = [](int t, int i) { return t * 4 + (i & 3) + (i < 8 ? 0 : 16); };
    const auto rows_of_b = [](int t, int i) { return t * 4 + (i & 3) + (i < 4 ? 0 : 16); };
    for (const char* types : {"s32.s8.s8.s32", "f32.e4m3.e4m3.f32"})
        check({"m16n8k32.row.col." + std::string(types), 16, 32, 8, 4, 2, 4, rows_of_16,
               columns_of_16, rows_of_b});
    const auto pairs_rows = [](int g, int i) { return i < 2 || (i >= 4 && i < 6) ? g : g + 8; };
    const auto pairs_columns = [](int t, int i) { return t * 2 + (i & 1) + (i < 4 ? 0 : 8); };
    const auto pairs_b = [](int t, int i) { return t * 2 + (i & 1) + (i < 2 ? 0 : 8); };
    for (const char* types : {"f32.f16.f16.f32", "f32.bf16.bf16.f32"})
        check({"m16n8k16.row.col." + std::string(types), 16, 16, 16, 4, 2, 4, pairs_rows,
               pairs_columns, pairs_b});
    const auto short_rows = [](int g, int i) { return i < 2 ? g : g + 8; };
    const auto short_columns = [](int t, int i) { return t * 2 + (i & 1); };
    check({"m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16, 2, 1, 4, short_rows, short_columns,
           short_columns});
    const auto single_rows = [](int g, int i) { return i == 0 || i == 2 ? g : g + 8; };
    const auto single_columns = [](int t, int i) { return i < 2 ? t : t + 4; };
    const auto single_b = [](int t, int i) { return i == 0 ? t : t + 4; };
    check({"m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, 4, 2, 4, single_rows, single_columns,
           single_b});
}

TEST_CASE("PTX: ldmatrix deals rows of eight halves to groups of four lanes") {
    snippet s{.body =
                  "mov.u32 %r1, tile; shl.b32 %r2, %r0, 4; add.s32 %r3, %r1, %r2;\n"
                  "st.shared.v4.u32 [%r3], {%r0, %r0, %r0, %r0}; bar.warp.sync -1;\n"
                  "add.s32 %r4, %r3, 8; shl.b32 %r5, %r0, 8; st.shared.u32 [%r4], %r5;\n"
                  "bar.warp.sync -1;\n"
                  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r3];\n"
                  "st.global.u32 [%d3], %r8;",
              .shared_bytes = 512};
    s.out.resize(32);
    REQUIRE(s.run() == "");
    for (u32 t = 0; t < 32; ++t) {
        const u32 row = 16 + t / 4;
        CHECK(s.out[t] == (t % 4 == 2 ? row << 8 : row));
    }
}

namespace {

struct number_type {
    std::string name, instruction, immediates;
    int bytes;
    bool adds;
    int columns = 128;

    int sums() const { return columns / 2; }
};
const number_type halves = {"f16", "m64n128k16.f32.f16.f16", "1, 1, 1, 0, 0", 2, true};
const number_type eights = {"e4m3", "m64n128k32.f32.e4m3.e4m3", "0, 1, 1", 1, false};
const number_type few_eights = {"e4m3", "m64n64k32.f32.e4m3.e4m3", "1, 1, 1", 1, true, 64};

/// Rows of 128 bytes, swizzled: 16-byte column c of a row stands in place c ^ row % 8.
std::vector<u32> swizzled(const number_type& type, int rows, int (*value)(int, int)) {
    std::vector<u32> out(static_cast<std::size_t>(rows * 32));
    for (int r = 0; r < rows; ++r)
        for (int k = 0; k < 128 / type.bytes; ++k) {
            const int at = k * type.bytes, place = (at / 16 ^ r % 8) * 16 + at % 16;
            out[static_cast<std::size_t>(r * 32 + place / 4)] |= stored(value(r, k), type.name)
                                                                 << place % 4 * 8;
        }
    return out;
}

int of_a(int row, int k) { return small(row, k); }
int of_b(int column, int k) { return small(k + 1, column + 2); }

/// A of 64 rows at tile, B of the columns at tile + 8192, from `in`; K from byte 64 on, which is
/// four 16-byte columns further; sums are 1 before.
snippet product(const std::string& before, const std::string& after,
                const number_type& type = halves) {
    const std::string sums = words("%f", 10, type.sums());
    std::string body =
        "mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; mov.u32 %r3, 0;\n"
        "more: mul.wide.u32 %d5, %r3, 4; add.s64 %d5, %d2, %d5; ld.global.u32 %r4, [%d5];\n"
        "shl.b32 %r5, %r3, 2; add.s32 %r5, %r5, %r1; add.s32 %r5, %r5, %r2;\n"
        "st.shared.u32 [%r5], %r4; add.s32 %r3, %r3, 128;\n"
        "setp.lt.u32 %p0, %r3, " +
        std::to_string((64 + type.columns) * 32) + "; @%p0 bra more;\n";
    for (int i = 0; i < type.sums(); ++i)
        body += "mov.f32 %f" + std::to_string(10 + i) + ", 0f3F800000;\n";
    // Bits: start / 16; 1024 / 16 from eight rows to the next; mode 1.
    body += before +
            "add.s32 %r6, %r1, 64; shr.u32 %r6, %r6, 4; add.s32 %r7, %r6, 512;\n"
            "mov.u32 %r8, 0x40000040; mov.b64 %d6, {%r6, %r8}; mov.b64 %d7, {%r7, %r8};\n"
            "wgmma.mma_async.sync.aligned." +
            type.instruction + " " + sums + ", %d6, %d7, " + type.immediates +
            ";\nwgmma.commit_group.sync.aligned;\n" + after;
    body += "mul.wide.u32 %d5, %r0, 256; add.s64 %d5, %d1, %d5;\n";
    for (int i = 0; i < type.sums(); ++i)
        body += "st.global.f32 [%d5+" + std::to_string(4 * i) + "], %f" + std::to_string(10 + i) +
                ";\n";
    snippet s{.body = body, .threads = 128, .shared_bytes = 24576};
    s.in = swizzled(type, 64, of_a);
    const auto b = swizzled(type, type.columns, of_b);
    s.in.insert(s.in.end(), b.begin(), b.end());
    s.out.resize(128 * 64);
    return s;
}

const std::string seen = "fence.proxy.async.shared::cta; add.s32 %r9, %r1, %r2; bar.sync 0;\n";
const std::string fence = "wgmma.fence.sync.aligned;\n",
                  wait = "wgmma.wait_group.sync.aligned 0;\n";

}  // namespace

TEST_CASE("PTX: wgmma is three loops over swizzled tiles") {
    for (const number_type& type : {halves, eights, few_eights}) {
        INFO(type.instruction);
        snippet s = product(seen + fence, wait, type);
        REQUIRE(s.run() == "");
        int wrong = 0;
        for (int thread = 0; thread < 128; ++thread)
            for (int i = 0; i < type.sums(); ++i) {
                const int row = thread / 32 * 16 + thread % 32 / 4 + (i % 4 < 2 ? 0 : 8);
                const int column = i / 4 * 8 + thread % 4 * 2 + i % 2;
                int sum = type.adds ? 1 : 0;
                for (int k = 64 / type.bytes; k < 96 / type.bytes; ++k)
                    sum += of_a(row, k) * of_b(column, k);
                wrong += s.out[static_cast<std::size_t>(thread * 64 + i)] !=
                         std::bit_cast<u32>(static_cast<float>(sum));
            }
        CHECK(wrong == 0);
    }
}

TEST_CASE("PTX: wgmma that is not fenced, not waited for or disturbed is reported") {
    const auto found = [](const std::string& before, const std::string& after) {
        return product(before, after).run();
    };
    using Catch::Matchers::Contains;
    CHECK_THAT(found("bar.sync 0;" + fence, wait), Contains("no fence.proxy.async is in between"));
    CHECK_THAT(found(seen, wait), Contains("no wgmma.fence"));
    CHECK_THAT(found(seen + fence, ""), Contains("leaves before its wgmma has completed"));
    const std::string own_word = "st.shared.u32 [%r9+64], %r0;";  // an operand of the first warp
    CHECK_THAT(found(seen + fence, "bar.sync 0;" + own_word + wait),
               Contains("it was asked for before, and not waited for"));
    CHECK_THAT(found(seen + fence, wait + own_word), Contains("no bar.sync or mbarrier"));
    CHECK(found(seen + fence, wait + "setp.lt.u32 %p1, %r0, 32; @%p1 " + own_word) == "");
    CHECK(found(seen + fence, wait + "bar.sync 0;" + own_word) == "");
    // What is read before the wait is a NaN and no sum.
    snippet early = product(seen + fence, "mov.b32 %r9, %f10; st.global.u32 [%d3], %r9;" + wait +
                                              "setp.ge.u32 %p1, %r0, 0; @%p1 ret;");
    REQUIRE(early.run() == "");
    CHECK(early.out[5] == 0x7fbadbadu);
}
