// Instructions of a lane alone, as the PTX ISA defines them: each a function of its operands.
#include "warp.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>

namespace ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

template <class T>
constexpr char form_of = sizeof(T) == 8 ? 'd' : 'w';

template <auto F, class R, class... A>
struct lanewise {
    static void run(warp& w, const instruction& i, lanes which) {
        apply(w, i, which, std::index_sequence_for<A...>{});
    }
    template <std::size_t... N>
    static void apply(warp& w, const instruction& i, lanes which, std::index_sequence<N...>) {
        std::byte* const to = w.unit(i.at[0]);
        const std::byte* const from[] = {w.unit(i.at[N + 1])...};
        each_lane(which, [&](int l) { put<R>(to, l, F(get<A>(from[N], l)...)); });
    }
};

/// A comparison: a bit for each lane.
template <auto F, class A>
struct comparison {
    static void run(warp& w, const instruction& i, lanes which) {
        const std::byte *const a = w.unit(i.at[1]), *const b = w.unit(i.at[2]);
        u32 held[warp_lanes] = {};
        each_lane(which, [&](int l) { held[l] = F(get<A>(a, l), get<A>(b, l)) ? 1u : 0u; });
        lanes bits = 0;
        for (int l = 0; l < warp_lanes; ++l) bits |= held[l] << l;
        lanes& p = w.predicates[static_cast<std::size_t>(i.at[0])];
        p = (p & ~which) | (bits & which);
    }
};

template <auto F, class L, class R, class... A>
opcode of_signature(R (L::*)(A...) const) {
    return {lanewise<F, R, A...>::run, {form_of<R>, form_of<A>...}};
}
template <auto F>
opcode op() {
    return of_signature<F>(&decltype(F)::operator());
}

template <class T>
void select(warp& w, const instruction& i, lanes which) {
    std::byte* const to = w.unit(i.at[0]);
    const std::byte *const a = w.unit(i.at[1]), *const b = w.unit(i.at[2]);
    const lanes p = w.predicates[static_cast<std::size_t>(i.at[3])];
    each_lane(which,
              [&](int l) { put<T>(to, l, (p >> l & 1u) != 0 ? get<T>(a, l) : get<T>(b, l)); });
}

template <auto F>
void logic(warp& w, const instruction& i, lanes which) {
    const auto at = [&](int n) -> lanes& {
        return w.predicates[static_cast<std::size_t>(i.at[n])];
    };
    lanes value;
    if constexpr (requires { F(0u, 0u); })
        value = F(at(1), at(2));
    else
        value = F(at(1));
    at(0) = (at(0) & ~which) | (value & which);
}

/// Two registers from one of twice their width, and back.
template <class Whole, class Part>
void apart(warp& w, const instruction& i, lanes which) {
    std::byte *const low = w.unit(i.at[0]), *const high = w.unit(i.at[1]);
    const std::byte* const from = w.unit(i.at[2]);
    each_lane(which, [&](int l) {
        const auto v = get<Whole>(from, l);
        put<Part>(low, l, static_cast<Part>(v));
        put<Part>(high, l, static_cast<Part>(v >> sizeof(Part) * 8));
    });
}
template <class Whole, class Part>
void joined(warp& w, const instruction& i, lanes which) {
    std::byte* const to = w.unit(i.at[0]);
    const std::byte *const low = w.unit(i.at[1]), *const high = w.unit(i.at[2]);
    each_lane(which, [&](int l) {
        const auto upper = static_cast<Whole>(get<Part>(high, l));
        put<Whole>(to, l, static_cast<Whole>(upper << sizeof(Part) * 8 | get<Part>(low, l)));
    });
}

/// The NaN that f32 arithmetic gives.
float finished(float v) { return v != v ? std::bit_cast<float>(0x7fffffffu) : v; }

/// From the sum rounded to nearest and what it lacks (Knuth's two-sum), one step back if it is
/// past.
float add_toward_zero(float a, float b) {
    const float s = a + b;
    if (!std::isfinite(s)) {
        const bool overflow = std::isfinite(a) && std::isfinite(b);
        return overflow ? std::copysign(std::numeric_limits<float>::max(), s) : finished(s);
    }
    const float of_b = s - a, of_a = s - of_b;
    const float lacks = (a - of_a) + (b - of_b);
    const bool past = (lacks < 0 && s > 0) || (lacks > 0 && s < 0);
    return past ? std::nextafter(s, 0.0f) : s;
}

template <class T>
T divided(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>)
        if (a == std::numeric_limits<T>::min() && b == -1) return a;
    return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
        if (b == -1) return 0;
    return static_cast<T>(a % b);
}

/// Amounts beyond the width shift everything out.
template <class T>
T left(T a, u32 by) {
    return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(a << by);
}
template <class T>
T right(T a, u32 by) {
    constexpr u32 width = sizeof(T) * 8;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, width - 1));
    return by >= width ? T{0} : static_cast<T>(a >> by);
}

template <class T>
T field_inserted(T a, T b, u32 position, u32 length) {
    position &= 0xffu;
    length &= 0xffu;
    for (u32 n = 0; n < length && position + n < sizeof(T) * 8; ++n) {
        const T bit = T{1} << (position + n);
        b = (a >> n & 1u) != 0 ? b | bit : b & ~bit;
    }
    return b;
}

/// The bits beyond the field are 0; of a signed type they are those of its highest bit.
template <class T>
T field(T a, u32 position, u32 length) {
    constexpr u32 width = sizeof(T) * 8;
    using U = std::make_unsigned_t<T>;
    position &= 0xffu;
    length &= 0xffu;
    if (length == 0) return 0;
    const u32 top = std::min(position + length - 1, width - 1);
    const bool ones = std::is_signed_v<T> && (static_cast<U>(a) >> top & 1u) != 0;
    U r = 0;
    for (u32 n = 0; n < width; ++n) {
        const bool inside = n < length && position + n < width;
        const bool bit = inside ? (static_cast<U>(a) >> (position + n) & 1u) != 0 : ones;
        if (bit) r |= U{1} << n;
    }
    return static_cast<T>(r);
}

u32 logic3(u32 a, u32 b, u32 c, u32 table) {
    u32 r = 0;
    for (u32 n = 0; n < 8; ++n) {
        if ((table >> n & 1u) == 0) continue;
        r |= ((n & 4u) != 0 ? a : ~a) & ((n & 2u) != 0 ? b : ~b) & ((n & 1u) != 0 ? c : ~c);
    }
    return r;
}

/// Each nibble of the selector picks a byte of b:a, its highest bit that byte's sign, eight times.
u32 permuted(u32 a, u32 b, u32 selector) {
    const u64 both = u64{b} << 32 | a;
    u32 r = 0;
    for (u32 n = 0; n < 4; ++n) {
        const u32 pick = selector >> 4 * n & 0xfu;
        u32 byte = static_cast<u32>(both >> 8 * (pick & 7u)) & 0xffu;
        if ((pick & 8u) != 0) byte = (byte & 0x80u) != 0 ? 0xffu : 0;
        r |= byte << 8 * n;
    }
    return r;
}

/// `Byte`: a byte of the first word; those of the second are signed.
template <class Byte>
s32 dot4(u32 a, u32 b, s32 c) {
    u32 sum = static_cast<u32>(c);
    for (int n = 0; n < 4; ++n)
        sum += static_cast<u32>(static_cast<Byte>(a >> 8 * n) * static_cast<s8>(b >> 8 * n));
    return static_cast<s32>(sum);
}

s32 to_s32(float v) {
    if (v != v) return 0;
    if (v >= 2147483648.0f) return std::numeric_limits<s32>::max();
    if (v <= -2147483648.0f) return std::numeric_limits<s32>::min();
    return static_cast<s32>(v);
}

/// f32 to a float with fewer bits, nearest, ties to even: the value is counted in units of the last
/// place that the narrow one has there.
u16 narrowed(float v, int mantissa, int least_exponent) {
    const u16 sign = static_cast<u16>(std::signbit(v) ? 0x8000 : 0);
    const u16 infinite = static_cast<u16>(0x7fff >> mantissa << mantissa);
    if (v != v) return 0x7fff;
    const double magnitude = std::fabs(double{v});
    if (std::isinf(v)) return static_cast<u16>(sign | infinite);
    if (magnitude == 0) return sign;
    const int exponent = std::max(std::ilogb(magnitude), least_exponent);
    const double units = std::ldexp(magnitude, mantissa - exponent);  // exact
    auto whole = static_cast<u32>(units);
    const double rest = units - whole;
    if (rest > 0.5 || (rest == 0.5 && whole % 2 == 1)) ++whole;
    // A carry out of the mantissa goes on into the exponent, a subnormal's has none.
    const u32 bits = whole + (static_cast<u32>(exponent - least_exponent) << mantissa);
    return static_cast<u16>(sign | std::min<u32>(bits, infinite));
}
u16 to_f16(float v) { return narrowed(v, 10, -14); }
u16 to_bf16(float v) { return narrowed(v, 7, -126); }

u32 e4m3_to_f16(u32 bits) {
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    if (exponent == 15 && mantissa == 7) return 0x7fff;
    const float magnitude = exponent == 0
                                ? std::ldexp(static_cast<float>(mantissa), -9)
                                : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    return to_f16((bits & 0x80) != 0 ? -magnitude : magnitude);
}

float from_f16(u16 h) {
    const int exponent = h >> 10 & 0x1f, mantissa = h & 0x3ff;
    if (exponent == 31 && mantissa != 0) return std::bit_cast<float>(0x7fffffffu);
    const float magnitude = exponent == 31 ? std::numeric_limits<float>::infinity()
                            : exponent == 0
                                ? std::ldexp(static_cast<float>(mantissa), -24)
                                : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Ties away from zero: half a unit of what is left is added to the magnitude.
u32 to_tf32(float v) {
    if (v != v) return 0x7fffffffu;
    const u32 bits = std::bit_cast<u32>(v);
    if (std::isinf(v)) return bits;
    return (bits + 0x1000u) & ~0x1fffu;
}

using table = std::unordered_map<std::string, opcode>;

template <class T>
void integers(table& t, const std::string& type) {
    using U = std::make_unsigned_t<T>;
    t["add." + type] = op<[](U a, U b) { return static_cast<U>(a + b); }>();
    t["sub." + type] = op<[](U a, U b) { return static_cast<U>(a - b); }>();
    using P = std::conditional_t<sizeof(U) == 2, u32, U>;  // int would overflow
    t["mul.lo." + type] = op<[](U a, U b) { return static_cast<U>(P{a} * b); }>();
    t["mad.lo." + type] = op<[](U a, U b, U c) { return static_cast<U>(P{a} * b + c); }>();
    t["div." + type] = op<[](T a, T b) { return divided(a, b); }>();
    t["rem." + type] = op<[](T a, T b) { return remainder(a, b); }>();
    t["min." + type] = op<[](T a, T b) { return std::min(a, b); }>();
    t["max." + type] = op<[](T a, T b) { return std::max(a, b); }>();
    t["neg." + type] = op<[](U a) { return static_cast<U>(0 - a); }>();
    t["shr." + type] = op<[](T a, u32 by) { return right(a, by); }>();
    const auto compare = [&]<auto F>(const char* how) {
        t["setp." + std::string(how) + "." + type] = {comparison<F, T>::run,
                                                      {'p', form_of<T>, form_of<T>}};
    };
    compare.template operator()<[](T a, T b) { return a == b; }>("eq");
    compare.template operator()<[](T a, T b) { return a != b; }>("ne");
    compare.template operator()<[](T a, T b) { return a < b; }>("lt");
    compare.template operator()<[](T a, T b) { return a <= b; }>("le");
    compare.template operator()<[](T a, T b) { return b < a; }>("gt");
    compare.template operator()<[](T a, T b) { return b <= a; }>("ge");
}

template <class T>
void bits(table& t, const std::string& width) {
    t["and.b" + width] = op<[](T a, T b) { return static_cast<T>(a & b); }>();
    t["or.b" + width] = op<[](T a, T b) { return static_cast<T>(a | b); }>();
    t["xor.b" + width] = op<[](T a, T b) { return static_cast<T>(a ^ b); }>();
    t["not.b" + width] = op<[](T a) { return static_cast<T>(~a); }>();
    t["shl.b" + width] = op<[](T a, u32 by) { return left(a, by); }>();
    t["setp.eq.b" + width] = t["setp.eq.u" + width];
    t["setp.ne.b" + width] = t["setp.ne.u" + width];
    for (const char* type : {"b", "u", "s", "f"}) {
        t["mov." + (type + width)] = op<[](T a) { return a; }>();
        t["selp." + (type + width)] = {select<T>, {form_of<T>, form_of<T>, form_of<T>, 'p'}};
    }
}

/// From each width to each: a value of the source's type, as the target's.
template <class From>
void conversions(table& t, const std::string& from) {
    const auto to = [&]<class To>(To, const char* name) {
        t["cvt." + std::string(name) + "." + from] =
            op<[](From a) { return static_cast<To>(a); }>();
    };
    to(u8{}, "u8"), to(u16{}, "u16"), to(u32{}, "u32"), to(u64{}, "u64");
    to(s8{}, "s8"), to(s16{}, "s16"), to(s32{}, "s32"), to(s64{}, "s64");
}

void floats(table& t) {
    // Nothing is true of a NaN.
    t["setp.eq.f32"] = {comparison<[](float a, float b) { return a == b; }, float>::run, "pww"};
    t["setp.ne.f32"] = {comparison<[](float a, float b) { return a < b || b < a; }, float>::run,
                        "pww"};
    t["setp.lt.f32"] = {comparison<[](float a, float b) { return a < b; }, float>::run, "pww"};
    t["setp.le.f32"] = {comparison<[](float a, float b) { return a <= b; }, float>::run, "pww"};
    t["setp.gt.f32"] = {comparison<[](float a, float b) { return b < a; }, float>::run, "pww"};
    t["setp.ge.f32"] = {comparison<[](float a, float b) { return b <= a; }, float>::run, "pww"};
    t["add.rn.f32"] = op<[](float a, float b) { return finished(a + b); }>();
    t["sub.rn.f32"] = op<[](float a, float b) { return finished(a - b); }>();
    t["mul.rn.f32"] = op<[](float a, float b) { return finished(a * b); }>();
    t["div.rn.f32"] = op<[](float a, float b) { return finished(a / b); }>();
    t["fma.rn.f32"] = op<[](float a, float b, float c) { return finished(std::fma(a, b, c)); }>();
    t["sqrt.rn.f32"] = op<[](float a) { return finished(std::sqrt(a)); }>();
    t["neg.f32"] = op<[](u32 a) { return a ^ 0x80000000u; }>();
    // The sign of the first, the rest of the second.
    t["copysign.f32"] = op<[](u32 a, u32 b) { return (a & 0x80000000u) | (b & 0x7fffffffu); }>();
    t["add.rz.f32"] = op<[](float a, float b) { return add_toward_zero(a, b); }>();
    t["cvt.rn.f32.s32"] = op<[](s32 a) { return static_cast<float>(a); }>();
    t["cvt.rzi.s32.f32"] = op<[](float a) { return to_s32(a); }>();
    t["cvt.rn.f16.f32"] = op<[](float a) { return to_f16(a); }>();
    t["cvt.rn.bf16.f32"] = op<[](float a) { return to_bf16(a); }>();
    t["cvt.f32.f16"] = op<[](u16 a) { return from_f16(a); }>();
    t["cvt.rna.tf32.f32"] = op<[](float a) { return to_tf32(a); }>();
    t["cvt.rn.f16x2.e4m3x2"] =
        op<[](u16 a) { return e4m3_to_f16(a >> 8) << 16 | e4m3_to_f16(a & 0xffu); }>();
    // The first source is the upper half.
    t["cvt.rn.f16x2.f32"] =
        op<[](float a, float b) { return static_cast<u32>(to_f16(a)) << 16 | to_f16(b); }>();
    t["cvt.rn.bf16x2.f32"] =
        op<[](float a, float b) { return static_cast<u32>(to_bf16(a)) << 16 | to_bf16(b); }>();
}

void words(table& t) {
    t["mul.hi.s32"] = op<[](s32 a, s32 b) { return static_cast<s32>(s64{a} * s64{b} >> 32); }>();
    t["mul.wide.s32"] = op<[](s32 a, s32 b) { return s64{a} * s64{b}; }>();
    t["mul.wide.u32"] = op<[](u32 a, u32 b) { return u64{a} * u64{b}; }>();
    t["mul.wide.s16"] = op<[](s16 a, s16 b) { return s32{a} * s32{b}; }>();
    t["mul.wide.u16"] = op<[](u16 a, u16 b) { return u32{a} * u32{b}; }>();
    t["bfi.b32"] = op<[](u32 a, u32 b, u32 at, u32 n) { return field_inserted(a, b, at, n); }>();
    t["bfe.u32"] = op<[](u32 a, u32 at, u32 n) { return field(a, at, n); }>();
    t["bfe.s32"] = op<[](s32 a, u32 at, u32 n) { return field(a, at, n); }>();
    t["bfi.b64"] = op<[](u64 a, u64 b, u32 at, u32 n) { return field_inserted(a, b, at, n); }>();
    t["popc.b32"] = op<[](u32 a) { return static_cast<u32>(std::popcount(a)); }>();
    t["prmt.b32"] = op<[](u32 a, u32 b, u32 pick) { return permuted(a, b, pick); }>();
    t["lop3.b32"] = op<[](u32 a, u32 b, u32 c, u32 f) { return logic3(a, b, c, f); }>();
    t["shf.r.wrap.b32"] = op<[](u32 low, u32 high, u32 by) {
        return static_cast<u32>((u64{high} << 32 | low) >> (by & 31u));
    }>();
    t["shf.l.wrap.b32"] = op<[](u32 low, u32 high, u32 by) {
        return static_cast<u32>((u64{high} << 32 | low) << (by & 31u) >> 32);
    }>();
    t["dp4a.s32.s32"] = op<[](u32 a, u32 b, s32 c) { return dot4<s8>(a, b, c); }>();
    t["dp4a.u32.s32"] = op<[](u32 a, u32 b, s32 c) { return dot4<u8>(a, b, c); }>();
    t["mov.b32.apart"] = {apart<u32, u16>, "www"};
    t["mov.b64.apart"] = {apart<u64, u32>, "wwd"};
    t["mov.b32.joined"] = {joined<u32, u16>, "www"};
    t["mov.b64.joined"] = {joined<u64, u32>, "dww"};
    t["and.pred"] = {logic<[](lanes a, lanes b) { return a & b; }>, "ppp"};
    t["or.pred"] = {logic<[](lanes a, lanes b) { return a | b; }>, "ppp"};
    t["xor.pred"] = {logic<[](lanes a, lanes b) { return a ^ b; }>, "ppp"};
    t["not.pred"] = {logic<[](lanes a) { return ~a; }>, "pp"};
    t["mov.pred"] = {logic<[](lanes a) { return a; }>, "pp"};
}

/// Windows of generic addresses; global ones are generic as they are.
void addresses(table& t) {
    t["cvta.to.global.u64"] = t["cvta.global.u64"] = op<[](u64 a) { return a; }>();
    t["cvta.shared.u64"] = op<[](u64 a) { return a + shared_window; }>();
    t["cvta.to.shared.u64"] = op<[](u64 a) { return a - shared_window; }>();
    t["cvta.local.u64"] = op<[](u64 a) { return a + local_window; }>();
    t["cvta.to.local.u64"] = op<[](u64 a) { return a - local_window; }>();
}

table arithmetic_table() {
    table t;
    integers<s16>(t, "s16"), integers<s32>(t, "s32"), integers<s64>(t, "s64");
    integers<u16>(t, "u16"), integers<u32>(t, "u32"), integers<u64>(t, "u64");
    bits<u16>(t, "16"), bits<u32>(t, "32"), bits<u64>(t, "64");
    conversions<u8>(t, "u8"), conversions<s8>(t, "s8");
    conversions<u16>(t, "u16"), conversions<s16>(t, "s16");
    conversions<u32>(t, "u32"), conversions<s32>(t, "s32");
    conversions<u64>(t, "u64"), conversions<s64>(t, "s64");
    floats(t);
    words(t);
    addresses(t);
    return t;
}

}  // namespace

opcode arithmetic(const std::string& name) {
    static const table known = arithmetic_table();
    const auto found = known.find(name);
    return found == known.end() ? opcode{} : found->second;
}

}  // namespace ptx
