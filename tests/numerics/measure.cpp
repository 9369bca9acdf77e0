#include "measure.hpp"

#include "by_ggml.hpp"
#include "compare.hpp"
#include "host_machine.hpp"
#include "matvec_data.hpp"
#include "row_case.hpp"
#include "row_data.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

namespace catena_test {
namespace {

/// Is it one of the kinds measured here?
bool kind_of(const catena::computation& computes, kernel_kind& kind) {
    if (computes.kind() == skeleton::row) {
        const row_computation& row = computes.row();
        const bool norm = row.stages.has(stage_kind::rms_norm) &&
                          row.stages.has(stage_kind::mul_weight) &&
                          row.stages.has(stage_kind::add_residual);
        if (norm && row.emits.has(format::f32))
            kind = {"norm"};
        else if (row.stages.empty() && row.emits.has(format::q8_1))
            kind = {"quantize"};
        else
            return false;
        return !row.own;
    }
    const product_computation& product = computes.product();
    if (product.weights.size() != 1 || has_norm(product.stages) || product.own) return false;
    kind = {product.kind == skeleton::matvec ? "matvec" : "matmul", *product.weights.begin(),
            product.activation};
    return true;
}

/// How wrong one value of an activation may be in its layout. `largest`: of the values that share
/// its scale.
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
            if (kind.what == "matvec") return std::abs(v) * 0x1p-23;
            return kind.weights == format::bf16 ? std::abs(v) * 0x1p-9
                                                : std::abs(v) * 0x1p-11 + 0x1p-25;
    }
}

int values_of_a_scale(format layout) { return layout == format::fp8_group ? 128 : 32; }

/// The largest error that rounding explains, for each result.
std::vector<double> product_limits(const kernel_kind& kind, const std::vector<float>& x,
                                   const std::vector<double>& weights) {
    const auto k = static_cast<std::size_t>(product_k);
    const auto group = static_cast<std::size_t>(values_of_a_scale(kind.reads));
    std::vector<double> out;
    for (std::size_t column = 0; column < x.size(); column += k)
        for (std::size_t row = 0; row < weights.size(); row += k) {
            double limit = 0, products = 0;
            for (std::size_t first = 0; first < k; first += group) {
                double largest = 0, largest_weight = 0;
                for (std::size_t i = first; i < first + group; ++i) {
                    largest = std::max(largest, std::abs(double{x[column + i]}));
                    largest_weight = std::max(largest_weight, std::abs(weights[row + i]));
                }
                for (std::size_t i = first; i < first + group; ++i) {
                    // A weight may be the difference of a product and a minimum of its size.
                    limit += 2 * largest_weight * rounding_of(kind, x[column + i], largest);
                    products += largest_weight * largest;
                }
            }
            out.push_back(limit + products * product_k * 0x1p-24);  // a sum of f32
        }
    return out;
}

distance distance_of(const std::vector<float>& got, const std::vector<double>& exact,
                     const std::vector<double>& limits) {
    distance out;
    double largest = 0;
    for (const double v : exact) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const double error = std::abs(double{got[i]} - exact[i]);
        out.finite = out.finite && std::isfinite(got[i]);
        out.largest_error = std::max(out.largest_error, largest > 0 ? error / largest : error);
        if (error > 0) out.of_limit = std::max(out.of_limit, error / limits[i]);
    }
    out.nmse = nmse<float>(got, exact);
    return out;
}

double largest_of(const std::vector<float>& x) {
    double out = 0;
    for (const float v : x) out = std::max(out, std::abs(double{v}));
    return out;
}

measured measure_row(const kernel_kind& kind, const instance& on, input of) {
    const bool norm = kind.what == "norm";
    row_case c{.what = "", .k = 256, .n1 = 3};
    c.emits = format_set::of(norm ? format::f32 : format::q8_1);
    c.scale = norm;
    c.x = values_of(of, c.k, c.n1);
    const row_outputs outputs = run(on, c);
    const std::vector<float> weight = make_data(c).weight;
    std::vector<float> got, by_ggml;
    std::vector<double> exact, limits;
    for (int row = 0; row < c.n1; ++row) {
        const auto x = std::span(c.x).subspan(size(row * c.k), size(c.k));
        double squares = 0;
        for (const float v : x) squares += double{v} * double{v};
        const double factor = norm ? 1 / std::sqrt(squares / c.k + double{c.eps}) : 1;
        for (std::size_t i = 0; i < x.size(); ++i) {
            exact.push_back(double{x[i]} * factor * (norm ? double{weight[i]} : 1));
            double largest = 0;
            for (std::size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
                largest = std::max(largest, std::abs(double{x[j]}));
            // A norm rounds a sum of squares, a root, a quotient and two products.
            limits.push_back(norm ? std::abs(exact.back()) * 16 * 0x1p-24 + 0x1p-149
                                  : rounding_of({"", {}, format::q8_1}, x[i], largest));
        }
    }
    if (norm) {
        got = from_bytes<float>(outputs.f32);
        by_ggml = norm_by_ggml(c.x, weight, c.eps);
    } else {
        const bytes& stored = outputs.emits.at(format::q8_1);
        const std::size_t row_bytes = stored.size() / size(c.n1);
        for (std::size_t row = 0; row < size(c.n1); ++row) {
            const auto values =  // padding too
                decode_row<float>(format::q8_1,
                                  std::span(stored).subspan(row * row_bytes, row_bytes),
                                  stored_elements(format::q8_1, c.k));
            got.insert(got.end(), values.begin(), values.begin() + c.k);
        }
        by_ggml = quantized_by_ggml(c.x, c.k);
    }
    return {distance_of(got, exact, limits), distance_of(by_ggml, exact, limits)};
}

}  // namespace

std::map<kernel_kind, std::vector<instance>> kernels_by_kind() {
    std::map<kernel_kind, std::vector<instance>> out;
    std::map<std::pair<kernel_kind, std::uint32_t>, bool> known;
    for (const arch& a : arch_registry) {
        const table t = instances::on_host(instances::table_named(a.name));
        for (int i = 0; i < t.row_count; ++i) {
            kernel_kind kind;
            if (!runs(t, i) || !kind_of(t.rows[i].computes, kind)) continue;
            if (!known.try_emplace({kind, t.rows[i].order}, true).second) continue;
            out[kind].push_back(
                on_host(t.rows[i].computes, t.rows[i].policy, t.kernels[i], row_name(t, i)));
        }
    }
    return out;
}

int product_columns(const instance& on) {
    return on.computes.kind() == skeleton::matvec ? on.policy.matvec().columns : 9;
}

matvec_case product_case(const instance& on, std::vector<float> x) {
    matvec_case c{.what = "", .k = product_k};
    c.members.push_back({*on.computes.product().weights.begin(), product_rows});
    c.columns = static_cast<int>(x.size()) / product_k;
    c.band_rows = 12;
    c.put = special::any_value;
    c.x = std::move(x);
    return c;
}

measured measure(const kernel_kind& kind, const instance& on, input of) {
    if (!kind.is_product()) return measure_row(kind, on, of);
    const matvec_case c = product_case(on, values_of(of, product_k, product_columns(on)));
    const std::vector<float> got = run(on, c).front().f32;
    const matvec_data d = make_data(on, c);
    const auto in = reference_inputs(on, c, d);
    const auto limits = product_limits(kind, c.x, in.matrices.front().values);
    const std::vector<double> exact = chain::reference(chain_of(c), in).products.front();
    measured out;
    out.catena = distance_of(got, exact, limits);
    const bytes& weight = d.members.front().weight;
    const auto by_ggml = product_by_ggml(kind.weights, weight, product_k, product_rows, c.x);
    out.known_to_ggml = !by_ggml.empty();
    if (out.known_to_ggml) out.ggml = distance_of(by_ggml, exact, limits);
    // Both factors are rounded to nearest, by half a unit of 8 bits (bf16) or 11 (f16, tf32).
    if (kind.reads == format::bf16_mma || kind.weights == format::bf16)
        out.usual_nmse = 2 * 0x1p-18;
    else if (kind.what == "matmul")
        out.usual_nmse = 2 * 0x1p-22;
    const bool in_f16 =
        kind.reads == format::f16_mma ||
        (kind.what == "matmul" && kind.reads == format::f32 && kind.weights == format::f16);
    out.may_overflow = in_f16 && largest_of(c.x) > 65504;
    return out;
}

}  // namespace catena_test
