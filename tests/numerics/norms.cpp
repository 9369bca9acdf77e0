// Rows: norms, and what quantizing makes of a row.
#include "by_ggml.hpp"
#include "distance.hpp"
#include "row_case.hpp"
#include "row_data.hpp"

#include "catena/chain/reference.hpp"
#include "catena/format/codec.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace catena_test {
namespace {

using namespace catena;

constexpr int row_k = 256, rows = 3;

row_case case_of(format emits, input of) {
    row_case c{.what = "", .k = row_k, .n1 = rows};
    c.emits = format_set::of(emits);
    c.x = values_of(of, c.k, c.n1);
    return c;
}

stage_kind stage_of(kernel_task t) {
    return t == kernel_task::norm         ? stage_kind::rms_norm
           : t == kernel_task::layer_norm ? stage_kind::layer_norm
                                          : stage_kind::l2_norm;
}

/// A norm; a weight and a bias where the case has them.
std::vector<double> exact_norm(const row_case& c, stage_kind norm) {
    const row_data d = make_data(c);
    chain::inputs in;
    in.k = c.k;
    in.rows = c.n1;
    in.eps = double{c.eps};
    in.x.assign(d.x.begin(), d.x.end());
    in[operand::weight].assign(d.weight.begin(), d.weight.end());
    in[operand::bias].assign(d.bias.begin(), d.bias.end());
    lowered_chain chain;
    const auto add = [&chain](const stage& s) { chain.stages[chain.count++] = s; };
    add({.kind = norm});
    if (c.scale) add({.kind = stage_kind::mul_weight, .reads = operand::weight});
    if (c.bias) add({.kind = stage_kind::add_bias, .reads = operand::bias});
    add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
    return chain::reference(chain, in).value;
}

/// 16 roundings of f32: a sum of squares, a root, a quotient and two products. A layer norm takes a
/// mean of each value, whose error is that of the largest.
std::vector<double> norm_limits(const row_case& c, stage_kind norm,
                                const std::vector<double>& exact) {
    std::vector<double> out;
    for (const double v : exact) out.push_back(std::abs(v) * 16 * 0x1p-24 + 0x1p-149);
    if (norm != stage_kind::layer_norm) return out;
    const row_data d = make_data(c);
    for (int row = 0; row < c.n1; ++row) {
        const auto x = std::span(d.x).subspan(size(row * c.k), size(c.k));
        double largest = 0, mean = 0, squares = 0;
        for (const float v : x) {
            largest = std::max(largest, std::abs(double{v}));
            mean += double{v} / c.k;
        }
        for (const float v : x) squares += (double{v} - mean) * (double{v} - mean);
        const double factor = 1 / std::sqrt(squares / c.k + double{c.eps});
        for (std::size_t i = 0; i < x.size(); ++i)
            out[size(row * c.k) + i] +=
                16 * 0x1p-24 *
                (largest * factor * std::abs(d.weight[i]) + std::abs(double{d.bias[i]}));
    }
    return out;
}

}  // namespace

measured measure_norm(const kernel_kind& kind, const instance& on, input of) {
    const stage_kind norm = stage_of(kind.task);
    row_case c = case_of(format::f32, of);
    c.scale = norm != stage_kind::l2_norm;
    c.bias = norm == stage_kind::layer_norm;
    const std::vector<double> exact = exact_norm(c, norm), limits = norm_limits(c, norm, exact);
    const std::vector<float> got = from_bytes<float>(run(on, c).f32);
    const row_data d = make_data(c);
    const std::vector<float> by_ggml =
        norm == stage_kind::rms_norm     ? norm_by_ggml(c.x, d.weight, c.eps)
        : norm == stage_kind::layer_norm ? layer_norm_by_ggml(c.x, d.weight, d.bias, c.eps)
                                         : l2_norm_by_ggml(c.x, c.k, c.eps);
    return {distance_of(got, exact, limits), distance_of(by_ggml, exact, limits)};
}

measured measure_quantize(const instance& on, input of) {
    const row_case c = case_of(format::q8_1, of);
    const std::vector<double> exact(c.x.begin(), c.x.end());
    std::vector<double> limits;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        double largest = 0;
        for (std::size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
            largest = std::max(largest, std::abs(exact[j]));
        limits.push_back(rounding_of({.reads = format::q8_1}, exact[i], largest));
    }
    const row_outputs outputs = run(on, c);
    const bytes& stored = outputs.emits.at(format::q8_1);
    const std::size_t row_bytes = stored.size() / size(c.n1);
    std::vector<float> got;
    for (std::size_t row = 0; row < size(c.n1); ++row) {
        const auto values =  // padding too
            decode_row<float>(format::q8_1, std::span(stored).subspan(row * row_bytes, row_bytes),
                              stored_elements(format::q8_1, c.k));
        got.insert(got.end(), values.begin(), values.begin() + c.k);
    }
    return {distance_of(got, exact, limits),
            distance_of(quantized_by_ggml(c.x, c.k), exact, limits)};
}

}  // namespace catena_test
