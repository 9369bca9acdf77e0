// Row steps: every row runs, every output is compared.
#include "quantized.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/scaled.hpp"

#include <cstring>
#include <utility>

namespace catena::tool {
namespace {

constexpr double norm_limit = 1e-7;
constexpr double fp8_rule_limit = 1e-5;  // a few values round the other way
constexpr double f16_limit = 1e-6;       // its rounding alone: 2^-24 / 3
constexpr double bf16_limit = 1e-5;      // its rounding alone: 2^-18 / 3

/// Seeds `rows` rows and returns what then lies there, in double (rows may share memory).
std::vector<double> seed_rows(machine& on, const row_args& a, const float* base,
                              const row_strides& at, std::uint64_t key) {
    auto* const bytes = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(base));
    for (std::int64_t r = 0; r < a.rows; ++r)
        write_values(on, bytes + row_offset(a, at, r),
                     seeded(random_bits(key, static_cast<std::uint64_t>(r)), a.k, 0, 1));
    std::vector<double> values;
    for (std::int64_t r = 0; r < a.rows; ++r) {
        const auto row = read_values(on, bytes + row_offset(a, at, r), a.k);
        values.insert(values.end(), row.begin(), row.end());
    }
    return values;
}

/// Seeds what experts made, their weights and the gate of what joins them.
void seed_experts(machine& on, const row_args& a, std::uint64_t key, chain::inputs& in) {
    const expert_results& e = a.experts;
    std::uint64_t stream = 0;
    const auto seed = [&](const float* base, std::int64_t bytes, std::int64_t count,
                          std::vector<double>& to) {
        auto* const at = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(base)) + bytes;
        write_values(on, at, seeded(random_bits(key, stream++), count, 0, 1));
        const auto values = read_values(on, at, count);
        to.insert(to.end(), values.begin(), values.end());
    };
    in.expert_slots = e.slots;
    for (std::int64_t r = 0; r < a.rows; ++r)
        for (std::int64_t s = 0; s < e.slots; ++s) {
            seed(e.results, s * e.nb1 + r * e.nb2, a.k, in.experts);
            if (e.weights != nullptr)
                seed(e.weights, s * e.weights_nb1 + r * e.weights_nb2, 1, in.expert_weights);
        }
    for (std::int64_t r = 0; e.gate != nullptr && r < a.rows; ++r)
        seed(e.gate, r * e.gate_nb, 1, in.shared_gate);
}

struct rounded_output {
    const char* of;
    const void* base;
    row_strides at;
    format type;
    double limit;
};

comparison compare_rows(machine& on, const row_args& a, const rounded_output& o,
                        const std::vector<double>& expected) {
    nmse_sum sum;
    const auto* const base = static_cast<const std::byte*>(o.base);
    for (std::int64_t r = 0; r < a.rows; ++r) {
        const auto bytes = read_bytes(on, base + row_offset(a, o.at, r), row_bytes(o.type, a.k));
        const auto row = decode_row<double>(o.type, bytes, a.k);
        for (std::int64_t i = 0; i < a.k; ++i)
            sum.add(row[static_cast<std::size_t>(i)],
                    expected[static_cast<std::size_t>(r * a.k + i)]);
    }
    return {o.of, sum.value(), o.limit};
}

/// The quantized rows against the format's own rule on the reference, and that their padding is
/// zero.
std::vector<comparison> compare_quantized(machine& on, const row_args& a, const quantized_output& o,
                                          const std::vector<double>& expected) {
    nmse_sum sum, padding;
    const std::int64_t blocks = stored_elements(o.type, a.quant_k) / o.block_elements();
    const std::int64_t quant_rows = std::int64_t{a.rows} * a.k / a.quant_k;
    for (std::int64_t r = 0; r < quant_rows; ++r) {
        auto bytes = o.blocks(on, r, 0, blocks);
        const std::span exact(expected.data() + r * a.quant_k, static_cast<std::size_t>(a.quant_k));
        add_padding(o.type, bytes, a.quant_k, padding);
        add_quantized(o.type, std::move(bytes), exact, sum);
    }
    return {{o.of, sum.value(), same_rule_limit},
            {std::string(o.of) + " padding", padding.value(), 0}};
}

}  // namespace

step_result checker::run_row(int step, const row_args& a) {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    const lowered_chain& chain = plan_.rows().chains[place.chain];
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));

    chain::inputs in;
    in.k = a.k;
    in.rows = a.rows;
    in.eps = static_cast<double>(a.eps);
    in.next_eps = static_cast<double>(a.next_eps);
    in.x_scale = static_cast<double>(a.x_scale);
    in.norm_scale = static_cast<double>(a.norm_scale);
    if (a.sum_factor != nullptr) {
        const auto one = seeded(random_bits(key, 4), 1, 1, 0.1f);
        write_values(on_, const_cast<float*>(a.sum_factor), one);
        in.sum_factor = static_cast<double>(one[0]);
    }
    const bool experts = a.experts.results != nullptr;
    if (experts) seed_experts(on_, a, random_bits(key, 3), in);
    const bool alone = a.x == nullptr && !experts;  // a function of what stands in for the gate
    if (alone)
        in.x = seed_rows(on_, a, a.gate, a.gate_at, random_bits(key, 0));
    else if (a.x != nullptr)
        in.x = seed_rows(on_, a, a.x, a.x_at, random_bits(key, 0));
    if (experts && a.residual == nullptr)  // what the chain adds
        in.residual.assign(static_cast<std::size_t>(in.k * in.rows), 0);
    if (a.residual != nullptr)
        in.residual = seed_rows(on_, a, a.residual, a.residual_at, random_bits(key, 1));
    if (a.gate != nullptr) {
        if (!alone) in.gate = seed_rows(on_, a, a.gate, a.gate_at, random_bits(key, 2));
        in.gated_by = meaning_of(plan_.rows().ops, {a.function, {a.alpha, a.limit}});
    }
    in.own = meaning_of(plan_.rows().ops, a.own);
    const auto seed_vector = [&](const float* vector, float mean, std::vector<double>& to) {
        if (vector == nullptr) return;
        const auto values = seeded(random_bits(asked_.seed, where_.key(vector)), a.k, mean, 0.1f);
        write_values(on_, const_cast<float*>(vector), values);
        to.assign(values.begin(), values.end());
    };
    seed_vector(a.weight, 1, in.weight);
    seed_vector(a.bias, 0, in.bias);
    seed_vector(a.next_weight, 1, in.next_weight);

    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = static_cast<double>(a.rows);

    const chain::outputs out = chain::reference(chain, in);
    // A chain of numbers that multiply the engine's value says of no step that rounds it.
    const std::vector<double>& value = out.value.empty() ? in.x : out.value;
    if (a.sum != nullptr)
        result.comparisons.push_back(
            compare_rows(on_, a, {"sum", a.sum, a.sum_at, format::f32, norm_limit}, out.sum));
    compare_value(a, value, result);
    activations_[s.chain] = value;
    return result;
}

void checker::compare_value(const row_args& a, const std::vector<double>& value,
                            step_result& result) {
    for (const rounded_output& o :
         {rounded_output{"f32", a.f32, a.f32_at, format::f32, norm_limit},
          rounded_output{"f16", a.f16, a.f16_at, format::f16, f16_limit},
          rounded_output{"bf16", a.bf16, a.bf16_at, format::bf16, bf16_limit}})
        if (o.base != nullptr) result.comparisons.push_back(compare_rows(on_, a, o, value));
    const std::int64_t quant_rows = a.quant_k > 0 ? std::int64_t{a.rows} * a.k / a.quant_k : 0;
    const std::int64_t q8_1_row = std::int64_t{a.quant_blocks} * q8_1_bytes;
    for (const quantized_output& o : quantized_outputs(a, quant_rows, q8_1_row))
        for (comparison& c : compare_quantized(on_, a, o, value))
            result.comparisons.push_back(std::move(c));
    if (a.fp8_group.data != nullptr) {
        const std::int64_t rows = a.rows;
        nmse_sum sum;
        const auto found = read_fp8(a.fp8_group, rows, a.k);
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto first = value.begin() + r * a.k;
            const std::vector<float> exact(first, first + a.k);
            const auto rule =
                decode_scaled(format::fp8_group, encode_scaled(format::fp8_group, exact), a.k);
            for (std::int64_t i = 0; i < a.k; ++i)
                sum.add(found[static_cast<std::size_t>(r * a.k + i)],
                        rule[static_cast<std::size_t>(i)]);
        }
        result.comparisons.push_back({"fp8_group", sum.value(), fp8_rule_limit});
    }
}

/// What lies in data and scales, row after row.
std::vector<double> checker::read_fp8(const scaled_output& at, std::int64_t rows,
                                      std::int64_t k) const {
    std::vector<double> out;
    const std::int64_t groups = k / scale_group(format::fp8_group, k);
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto data = read_bytes(on_, static_cast<std::byte*>(at.data) + r * k, k);
        scaled_row row{std::vector<std::uint8_t>(data.size()),
                       read_values(on_, static_cast<float*>(at.scales) + r * groups, groups)};
        std::memcpy(row.data.data(), data.data(), data.size());
        const auto values = decode_scaled(format::fp8_group, row, k);
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

}  // namespace catena::tool
