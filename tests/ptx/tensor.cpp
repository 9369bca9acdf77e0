// Matrix multiplications of a warp and of a warpgroup: fragments, descriptors and swizzles as the
// PTX ISA draws them. Sums of floats are exact but for one rounding; tensor cores round as they
// like.
#include "access.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace ptx {
namespace {

using u32 = std::uint32_t;

struct s8_type {
    using sum = std::int32_t;
    static constexpr int bits = 8;
    static int value(u32 raw) { return static_cast<std::int8_t>(raw); }
};
struct f16_type {
    using sum = float;
    static constexpr int bits = 16;
    static double value(u32 raw) {
        const int exponent = static_cast<int>(raw >> 10 & 0x1fu);
        const auto mantissa = static_cast<double>(raw & 0x3ffu);
        double v =
            exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
        if (exponent == 31) v = mantissa == 0 ? HUGE_VAL : NAN;
        return (raw & 0x8000u) != 0 ? -v : v;
    }
};
struct bf16_type {
    using sum = float;
    static constexpr int bits = 16;
    static double value(u32 raw) { return double{std::bit_cast<float>(raw << 16)}; }
};
struct tf32_type {  // the last 13 bits are not read
    using sum = float;
    static constexpr int bits = 32;
    static double value(u32 raw) { return double{std::bit_cast<float>(raw & 0xffffe000u)}; }
};
struct e4m3_type {  // no infinity; all ones are the NaN
    using sum = float;
    static constexpr int bits = 8;
    static double value(u32 raw) {
        const int exponent = static_cast<int>(raw >> 3 & 0xfu);
        const auto mantissa = static_cast<double>(raw & 7u);
        double v =
            exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(mantissa + 8, exponent - 10);
        if ((raw & 0x7fu) == 0x7fu) v = NAN;
        return (raw & 0x80u) != 0 ? -v : v;
    }
};

template <class T>
using value_of = decltype(T::value(0));

template <class T>
void add(std::int32_t& d, T sum) {
    d = static_cast<std::int32_t>(static_cast<u32>(d) + static_cast<u32>(sum));
}
void add(float& d, double sum) {
    d = static_cast<float>(double{d} + sum);
    if (d != d) d = std::bit_cast<float>(0x7fffffffu);
}

/// M x 8 += M x K times K x 8. A register holds 32 bits of K; lane 4g + t holds of rows g and g + 8
/// (of column g) the t-th register's worth of every fourth; of the sums columns 2t and 2t + 1.
template <int M, int K, class T>
void multiply(warp& w, const instruction& i, lanes) {
    constexpr int each = 32 / T::bits, halves = M / 8, groups = K / (4 * each);
    constexpr u32 low = T::bits == 32 ? ~u32{0} : (u32{1} << T::bits % 32) - 1;
    const std::int32_t *d = i.at, *a = d + 2 * halves, *b = a + halves * groups, *c = b + groups;
    value_of<T> rows[M][K], columns[8][K];
    for (int lane = 0; lane < warp_lanes; ++lane) {
        const int g = lane / 4, t = lane % 4;
        for (int r = 0; r < groups; ++r)
            for (int n = 0; n < each; ++n) {
                const int k = (4 * r + t) * each + n, shift = n * T::bits;
                for (int h = 0; h < halves; ++h)
                    rows[g + 8 * h][k] =
                        T::value(get<u32>(w.unit(a[halves * r + h]), lane) >> shift & low);
                columns[g][k] = T::value(get<u32>(w.unit(b[r]), lane) >> shift & low);
            }
    }
    for (int lane = 0; lane < warp_lanes; ++lane)
        for (int n = 0; n < 2 * halves; ++n) {
            const int row = lane / 4 + 8 * (n / 2), column = 2 * (lane % 4) + n % 2;
            value_of<T> sum = 0;
            for (int k = 0; k < K; ++k) sum += rows[row][k] * columns[column][k];
            auto total = get<typename T::sum>(w.unit(c[n]), lane);
            add(total, sum);
            put(w.unit(d[n]), lane, total);
        }
}

template <int M, int K, class T>
opcode mma() {
    constexpr int halves = M / 8, groups = K * T::bits / 128;
    return {multiply<M, K, T>, std::string(4 * halves + (halves + 1) * groups, 'w'), flow::aligned};
}

/// Matrix m's row r comes from the address of lane 8m + r; lane 4r + c gets its c-th word.
void load_matrices(warp& w, const instruction& i, lanes) {
    std::array<std::array<u32, warp_lanes>, 4> words{};
    for (int lane = 0; lane < warp_lanes; ++lane) {
        const u32 address = get<u32>(w.unit(i.at[4]), lane) + static_cast<u32>(i.offset);
        aligned(w, lane, address, 16);
        const std::size_t at = shared_offset(w, lane, address, 16);
        shared_has_arrived(w, lane, at, 16);
        for (int c = 0; c < 4; ++c)  // for two lanes: whose address it is, and who gets it
            read(w, lanes{1} << lane | lanes{1} << (lane % 8 * 4 + c),
                 w.in.shared.of(at + static_cast<std::size_t>(c) * 4, 4));
        std::memcpy(
            &words[static_cast<std::size_t>(lane / 8)][static_cast<std::size_t>(lane % 8 * 4)],
            w.in.shared.bytes.data() + at, 16);
    }
    for (int m = 0; m < 4; ++m)
        for (int lane = 0; lane < warp_lanes; ++lane)
            put(w.unit(i.at[m]), lane,
                words[static_cast<std::size_t>(m)][static_cast<std::size_t>(lane)]);
}

// wgmma: 64 x N += 64 x K times K x N, K 32 bytes of numbers, each warp 16 of the rows. A thread
// has half as many sums as there are columns.
constexpr int k_bytes = 32;
/// The immediates: whether it adds (scale-d), the scales of a and b, and of 16 bits that neither is
/// transposed.
template <class T>
constexpr std::int64_t as_it_is = T::bits == 16 ? 0x01010000 : 0x0101;
template <class T>
constexpr std::int64_t adds = std::int64_t{1} << (T::bits == 16 ? 32 : 16);
/// What a register holds while tensor cores add to it.
constexpr u32 in_flight = 0x7fbadbad;

/// The rows of an operand whose K lies contiguous, from its descriptor. In the 128-byte mode eight
/// rows of 128 bytes are a pattern; the 16 bytes of an address are those at the address whose bits
/// 4 to 6 are changed by its bits 7 to 9.
template <class Touch>
std::vector<std::byte> operand(warp& w, std::uint64_t descriptor, int first, int count,
                               Touch touch) {
    const auto start = static_cast<u32>(descriptor & 0x3fffu) << 4;
    const auto stride = static_cast<u32>(descriptor >> 32 & 0x3fffu) << 4;
    const auto base_offset = descriptor >> 49 & 7u, mode = descriptor >> 62;
    if (mode != 1) w.fail(0, "a swizzle mode other than 128 bytes: " + std::to_string(mode));
    if (base_offset != 0 || (start & 0x380u) != 0)
        w.fail(0, "the pattern of the swizzle does not begin at a multiple of 1024 bytes");
    std::vector<std::byte> out(static_cast<std::size_t>(count) * k_bytes);
    for (int r = 0; r < count; ++r)
        for (u32 chunk = 0; chunk < 2; ++chunk) {
            const auto row = static_cast<u32>(first + r);
            u32 address = start + row / 8 * stride + row % 8 * 128 + chunk * 16;
            address ^= (address >> 7 & 7u) << 4;
            const std::size_t at = shared_offset(w, 0, address, 16);
            touch(at);
            std::memcpy(&out[static_cast<std::size_t>(r) * k_bytes + chunk * 16],
                        w.in.shared.bytes.data() + at, 16);
        }
    return out;
}

template <class Touch>
std::vector<std::byte> own_rows(warp& w, std::uint64_t a, Touch touch) {
    return operand(w, a, w.index % 4 * 16, 16, touch);
}

/// The operands are read at any time until it is waited for; the sums are in flight until then.
template <int Columns>
void ask_for_product(warp& w, const instruction& i) {
    if (w.in.warps.size() % 4 != 0) w.fail(0, "the block is no number of warpgroups");
    const auto descriptor = [&](int which) {
        const std::byte* unit = w.unit(i.at[Columns / 2 + which]);
        for (int l = 1; l < warp_lanes; ++l)
            if (get<std::uint64_t>(unit, l) != get<std::uint64_t>(unit, 0))
                w.fail(l, "a descriptor that differs between lanes");
        return get<std::uint64_t>(unit, 0);
    };
    const std::uint64_t a = descriptor(0), b = descriptor(1);
    w.in.wgmma_asked[static_cast<std::size_t>(w.index)].emplace_back(a, b);
    for (int n = 0; n < Columns / 2; ++n) {
        const auto [sum, fresh] = w.flying.try_emplace(i.at[n]);
        if (fresh && !w.wgmma_fenced)
            w.fail(0, "no wgmma.fence since the sums were registers like others");
        for (int l = 0; l < warp_lanes; ++l) {
            std::byte* unit = w.unit(i.at[n]);
            if (fresh)
                sum->second.values[static_cast<std::size_t>(l)] = get<float>(unit, l);
            else if (get<u32>(unit, l) != in_flight)
                w.fail(l, "a sum was written while tensor cores added to it");
            put(unit, l, in_flight);
        }
        sum->second.last_product = w.asked;
    }
    ++w.asked;
    const auto touch = [&](std::size_t at) {
        shared_has_arrived(w, 0, at, 16);
        read_by_tensor_cores(w, w.in.shared.of(at, 16));
    };
    w.products.push_back(
        {&i, w.in.of.of.now, a, b, own_rows(w, a, touch), operand(w, b, 0, Columns, touch)});
    ++w.in.of.of.now;
}

void fence_products(warp& w, const instruction&, lanes) { w.wgmma_fenced = true; }

void commit_products(warp& w, const instruction&, lanes) {
    for (late_product& p : w.products)
        if (p.group < 0) p.group = w.committed;
    ++w.committed;
}

template <class T, int Columns>
void finish(warp& w, const late_product& p) {
    constexpr int bytes = T::bits / 8, count = k_bytes / bytes;
    const auto number = [](const std::vector<std::byte>& rows, int row, int k) {
        u32 raw = 0;
        std::memcpy(&raw, &rows[static_cast<std::size_t>(row * k_bytes + k * bytes)], bytes);
        return T::value(raw);
    };
    double a[16][count], b[Columns][count];
    for (int k = 0; k < count; ++k) {
        for (int r = 0; r < 16; ++r) a[r][k] = number(p.rows, r, k);
        for (int c = 0; c < Columns; ++c) b[c][k] = number(p.columns, c, k);
    }
    const bool from_zero = (p.asked->offset & adds<T>) == 0;
    for (int n = 0; n < Columns / 2; ++n) {
        auto& values = w.flying.at(p.asked->at[n]).values;
        for (int lane = 0; lane < warp_lanes; ++lane) {
            const int row = lane / 4 + 8 * (n / 2 % 2), column = n / 4 * 8 + 2 * (lane % 4) + n % 2;
            double sum = 0;
            for (int k = 0; k < count; ++k) sum += a[row][k] * b[column][k];
            float& value = values[static_cast<std::size_t>(lane)];
            if (from_zero) value = 0;
            add(value, sum);
        }
    }
}

template <class T, int Columns>
void ask(warp& w, const instruction& i, lanes) {
    if ((i.offset & ~adds<T>) != as_it_is<T>) w.fail(0, "scales or transposed operands");
    ask_for_product<Columns>(w, i);
    w.products.back().finish = finish<T, Columns>;
}

/// All but the last groups complete.
void wait_for_products(warp& w, const instruction& i, lanes) {
    const int left = static_cast<int>(i.offset);
    while (!w.products.empty() && w.products.front().group >= 0 &&
           w.products.front().group < w.committed - left) {
        const late_product& p = w.products.front();
        const mark m = mark_of_tensor_cores(w, *p.asked);
        const auto touch = [&](std::size_t at) {
            read_since(w, p.when, m, w.in.shared.of(at, 16));
        };
        own_rows(w, p.a, touch);
        operand(w, p.b, 0, static_cast<int>(p.columns.size()) / k_bytes, touch);
        p.finish(w, p);
        w.products.erase(w.products.begin());
    }
    acquire_tensor_cores(w);
    const int first_left = w.asked - static_cast<int>(w.products.size());
    for (auto sum = w.flying.begin(); sum != w.flying.end();) {
        if (sum->second.last_product >= first_left) {
            ++sum;
            continue;
        }
        for (int l = 0; l < warp_lanes; ++l)
            put(w.unit(sum->first), l, sum->second.values[static_cast<std::size_t>(l)]);
        sum = w.flying.erase(sum);
    }
    w.wgmma_fenced = false;
}

std::map<std::string, opcode> tensor_table() {
    const std::string mma_of = "mma.sync.aligned.", integers = ".row.col.s32.s8.s8.s32";
    const std::string product = "wgmma.mma_async.sync.aligned.m64n";
    const std::string form = std::string(64, 'w') + "ddnnn",
                      half_form = std::string(32, 'w') + "ddnnn";
    return {
        {mma_of + "m8n8k16" + integers, mma<8, 16, s8_type>()},
        {mma_of + "m16n8k16" + integers, mma<16, 16, s8_type>()},
        {mma_of + "m16n8k32" + integers, mma<16, 32, s8_type>()},
        {mma_of + "m16n8k8.row.col.f32.f16.f16.f32", mma<16, 8, f16_type>()},
        {mma_of + "m16n8k16.row.col.f32.f16.f16.f32", mma<16, 16, f16_type>()},
        {mma_of + "m16n8k16.row.col.f32.bf16.bf16.f32", mma<16, 16, bf16_type>()},
        {mma_of + "m16n8k8.row.col.f32.tf32.tf32.f32", mma<16, 8, tf32_type>()},
        {mma_of + "m16n8k32.row.col.f32.e4m3.e4m3.f32", mma<16, 32, e4m3_type>()},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", {load_matrices, "wwwwa", flow::aligned}},
        {product + "128k16.f32.f16.f16", {ask<f16_type, 128>, form + "nn", flow::aligned}},
        {product + "128k16.f32.bf16.bf16", {ask<bf16_type, 128>, form + "nn", flow::aligned}},
        {product + "128k32.f32.e4m3.e4m3", {ask<e4m3_type, 128>, form, flow::aligned}},
        {product + "64k32.f32.e4m3.e4m3", {ask<e4m3_type, 64>, half_form, flow::aligned}},
        {"wgmma.fence.sync.aligned", {fence_products, "", flow::aligned}},
        {"wgmma.commit_group.sync.aligned", {commit_products, "", flow::aligned}},
        {"wgmma.wait_group.sync.aligned", {wait_for_products, "n", flow::aligned}},
    };
}

}  // namespace

opcode tensor_operation(const std::string& name) {
    static const auto known = tensor_table();
    const auto found = known.find(name);
    return found == known.end() ? opcode{} : found->second;
}

}  // namespace ptx
