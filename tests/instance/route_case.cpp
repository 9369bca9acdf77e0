#include "route_case.hpp"

#include "compare.hpp"

#include "catena/chain/reference.hpp"
#include "catena/pick/config.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace catena_test {

using namespace catena;

namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

/// Different numbers in an order that looks random: i -> 7 i + token modulo a prime.
std::vector<float> logits_of(const route_case& c) {
    constexpr float none = std::numeric_limits<float>::quiet_NaN();
    constexpr float most = std::numeric_limits<float>::infinity();
    if (!c.x.empty()) return c.x;
    std::vector<float> out;
    for (int t = 0; t < c.tokens; ++t)
        for (int e = 0; e < c.experts; ++e) {
            const int i = c.values == logits::in_pairs ? e / 2 : e;
            float v = static_cast<float>((i * 7 + t * 13 + 5) % 1031) / 128 - 4;
            if (c.values == logits::alike) v = 1.5f;
            if (c.values == logits::with_nan && e % 5 == 3) v = none;
            if (c.values == logits::with_infinities && e % 3 == 1) v = e % 2 == 0 ? most : -most;
            if (c.values == logits::with_zeros && e % 2 == 1) v = e % 4 == 1 ? -0.0f : 0.0f;
            out.push_back(v);
        }
    return out;
}

template <class T>
bytes with_gaps(const std::vector<T>& values, int length, int gap) {
    std::vector<T> out;
    for (std::size_t at = 0; at < values.size(); at += size(length)) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + length);
        out.resize(out.size() + size(gap));
    }
    return to_bytes(out);
}

template <class T>
std::vector<T> without_gaps(const bytes& raw, int length, int gap) {
    const std::vector<T> all = from_bytes<T>(raw);
    std::vector<T> out;
    for (std::size_t at = 0; at < all.size(); at += size(length + gap)) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + length);
    }
    return out;
}

chain::outputs reference_of(const route_case& c) {
    chain::inputs in;
    in.k = c.experts, in.rows = c.tokens;
    const std::vector<float> x = logits_of(c), bias = bias_of(c);
    in.x.assign(x.begin(), x.end());
    in[operand::bias].assign(bias.begin(), bias.end());
    in.routing = c.numbers;
    lowered_chain routing;
    for (const stage_kind kind : {stage_kind::score, stage_kind::choose, stage_kind::weigh})
        routing.stages[routing.count++] = {.kind = kind};
    routing.stages[routing.count++] = {.kind = stage_kind::emit,
                                       .formats = format_set::of(format::f32)};
    return chain::reference(routing, in);
}

}  // namespace

std::vector<float> bias_of(const route_case& c) {
    std::vector<float> out;
    for (int e = 0; e < c.experts && c.biased; ++e)
        out.push_back(static_cast<float>((e * 11 + 3) % 97) / 64);
    return out;
}

std::vector<double> weights_of(const route_case& c) { return reference_of(c).value; }

std::vector<std::int32_t> chosen_of(const route_case& c) {
    const std::vector<std::int32_t> all = reference_of(c).chosen;
    std::vector<std::int32_t> out;
    for (std::size_t at = 0; at < all.size(); at += size(c.experts)) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + c.numbers.chosen);
    }
    return out;
}

route_args put_routing(machine& on, const route_case& c) {
    const bytes x = with_gaps(logits_of(c), c.experts, c.gap);
    void* const at = on.put("logits", contents::data, x, 4);
    route_args a;
    a.x = static_cast<const float*>(at);
    if (c.biased)
        a.bias = static_cast<const float*>(
            on.put("bias of experts", contents::data, to_bytes(bias_of(c)), 4));
    a.numbers = c.numbers;
    a.experts = c.experts, a.tokens = c.tokens;
    a.x_nb = a.ids_nb = std::int64_t{4} * (c.experts + c.gap);
    a.weights_nb = std::int64_t{4} * (c.numbers.chosen + c.gap);
    a.ids = static_cast<std::int32_t*>(
        c.lies == route_case::place::ids_over_logits ? at : on.blank("experts", x.size(), 4));
    a.weights =
        static_cast<float*>(c.lies == route_case::place::weights_over_logits
                                ? at
                                : on.blank("weights of experts", size(a.weights_nb * c.tokens), 4));
    return a;
}

route_outputs read_routing(machine& on, const route_args& a) {
    return {on.read(a.ids, size(a.ids_nb * a.tokens)),
            on.read(a.weights, size(a.weights_nb * a.tokens))};
}

route_outputs run(const instance& on, const route_case& c) {
    const auto machine = on.make_machine();
    const route_args a = put_routing(*machine, c);
    const launch_config config{
        .blocks = static_cast<std::uint32_t>(c.tokens),
        .threads = static_cast<std::uint32_t>(on.policy.threads()),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(on.computes, on.policy, 0, 1)),
        .dependent = on.dependent};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    return read_routing(*machine, a);
}

void check(const route_case& c, const route_outputs& outputs) {
    const chain::outputs wanted = reference_of(c);
    const auto ids = without_gaps<std::int32_t>(outputs.ids, c.experts, c.gap);
    CHECK(ids == wanted.chosen);
    const auto weights = without_gaps<float>(outputs.weights, c.numbers.chosen, c.gap);
    REQUIRE(weights.size() == wanted.value.size());
    const bool numbers = std::all_of(wanted.value.begin(), wanted.value.end(),
                                     [](double w) { return std::isfinite(w); });
    if (numbers) CHECK(nmse<float>(weights, wanted.value) <= 1e-12);
    for (std::size_t i = 0; i < weights.size() && !numbers; ++i)
        CHECK(std::isnan(weights[i]) == std::isnan(wanted.value[i]));
}

void check(const instance&, const route_case& c, const route_outputs& outputs) {
    check(c, outputs);
}

}  // namespace catena_test
