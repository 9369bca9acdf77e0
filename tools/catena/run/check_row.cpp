// Row steps: every row runs, every output is compared.
#include "check.hpp"
#include "data.hpp"

#include "catena/chain/reference.hpp"

#include <cmath>

namespace catena::tool {
namespace {

constexpr double norm_limit = 1e-7;
constexpr double f16_limit = 1e-6;      // its rounding alone: 2^-24 / 3
constexpr double bf16_limit = 1e-5;     // its rounding alone: 2^-18 / 3
constexpr double same_rule_limit = 1e-6;

/// Seeds `rows` rows and returns what then lies there, in double (rows may share memory).
std::vector<double> seed_rows(machine& on, const row_args& a, const float* base, const row_strides& at,
                              std::uint64_t key) {
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
            sum.add(row[static_cast<std::size_t>(i)], expected[static_cast<std::size_t>(r * a.k + i)]);
    }
    return {o.of, sum.value(), o.limit};
}

/// True when `found` is the neighbour of `rule` on the other side of `exact`, which lies about halfway: the
/// kernel's float may round the other way than the reference's double. (Not quite halfway: the stored scale is
/// rounded to f16 after it was used.)
bool other_side_of_a_tie(double found, double rule, double exact) {
    return std::abs(found - exact) <= 1.15 * std::abs(rule - exact);
}

/// The quantised rows against the format's own rule on the reference, and that their padding is zero.
std::vector<comparison> compare_quantized(machine& on, const row_args& a,
                                          const std::vector<double>& expected) {
    nmse_sum sum, padding;
    const std::int64_t row_bytes_here = std::int64_t{a.quant_blocks} * info(format::q8_1).block_bytes;
    const std::int64_t quant_rows = std::int64_t{a.rows} * a.k / a.quant_k;
    const auto stored = static_cast<std::size_t>(stored_bytes(format::q8_1, a.quant_k));
    for (std::int64_t r = 0; r < quant_rows; ++r) {
        const auto bytes =
            read_bytes(on, static_cast<const std::byte*>(a.q8_1) + r * row_bytes_here, row_bytes_here);
        const auto first = expected.begin() + r * a.quant_k;
        const std::vector<float> value(first, first + a.quant_k);
        const auto rule = encode_row(format::q8_1, value);
        const auto wanted = decode_row<double>(format::q8_1, rule, a.quant_k);
        const auto found =
            decode_row<double>(format::q8_1, std::span(bytes).first(stored), a.quant_k);
        for (std::size_t i = 0; i < found.size(); ++i) {
            const double exact = first[static_cast<std::ptrdiff_t>(i)];
            sum.add(other_side_of_a_tie(found[i], wanted[i], exact) ? wanted[i] : found[i], wanted[i]);
        }
        for (std::int64_t i = row_bytes(format::q8_1, a.quant_k); i < row_bytes_here; ++i)
            padding.add(static_cast<double>(bytes[static_cast<std::size_t>(i)]), 0);
    }
    return {{"q8_1", sum.value(), same_rule_limit}, {"q8_1 padding", padding.value(), 0}};
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
    in.x = seed_rows(on_, a, a.x, a.x_at, random_bits(key, 0));
    if (a.residual != nullptr) in.residual = seed_rows(on_, a, a.residual, a.residual_at, random_bits(key, 1));
    if (a.weight != nullptr) {
        const auto weight = seeded(random_bits(asked_.seed, where_.key(a.weight)), a.k, 1, 0.1f);
        write_values(on_, const_cast<float*>(a.weight), weight);
        in.weight.assign(weight.begin(), weight.end());
    }

    step_result result;
    result.fault = launch(step, {});
    result.computed = result.rows = static_cast<double>(a.rows);
    if (!result.fault.empty()) return result;

    const chain::outputs out = chain::reference(chain, in);
    if (a.sum != nullptr)
        result.comparisons.push_back(
            compare_rows(on_, a, {"sum", a.sum, a.sum_at, format::f32, norm_limit}, out.sum));
    for (const rounded_output& o :
         {rounded_output{"f32", a.f32, a.f32_at, format::f32, norm_limit},
          rounded_output{"f16", a.f16, a.f16_at, format::f16, f16_limit},
          rounded_output{"bf16", a.bf16, a.bf16_at, format::bf16, bf16_limit}})
        if (o.base != nullptr) result.comparisons.push_back(compare_rows(on_, a, o, out.value));
    if (a.q8_1 != nullptr)
        for (comparison& c : compare_quantized(on_, a, out.value)) result.comparisons.push_back(std::move(c));
    activations_[s.chain] = out.value;
    return result;
}

}  // namespace catena::tool
