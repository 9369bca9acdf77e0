// What the tensors of a row's case hold, and what its chain makes of them before the norm.
#pragma once

#include "row_case.hpp"

#include "catena/format/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace catena_test {

inline std::size_t size(int n) { return static_cast<std::size_t>(n); }

struct row_data {
    std::vector<float> x, gate, residual, weight, bias, next_weight;  ///< without gaps
    std::vector<float> experts, expert_weights, expert_gate;
};

/// The residual of a case.
inline std::vector<float> residual_of(const row_case& c) {
    std::vector<float> out(c.residual ? size(c.k * c.rows()) : 0);
    if (c.put != row_values::zeros) catena::fill_random_values(3, 0, out);
    return out;
}

/// The weight of its second norm.
inline std::vector<float> next_weight_of(const row_case& c) {
    std::vector<float> out(size(c.k));
    catena::fill_random_values(9, 0, out);
    for (float& w : out) w = 1 + w / 8;
    return out;
}

inline row_data make_data(const row_case& c) {
    row_data d;
    d.gate.resize(size(c.k * c.rows()));
    catena::fill_random_values(4, 0, d.gate);
    for (float& g : d.gate) g *= 3;
    d.x.resize(size(c.k * c.rows()));
    d.weight.resize(size(c.k));
    catena::fill_random_values(2, 0, d.weight);
    for (float& w : d.weight) w = (c.one_plus ? 0 : 1) + w / 8;
    d.bias.resize(size(c.k));
    catena::fill_random_values(5, 0, d.bias);
    if (c.put != row_values::zeros) catena::fill_random_values(1, 0, d.x);
    d.next_weight = next_weight_of(c);
    d.residual = residual_of(c);
    d.experts.resize(size(c.k * c.slots * c.rows()));
    d.expert_weights.resize(size(c.slots * c.rows()));
    d.expert_gate.resize(size(c.rows()));
    if (c.put != row_values::zeros) catena::fill_random_values(6, 0, d.experts);
    catena::fill_random_values(7, 0, d.expert_weights);
    catena::fill_random_values(8, 0, d.expert_gate);
    const std::size_t special = size((c.rows() - 1) * c.k + c.k / 2);
    if (c.put == row_values::nan) d.x[special] = std::numeric_limits<float>::quiet_NaN();
    if (c.put == row_values::infinity) d.x[special] = std::numeric_limits<float>::infinity();
    if (c.put == row_values::tiny || c.put == row_values::huge) {
        // Powers of two across the row carry it through the whole range where halves end.
        auto& scaled = c.scale ? d.weight : d.x;
        for (std::size_t i = 0; i < scaled.size(); ++i) {
            const int step = static_cast<int>(i / 32 % 24);
            scaled[i] =
                std::ldexp(scaled[i], c.put == row_values::tiny ? -8 - 5 * step : 4 + 2 * step);
        }
    }
    if (c.put == row_values::canceling) {
        if (c.scale) std::ranges::fill(d.weight, 1024.0f);
        for (std::size_t i = 0; i < d.x.size(); i += 32) {
            const auto block = std::span(d.x).subspan(i, 32);
            block[31] = -std::accumulate(block.begin(), block.end() - 1, 0.0f);
            if (!c.scale)
                std::ranges::transform(block, block.begin(), [](float v) { return 1024 * v; });
        }
    }
    if (!c.x.empty()) d.x = c.x;
    if (!c.weight.empty()) d.weight = c.weight;
    return d;
}

/// What the chain norms, an op after the other as an engine computes it.
inline std::vector<float> sum_of(const row_case& c) {
    const row_data d = make_data(c);
    std::vector<float> sum = d.x;
    for (std::size_t i = 0; c.slots > 0 && i < sum.size(); ++i) {
        const std::size_t row = i / size(c.k), column = i % size(c.k);
        for (std::size_t s = 0; s < size(c.slots); ++s) {
            const std::size_t at = row * size(c.slots) + s;
            const float weight = c.weighted ? d.expert_weights[at] : 1;
            const float product = d.experts[at * size(c.k) + column] * weight;
            sum[i] = s == 0 ? product : sum[i] + product;
        }
        const double gate = 1 / (1 + std::exp(-double{d.expert_gate[row]}));
        const float joins = c.shared_gate ? d.x[i] * static_cast<float>(gate) : d.x[i];
        if (c.shared) sum[i] += joins;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const float product = sum[i] * c.x_scale;
        sum[i] = c.residual ? product + d.residual[i] : product;
    }
    return sum;
}

}  // namespace catena_test
