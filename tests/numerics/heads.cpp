// Heads, which are normed and turned, and routing, which makes weights of logits.
#include "by_ggml.hpp"
#include "distance.hpp"
#include "head_case.hpp"
#include "route_case.hpp"

#include <algorithm>
#include <cmath>

namespace catena_test {
namespace {

using namespace catena;

/// Norms of four heads of three tokens, turned by the angles of usual models.
head_case heads_of(input of) {
    head_case c{.what = "", .values = {}};
    head_value& v = c.values.emplace_back(head_value{.k = 128, .heads = 4});
    v.normed = v.weighted = v.turned = v.written = true;
    c.tokens = 3;
    v.x = values_of(of, v.k, v.heads * c.tokens);
    c.rope.pairs = pairing::halves, c.rope.dims = v.k, c.rope.base = 10000;
    return c;
}

/// 16 roundings of a norm and 16 of a turn, and an angle that is as wrong as its position is large.
std::vector<double> head_limits(const head_case& c, const std::vector<double>& exact) {
    const std::vector<std::int32_t> positions = positions_of(c);
    const auto k = static_cast<std::size_t>(c.values[0].k);
    const auto token = k * static_cast<std::size_t>(c.values[0].heads);
    std::vector<double> out;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        const std::size_t other = i / k * k + (i % k + k / 2) % k;
        const double pair = std::hypot(exact[i], exact[other]);
        out.push_back(pair * (32 + 4 * positions[i / token]) * 0x1p-24 + 0x1p-149);
    }
    return out;
}

/// The routers of Qwen3 (soft max) and of DeepSeek 3 (sigmoid) and 4 (sqrt(softplus)), these with a
/// bias, without groups.
route_case routing_of(kernel_task task, input of) {
    route_case c{.what = ""};
    c.experts = 128, c.tokens = 3;
    c.numbers.score = scoring::soft_max;
    c.numbers.normalized = true, c.numbers.least = 6.103515625e-5f, c.numbers.chosen = 8;
    if (task == kernel_task::route_sigmoid)
        c.numbers.score = scoring::sigmoid, c.numbers.scale = 2.5f;
    if (task == kernel_task::route_sqrt_softplus)
        c.numbers.score = scoring::sqrt_softplus, c.numbers.scale = 1.5f;
    c.biased = task != kernel_task::route_soft_max;
    c.x = values_of(of, c.experts, c.tokens);
    return c;
}

/// A weight is a quotient of exponentials, each of which is as wrong as its argument is large.
std::vector<double> routing_limits(const std::vector<double>& exact) {
    std::vector<double> out;
    for (const double w : exact)
        out.push_back(w == 0 ? 0x1p-126 : w * (32 + std::abs(std::log(w))) * 0x1p-24 + 0x1p-126);
    return out;
}

}  // namespace

measured measure_heads(const instance& on, input of) {
    const head_case c = heads_of(of);
    const std::vector<double> exact = reference_of(c, 0).value, limits = head_limits(c, exact);
    const std::vector<float> got = from_bytes<float>(run(on, c).front().f32);
    const auto by_ggml =
        heads_by_ggml(c.values[0].x, weight_of(c, 0), c.values[0].heads, positions_of(c), c.rope);
    return {distance_of(got, exact, limits), distance_of(by_ggml, exact, limits)};
}

measured measure_routing(const kernel_kind& kind, const instance& on, input of) {
    const route_case c = routing_of(kind.task, of);
    const std::vector<double> exact = weights_of(c), limits = routing_limits(exact);
    const std::vector<float> got = from_bytes<float>(run(on, c).weights);
    const auto by_ggml = routing_by_ggml(c.x, c.experts, bias_of(c), c.numbers);
    return {distance_of(got, exact, limits), distance_of(by_ggml, exact, limits)};
}

}  // namespace catena_test
