// The interpreter of PTX: what instructions give, as the PTX ISA says it, of values at the edges.
#include "snippet.hpp"

#include "catena_test/catch.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <set>

using namespace catena_test;

namespace {

using u32 = std::uint32_t;

/// One instruction from %r1 .. %r4 (%f1 .. %f4) to %r0; every lane gives the same.
u32 result(const std::string& text, const std::vector<u32>& operands) {
    std::string body;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const std::string n = std::to_string(i + 1);
        body += "ld.global.u32 %r" + n + ", [%d0+" + std::to_string(4 * i) + "];\n";
        body += "mov.b32 %f" + n + ", %r" + n + "; cvt.u16.u32 %h" + n + ", %r" + n + ";\n";
    }
    snippet s{.body = body + text + "\nst.global.u32 [%d3], %r0;", .in = operands};
    s.out.resize(32);
    REQUIRE(s.run() == "");
    for (const u32 v : s.out) REQUIRE(v == s.out[0]);
    return s.out[0];
}

u32 of_floats(const std::string& op, const std::vector<float>& operands) {
    std::vector<u32> bits;
    for (const float f : operands) bits.push_back(std::bit_cast<u32>(f));
    return result(op + " mov.b32 %r0, %f0;", bits);
}

u32 bits(float v) { return std::bit_cast<u32>(v); }

}  // namespace

TEST_CASE("PTX: integer instructions") {
    CHECK(result("shl.b32 %r0, %r1, %r2;", {1, 31}) == 0x80000000u);
    CHECK(result("shl.b32 %r0, %r1, %r2;", {1, 32}) == 0);
    CHECK(result("shr.s32 %r0, %r1, %r2;", {0x80000000u, 99}) == 0xffffffffu);
    CHECK(result("shr.u32 %r0, %r1, %r2;", {0x80000000u, 31}) == 1);
    CHECK(result("shf.r.wrap.b32 %r0, %r1, %r2, %r3;", {0x11223344u, 0xaabbccddu, 40}) ==
          0xdd112233u);
    CHECK(result("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", {0x11223344u, 0xaabbccddu, 40}) ==
          0xbbccdd11u);
    CHECK(result("prmt.b32 %r0, %r1, %r2, %r3;", {0x03020180u, 0x87060504u, 0x7654u}) ==
          0x87060504u);
    CHECK(result("prmt.b32 %r0, %r1, %r2, %r3;", {0x03020180u, 0x87060504u, 0xf819u}) ==
          0xffff0100u);
    CHECK(result("bfi.b32 %r0, %r1, %r2, %r3, %r4;", {0xffu, 0, 28, 8}) == 0xf0000000u);
    CHECK(result("bfe.u32 %r0, %r1, %r2, %r3;", {0xabcd1234u, 8, 8}) == 0x12);
    CHECK(result("bfe.s32 %r0, %r1, %r2, %r3;", {0xabcd8234u, 8, 8}) == 0xffffff82u);
    CHECK(result("lop3.b32 %r0, %r1, %r2, %r3, 0xca;", {0xf0f0f0f0u, 0x12345678u, 0x9abcdef0u}) ==
          ((0xf0f0f0f0u & 0x12345678u) | (~0xf0f0f0f0u & 0x9abcdef0u)));
    CHECK(result("dp4a.s32.s32 %r0, %r1, %r2, %r3;", {0x80ff017fu, 0x80010281u, 5}) ==
          static_cast<u32>(5 + 127 * -127 + 1 * 2 + -1 * 1 + -128 * -128));
    CHECK(result("dp4a.u32.s32 %r0, %r1, %r2, %r3;", {0x80ff017fu, 0x80010281u, 5}) ==
          static_cast<u32>(5 + 127 * -127 + 1 * 2 + 255 * 1 + 128 * -128));
    CHECK(result("mul.hi.s32 %r0, %r1, %r2;", {0x80000000u, 2}) == 0xffffffffu);
    CHECK(result("div.s32 %r0, %r1, %r2;", {0xfffffff9u, 2}) == 0xfffffffdu);
    CHECK(result("rem.s32 %r0, %r1, %r2;", {0xfffffff9u, 2}) == 0xffffffffu);
    CHECK(result("cvt.s32.s8 %r0, %r1;", {0x80}) == 0xffffff80u);
    CHECK(result("mov.b64 %d5, {%r1, %r2}; cvt.s64.s32 %d5, %d5; mov.b64 {%r1, %r0}, %d5;",
                 {0x80000000u}) == 0xffffffffu);
    CHECK(result("popc.b32 %r0, %r1;", {0xf0f00001u}) == 9);
    CHECK(result("mov.b32 %r0, {%h1, %h2};", {0x1234, 0xabcd}) == 0xabcd1234u);
    CHECK(result("mov.b32 {%h3, %h4}, %r1; cvt.u32.u16 %r0, %h4;", {0xabcd1234u}) == 0xabcd);
    CHECK(result("setp.gt.s16 %p0, %h1, 0; selp.b32 %r0, 1, 2, %p0;", {0xffff}) == 2);
    CHECK(result("mul.wide.u16 %r0, %h1, %h2;", {0xffff, 0xffff}) == 0xfffe0001u);
}

TEST_CASE("PTX: floating-point instructions round once and as they say") {
    const float tiny = 0x1p-149f, huge = std::numeric_limits<float>::max();
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("1");
    CHECK(of_floats("add.rn.f32 %f0, %f1, %f2;", {1, 0x1p-24f}) == bits(1));
    CHECK(of_floats("add.rn.f32 %f0, %f1, %f2;", {nan, 1}) == 0x7fffffffu);
    CHECK(of_floats("add.rz.f32 %f0, %f1, %f2;", {0x1.fffffep-2f, 0.5f}) == bits(0x1.fffffep-1f));
    CHECK(of_floats("add.rz.f32 %f0, %f1, %f2;", {-1, -0x1.8p-24f}) == bits(-1));
    CHECK(of_floats("add.rz.f32 %f0, %f1, %f2;", {huge, huge}) == bits(huge));
    CHECK(of_floats("mul.rn.f32 %f0, %f1, %f2;", {tiny, 0.75f}) == bits(tiny));
    CHECK(of_floats("fma.rn.f32 %f0, %f1, %f2, %f3;", {1 + 0x1p-12f, 1 + 0x1p-12f, -1}) ==
          bits(0x1p-11f + 0x1p-24f));
    CHECK(of_floats("div.rn.f32 %f0, %f1, %f2;", {1, 3}) == bits(1.0f / 3.0f));
    CHECK(of_floats("sqrt.rn.f32 %f0, %f1;", {-1}) == 0x7fffffffu);
    CHECK(of_floats("copysign.f32 %f0, %f1, %f2;", {-1, 2}) == bits(-2));
    const auto to_int = [](float v) { return result("cvt.rzi.s32.f32 %r0, %f1;", {bits(v)}); };
    CHECK(to_int(-1.9f) == 0xffffffffu);
    CHECK(to_int(3e9f) == 0x7fffffffu);
    CHECK(to_int(nan) == 0);
    const auto half = [](float v) {
        return result("cvt.rn.f16.f32 %h5, %f1; cvt.u32.u16 %r0, %h5;", {bits(v)});
    };
    CHECK(half(1 + 0x1p-11f) == 0x3c00);
    CHECK(half(1 + 0x1.8p-10f) == 0x3c02);
    CHECK(half(65520) == 0x7c00);
    CHECK(half(0x1p-25f) == 0);
    CHECK(half(-0x1.8p-25f) == 0x8001);
    CHECK(half(0x1.ffcp-15f) == 0x0400);
    CHECK(half(nan) == 0x7fff);
    CHECK(half(-infinity) == 0xfc00);
    const auto from_half = [](u32 h) {
        return result("cvt.f32.f16 %f0, %h1; mov.b32 %r0, %f0;", {h});
    };
    CHECK(from_half(0x0001) == bits(0x1p-24f));
    CHECK(from_half(0xfbff) == bits(-65504));
    CHECK(from_half(0x7c01) == 0x7fffffffu);
    // The first source becomes the upper half.
    CHECK(result("cvt.rn.bf16x2.f32 %r0, %f1, %f2;", {bits(1), bits(-2)}) == 0x3f80c000u);
    CHECK(result("cvt.rn.f16x2.f32 %r0, %f1, %f2;", {bits(1), bits(-2)}) == 0x3c00c000u);
    CHECK(result("cvt.rn.f16x2.e4m3x2 %r0, %h1;", {0x38b8}) == 0x3c00bc00u);  // 1, -1
    CHECK(result("cvt.rn.f16x2.e4m3x2 %r0, %h1;", {0x7e01}) == 0x5f001800u);  // 448, 2^-9
    CHECK(result("cvt.rn.f16x2.e4m3x2 %r0, %h1;", {0xff80}) == 0x7fff8000u);  // NaN, -0
    CHECK(result("cvt.rn.bf16x2.f32 %r0, %f1, %f2;", {0x3f808000u, 0x3f818000u}) == 0x3f803f82u);
    CHECK(result("cvt.rna.tf32.f32 %r0, %f1;", {0x3f801000u}) == 0x3f802000u);
    CHECK(result("setp.ne.f32 %p0, %f1, %f2; selp.b32 %r0, 1, 0, %p0;", {bits(nan), 0}) == 0);
}

TEST_CASE("PTX: one lane is elected, which is chance, and all know its number") {
    std::set<std::uint32_t> elected;
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        snippet s{.body =
                      "elect.sync %r1|%p0, -1; selp.b32 %r2, 100, 0, %p0;\n"
                      "add.u32 %r1, %r1, %r2; st.global.u32 [%d3], %r1;",
                  .seed = seed,
                  .out = std::vector<std::uint32_t>(32)};
        REQUIRE(s.run() == "");
        const std::uint32_t one = s.out[0] % 100;
        elected.insert(one);
        for (std::uint32_t t = 0; t < 32; ++t) CHECK(s.out[t] == one + (t == one ? 100 : 0));
    }
    CHECK(elected.size() > 1);
}

TEST_CASE("PTX: a barrier says whether a predicate is true in a thread of the block") {
    for (const u32 who : {0u, 40u, 63u, 64u}) {
        snippet s{.body = "setp.eq.u32 %p0, %r0, " + std::to_string(who) +
                          "; setp.ne.u32 %p2, %r0, %r0;\n"
                          "bar.red.or.pred %p1, 0, %p0; selp.b32 %r1, 1, 0, %p1;\n"
                          "bar.red.or.pred %p1, 0, %p2; selp.b32 %r2, 2, 0, %p1;\n"
                          "add.u32 %r1, %r1, %r2; st.global.u32 [%d3], %r1;",
                  .threads = 64,
                  .out = std::vector<u32>(64)};
        REQUIRE(s.run() == "");
        for (const u32 said : s.out) CHECK(said == (who < 64 ? 1 : 0));
    }
}

TEST_CASE("PTX: shuffles, and words of 64 bits") {
    snippet s{.body =
                  "shfl.sync.idx.b32 %r1|%p0, %r0, 3, 0x1c1f, -1;\n"  // segments of four
                  "shfl.sync.bfly.b32 %r2|%p1, %r1, 8, 31, -1;\n"
                  "shfl.sync.down.b32 %r3|%p2, %r0, 30, 31, -1;\n"
                  "@%p2 add.s32 %r2, %r2, 1000; st.global.u32 [%d3], %r2;"};
    s.out.resize(32);
    REQUIRE(s.run() == "");
    for (u32 t = 0; t < 32; ++t) CHECK(s.out[t] == (t ^ 8) / 4 * 4 + 3 + (t < 2 ? 1000 : 0));
    CHECK(result("cvt.u64.u32 %d5, %r1; shl.b64 %d5, %d5, 36; mov.b64 {%r2, %r0}, %d5;", {0x123}) ==
          0x1230);
    CHECK(result("mov.b64 %d5, {%r1, %r2}; shr.s64 %d5, %d5, 28; cvt.u32.u64 %r0, %d5;",
                 {0xf0000000u, 0x80000001u}) == 0x1fu);
    CHECK(result("mul.wide.s32 %d5, %r1, %r2; mov.b64 {%r3, %r0}, %d5;", {0xffffffffu, 5}) ==
          0xffffffffu);
}
