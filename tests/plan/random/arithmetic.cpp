#include "arithmetic.hpp"

#include "catena/format/codec.hpp"
#include "catena/format/scaled.hpp"
#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace catena_test::scalar {

using catena::format;
using catena::gate_function;

float gate(gate_function f, float value) {
    const double g = value;
    switch (f) {
        case gate_function::silu:
            return static_cast<float>(g / (1 + std::exp(-g)));
        case gate_function::sigmoid:
            return static_cast<float>(1 / (1 + std::exp(-g)));
        case gate_function::gelu:
            return static_cast<float>(
                g / 2 * (1 + std::tanh(0.79788456080286535588 * g * (1 + 0.044715 * g * g))));
        case gate_function::gelu_erf:
            return static_cast<float>(g / 2 * (1 + std::erf(g * 0.70710678118654752440)));
        case gate_function::gelu_quick:
            return static_cast<float>(g / (1 + std::exp(-1.702 * g)));
        case gate_function::relu:
            return std::max(value, 0.0f);
        case gate_function::relu_squared:
            return std::max(value, 0.0f) * std::max(value, 0.0f);
        case gate_function::none:
            return value;
        case gate_function::swiglu_oai:
            break;
    }
    return std::nanf("");
}

float softplus(float v) {
    const double x = v;
    return v > 20 ? v : static_cast<float>(std::log(1 + std::exp(x)));
}

float sqrt_softplus(float v) { return std::sqrt(softplus(v)); }

void recall(const recalled_head& h, float* state, const float* query, const float* key,
            const float* value, const float* decay, float beta, float* out) {
    for (int j = 0; j < h.k; ++j) {
        float* const row = state + j * h.k;
        for (int i = 0; i < h.k; ++i) row[i] *= std::exp(decay[h.by_value ? i : 0]);
        const float error = (value[j] - dot(row, key, h.k)) * beta;
        for (int i = 0; i < h.k; ++i) row[i] += key[i] * error;
        out[j] = dot(row, query, h.k) * h.scale;
    }
}

float scan(const scanned_value& v, float* state, float x, const float* b, const float* c) {
    const float step = softplus(v.dt), left = std::exp(v.a * step), received = x * step;
    for (int i = 0; i < v.size; ++i) state[i] = state[i] * left + b[i] * received;
    return dot(state, c, v.size);
}

void attend(const attending_query& q, float* out) {
    const float nothing = -std::numeric_limits<float>::infinity();
    std::vector<float> scores;
    for (std::size_t i = 0; i < q.mask.size(); ++i) {
        const float* const key = q.keys.data() + i * static_cast<std::size_t>(q.k);
        const float s = dot(q.query, key, q.k) * q.scale + q.mask[i];
        scores.push_back(q.mask[i] == nothing ? nothing : s);
    }
    scores.insert(scores.end(), q.sink.begin(), q.sink.end());
    std::fill(out, out + q.k, 0.0f);
    if (*std::max_element(scores.begin(), scores.end()) == nothing) return;
    soft_max(scores.data(), static_cast<int>(scores.size()));
    std::vector<float> line(q.mask.size());  // of an element: its value of each position
    for (int e = 0; e < q.k; ++e) {
        for (std::size_t i = 0; i < line.size(); ++i)
            line[i] = q.values[i * static_cast<std::size_t>(q.k) + static_cast<std::size_t>(e)];
        out[e] = dot(scores.data(), line.data(), static_cast<int>(line.size()));
    }
}

float gated(gate_function f, float g, float x, float alpha, float limit) {
    if (f != gate_function::swiglu_oai) return gate(f, g) * x;
    const double small = std::min(g, limit);
    const auto open = static_cast<float>(small / (1 + std::exp(-double{alpha} * small)));
    return open * (1.0f + std::clamp(x, -limit, limit));
}

float squares(const float* x, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double{x[i]} * x[i];
    return static_cast<float>(sum);
}

float norm_scale(const float* x, int k, float eps) {
    std::vector<float> sums;
    for (int i = 0; i < k; i += 32) sums.push_back(squares(x + i, std::min(32, k - i)));
    return norm_scale_of(sums.data(), k, eps);
}

float norm_scale_of(const float* sums, int k, float eps) {
    const double all = std::accumulate(sums, sums + (k + 31) / 32, 0.0);
    return static_cast<float>(std::exp2(std::round(-std::log2(all / k + double{eps}) / 2)));
}

namespace {

struct mmq_block {
    std::byte header[16];
    std::int8_t q[128];
};

/// The d in a word of ds4.
float d_of(std::uint32_t word) { return catena::f32_from_bits(word & ~catena::ds4_sum_mask); }

/// 128 values, those past `left` zero. d is that of ds4, also where the layout has room for more
/// bits: a value is the same in every layout, so it does not matter which of them a plan chooses.
void quantize_mmq(format layout, const float* x, int left, mmq_block& to) {
    to = {};
    for (int part = 0; part < 4 && part * 32 < left; ++part) {
        float values[32] = {};
        std::copy_n(x + part * 32, std::min(32, left - part * 32), values);
        const catena::quantized_32 z = catena::quantize_32(values);
        const std::uint32_t word = catena::ds4_word(z);
        const std::uint32_t header =
            layout == format::q8_1_mmq_ds4 ? word : catena::f32_bits(d_of(word));
        std::memcpy(to.header + part * 4, &header, 4);
        std::copy_n(z.q, 32, to.q + part * 32);
    }
}

void decode_mmq(format layout, const mmq_block& block, int left, float* out) {
    for (int i = 0; i < std::min(128, left); ++i) {
        std::uint32_t word;
        std::memcpy(&word, block.header + i / 32 * 4, 4);
        const float d = layout == format::q8_1_mmq_ds4 ? d_of(word) : catena::f32_from_bits(word);
        out[i] = d * static_cast<float>(block.q[i]);
    }
}

/// Blocks of q8_1 themselves, and of 16-bit numbers, whose 64 values have room for two: so they too
/// are the same as in every layout.
bool keeps_q8_1(format layout) { return layout == format::q8_1 || catena::in_mma_blocks(layout); }

void quantize_q8_1(const float* x, int values, std::byte* to) {
    auto* block = reinterpret_cast<catena::block_q8_1*>(to);
    for (int i = 0; i < values; i += 32, ++block) {
        catena::codec<format::q8_1>::encode(x + i, block);
        block->d = d_of(catena::ds4_word(catena::quantize_32(x + i)));
    }
}

void decode_q8_1(const std::byte* from, int values, float* out) {
    const auto* block = reinterpret_cast<const catena::block_q8_1*>(from);
    for (int i = 0; i < values; i += 32) catena::codec<format::q8_1>::decode(block++, out + i);
}

}  // namespace

void quantize(format layout, const float* x, int k, std::byte* blocks) {
    const int step = info(layout).block_elements, bytes = info(layout).block_bytes;
    for (int i = 0; i < k; i += step, blocks += bytes) {
        if (keeps_q8_1(layout))
            quantize_q8_1(x + i, std::min(step, k - i), blocks);
        else
            quantize_mmq(layout, x + i, k - i, *reinterpret_cast<mmq_block*>(blocks));
    }
}

void decode(format layout, const std::byte* blocks, std::ptrdiff_t stride, int k, float* out) {
    const int step = info(layout).block_elements;
    for (int i = 0; i < k; i += step, blocks += stride) {
        if (keeps_q8_1(layout))
            decode_q8_1(blocks, std::min(step, k - i), out + i);
        else
            decode_mmq(layout, *reinterpret_cast<const mmq_block*>(blocks), k - i, out + i);
    }
}

void round_as_q8_1(float* x, int k) {
    std::vector<std::byte> blocks(static_cast<std::size_t>(catena::q8_1_row_bytes(k)));
    quantize(format::q8_1, x, k, blocks.data());
    decode(format::q8_1, blocks.data(), catena::q8_1_bytes, k, x);
}

void quantize_fp8(const float* x, int k, std::byte* data, float* scales) {
    const catena::scaled_row row =
        catena::encode_scaled(format::fp8_group, {x, static_cast<std::size_t>(k)});
    std::memcpy(data, row.data.data(), row.data.size());
    std::copy(row.scales.begin(), row.scales.end(), scales);
}

void decode_fp8(const std::byte* data, const float* scales, int k, float* out) {
    catena::scaled_row row;
    const auto* first = reinterpret_cast<const std::uint8_t*>(data);
    row.data.assign(first, first + k);
    row.scales.assign(scales, scales + k / 128);
    const std::vector<double> values = catena::decode_scaled(format::fp8_group, row, k);
    std::transform(values.begin(), values.end(), out,
                   [](double v) { return static_cast<float>(v); });
}

void turn(float* head, const catena::rotation& by, const std::int32_t* positions,
          std::int64_t tokens, std::int64_t token, const float* factors) {
    using catena::pairing;
    const bool near = by.pairs == pairing::neighbors;
    const bool four = by.pairs == pairing::sections || by.pairs == pairing::interleaved;
    for (int pair = 0; pair < by.dims / 2; ++pair) {
        const int which = four ? catena::section_of(by.pairs, by.section, by.sections, pair) : 0;
        const double frequency = std::exp2(pair * (double{by.log2_ratio} + double{by.rest}));
        double angle = positions[which * tokens + token] * frequency * double{by.scale};
        if (factors != nullptr) angle /= double{factors[pair]};
        float& a = head[by.first + (near ? 2 * pair : pair)];
        float& b = head[by.first + (near ? 2 * pair + 1 : pair + by.dims / 2)];
        const double x = double{a}, y = double{b}, c = std::cos(angle), s = std::sin(angle);
        a = static_cast<float>((x * c - y * s) * double{by.magnitude});
        b = static_cast<float>((x * s + y * c) * double{by.magnitude});
    }
}

void soft_max(float* x, int k) {
    const float most = *std::max_element(x, x + k);
    for (int i = 0; i < k; ++i) x[i] = std::exp(x[i] - most);
    const float all = sum(x, k);
    for (int i = 0; i < k; ++i) x[i] /= all;
}

float sum(const float* x, int k) { return std::accumulate(x, x + k, 0.0f); }

std::vector<std::int32_t> sorted(const float* x, int k) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(k));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [x](auto a, auto b) { return x[a] > x[b]; });
    return order;
}

float dot(const float* a, const float* b, int k) {
    constexpr int lanes = 16;
    float sum[lanes] = {};
    int i = 0;
    for (; i + lanes <= k; i += lanes)
        for (int j = 0; j < lanes; ++j) sum[j] += a[i + j] * b[i + j];
    float total = 0;
    for (; i < k; ++i) total += a[i] * b[i];
    for (const float s : sum) total += s;
    return total;
}

}  // namespace catena_test::scalar
