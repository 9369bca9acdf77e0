// Products: alone, of a norm that the launch makes, and with a GLU.
#include "by_ggml.hpp"
#include "distance.hpp"
#include "matvec_data.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace catena_test {
namespace {

constexpr double largest_f16 = 65504;
/// 16 roundings of f32: a sum of squares, a root, a quotient and two products.
constexpr double error_of_norm = 16 * 0x1p-24;

int values_of_a_scale(format layout) { return layout == format::fp8_group ? 128 : 32; }

/// What the launch multiplies, before it rounds it.
std::vector<double> activation_of(const matvec_case& c, chain::inputs in) {
    if (!c.norm) return in.x;
    in.matrices.clear();
    lowered_chain norm = chain_of(c);
    norm.count = 2;
    norm.stages[norm.count++] = {.kind = stage_kind::emit, .formats = format_set::of(format::f32)};
    return chain::reference(norm, in).value;
}

/// The largest error that rounding explains, for each product with one matrix.
std::vector<double> product_limits(const kernel_kind& kind, const std::vector<double>& x,
                                   const std::vector<double>& weights) {
    const auto k = static_cast<std::size_t>(product_k);
    const auto group = static_cast<std::size_t>(values_of_a_scale(kind.reads));
    const double of_norm = kind.task == kernel_task::matvec_norm ? error_of_norm : 0;
    std::vector<double> out;
    for (std::size_t column = 0; column < x.size(); column += k)
        for (std::size_t row = 0; row < weights.size(); row += k) {
            double limit = 0, products = 0;
            for (std::size_t first = 0; first < k; first += group) {
                double largest = 0, largest_weight = 0;
                for (std::size_t i = first; i < first + group; ++i) {
                    largest = std::max(largest, std::abs(x[column + i]));
                    largest_weight = std::max(largest_weight, std::abs(weights[row + i]));
                }
                for (std::size_t i = first; i < first + group; ++i) {
                    const double v = x[column + i];
                    // A weight may be the difference of a product and a minimum of its size.
                    limit += 2 * largest_weight *
                             (rounding_of(kind, v, largest) + of_norm * std::abs(v));
                    products += largest_weight * largest;
                }
            }
            out.push_back(limit + products * product_k * 0x1p-24);  // a sum of f32
        }
    return out;
}

std::vector<double> plain_products(const std::vector<double>& x,
                                   const std::vector<double>& weights) {
    const auto k = static_cast<std::size_t>(product_k);
    std::vector<double> out;
    for (std::size_t column = 0; column < x.size(); column += k)
        for (std::size_t row = 0; row < weights.size(); row += k) {
            double sum = 0;
            for (std::size_t i = 0; i < k; ++i) sum += x[column + i] * weights[row + i];
            out.push_back(sum);
        }
    return out;
}

double silu(double g) { return g / (1 + std::exp(-g)); }

/// What the limits of two products come to behind a GLU, whose slope is 1.1 at most.
std::vector<double> glu_limits(const kernel_kind& kind, const std::vector<double>& x,
                               const chain::matrix& m) {
    const auto gates = plain_products(x, m.values), ups = plain_products(x, m.up);
    const auto gate_limits = product_limits(kind, x, m.values);
    const auto up_limits = product_limits(kind, x, m.up);
    std::vector<double> out;
    for (std::size_t i = 0; i < gates.size(); ++i) {
        const double gate = silu(gates[i]);
        // An exponential is as wrong as its argument, which matters where the gate is almost shut.
        const double roundings = 16 + std::min(std::abs(gates[i]), 128.0);
        out.push_back(1.1 * gate_limits[i] * (std::abs(ups[i]) + up_limits[i]) +
                      std::abs(gate) * up_limits[i] +
                      std::abs(gate * ups[i]) * roundings * 0x1p-24 + 0x1p-149);
    }
    return out;
}

/// What the layout costs where ggml computes with a finer one: both factors are rounded to nearest,
/// by half a unit of 8 bits (bf16) or 11 (f16, tf32). A GLU multiplies two such products.
double usual_nmse_of(const kernel_kind& kind) {
    const double products = kind.has_glu() ? 2 : 1;
    if (kind.reads == format::bf16_mma || kind.weights.has(format::bf16))
        return products * 2 * 0x1p-18;
    return kind.is_matmul() ? products * 2 * 0x1p-22 : 1e-13;
}

void append(std::vector<double>& to, const std::vector<double>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

double rounding_of(const kernel_kind& kind, double v, double largest) {
    switch (kind.reads) {
        case format::q8_1:
        case format::q8_1_mmq_d4:  // half a step of 127, and the scale that is rounded
            return largest * (1 / 254.0 + 0x1p-20) + 128 * 0x1p-149;
        case format::q8_1_mmq_ds4:  // whose scale has 11 bits, beside the sum of the block
            return largest * (1 / 254.0 + 0x1p-9) + 128 * 0x1p-139;
        case format::fp8_group:  // three bits of mantissa, 448 steps below them
            return std::abs(v) * 0x1p-4 + largest / 448 * 0x1p-10;
        case format::bf16_mma:  // of the value and of the decoded weight
            return std::abs(v) * 0x1p-8;
        case format::f16_mma:
            return std::abs(v) * 0x1p-10 + 0x1p-24;
        default:  // f32, which a matmul rounds to the type of its weights
            if (!kind.is_matmul()) return std::abs(v) * 0x1p-23;
            return kind.weights.has(format::bf16) ? std::abs(v) * 0x1p-9
                                                  : std::abs(v) * 0x1p-11 + 0x1p-25;
    }
}

int product_columns(const instance& on) {
    return on.computes.kind() == skeleton::matvec ? on.policy.matvec().columns : 9;
}

matvec_case product_case(const kernel_kind& kind, const instance& on, std::vector<float> x) {
    matvec_case c{.what = "", .k = product_k};
    for (const format f : kind.weights) {
        member_shape& m = c.members.emplace_back(member_shape{f, product_rows(kind)});
        if (!kind.has_glu()) continue;
        m.parts = epilogue_set::of(epilogue_part::glu);
        m.function = gate_function::silu;
    }
    c.columns = static_cast<int>(x.size()) / product_k;
    c.band_rows = 12;
    c.put = special::any_value;
    c.norm = c.as_f32 = has_norm(on.computes.product().stages);
    c.x = std::move(x);
    return c;
}

std::vector<float> products_of(const instance& on, const matvec_case& c) {
    std::vector<float> out;
    for (const matvec_output& member : run(on, c))
        out.insert(out.end(), member.f32.begin(), member.f32.end());
    return out;
}

measured measure_product(const kernel_kind& kind, const instance& on, input of) {
    const matvec_case c = product_case(kind, on, values_of(of, product_k, product_columns(on)));
    const matvec_data d = make_data(on, c);
    const chain::inputs in = reference_inputs(on, c, d);
    const std::vector<double> x = activation_of(c, in);
    std::vector<double> exact, limits;
    for (const auto& products : chain::reference(chain_of(c), in).products) append(exact, products);
    for (const chain::matrix& m : in.matrices)
        append(limits, kind.has_glu() ? glu_limits(kind, x, m) : product_limits(kind, x, m.values));
    measured out;
    out.catena = distance_of(products_of(on, c), exact, limits);

    const std::vector<float> weight_of_norm = c.norm ? norm_weight(c) : std::vector<float>{};
    std::vector<float> by_ggml;
    for (std::size_t i = 0; i < c.members.size(); ++i) {
        const auto one = product_by_ggml({.weights = c.members[i].type,
                                          .k = product_k,
                                          .rows = product_rows(kind),
                                          .weight = d.members[i].weight,
                                          .up = d.members[i].up,
                                          .norm_weight = weight_of_norm,
                                          .eps = norm_eps},
                                         c.x);
        by_ggml.insert(by_ggml.end(), one.begin(), one.end());
    }
    out.known_to_ggml = by_ggml.size() == exact.size();
    if (out.known_to_ggml) out.ggml = distance_of(by_ggml, exact, limits);
    out.usual_nmse = usual_nmse_of(kind);
    const bool in_f16 =
        kind.reads == format::f16_mma ||
        (kind.is_matmul() && kind.reads == format::f32 && kind.weights.has(format::f16));
    out.may_overflow =
        in_f16 && std::ranges::any_of(x, [](double v) { return std::abs(v) > largest_f16; });
    return out;
}

}  // namespace catena_test
