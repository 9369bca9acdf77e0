#include "results.hpp"

#include "catena/format/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace catena::bench {

namespace {

/// Writes `pattern` again and again over what the nodes write.
void cover_results(const small_graph& placed, const memory& where,
                   std::span<const std::byte> pattern) {
    for (const std::int32_t node : placed.nodes) {
        const tensor& t = placed.tensors[static_cast<std::size_t>(node)];
        if (t.view_src != no_tensor) continue;
        auto* const to = static_cast<std::byte*>(t.data);
        const auto bytes = static_cast<std::size_t>(extent_bytes(t));
        for (std::size_t at = 0; at < bytes; at += pattern.size())
            where.write(to + at, pattern.first(std::min(pattern.size(), bytes - at)));
    }
}

}  // namespace

void poison_results(const small_graph& placed, const memory& where) {
    cover_results(placed, where, std::vector<std::byte>(1 << 20, std::byte{0xff}));
}

void seed_results(const small_graph& placed, const memory& where) {
    std::vector<float> values(1 << 18);
    fill_random_values(1, 0, values);
    cover_results(placed, where, std::as_bytes(std::span(values)));
}

std::vector<std::vector<float>> read_results(const small_graph& placed, const memory& where) {
    std::vector<std::vector<float>> out;
    for (const std::int32_t node : placed.nodes) {
        const tensor& t = placed.tensors[static_cast<std::size_t>(node)];
        if (!leaves_the_cut(placed, node) || launches_nothing(t.kind)) continue;
        std::vector<float> values(static_cast<std::size_t>(elements(t)));
        where.read(static_cast<const std::byte*>(t.data),
                   std::as_writable_bytes(std::span(values)));
        out.push_back(std::move(values));
    }
    return out;
}

double nmse(const std::vector<float>& expected, const std::vector<float>& found) {
    double error = 0, power = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double e = static_cast<double>(expected[i]), f = static_cast<double>(found[i]);
        error += (f - e) * (f - e);
        power += e * e;
    }
    return error / power;
}

double worst_nmse(const std::vector<std::vector<float>>& expected,
                  const std::vector<std::vector<float>>& found) {
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double is = nmse(expected[i], found[i]);
        if (std::isnan(is)) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, is);
    }
    return worst;
}

}  // namespace catena::bench
