#include "delta_case.hpp"

#include "compare.hpp"
#include "states.hpp"

#include "catena/chain/catalogue.hpp"
#include "catena/chain/reference.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/pick/config.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace catena_test {

using namespace catena;

namespace {

std::int64_t state_size(const delta_case& c) { return std::int64_t{c.k} * c.k * c.heads; }
int all_tokens(const delta_case& c) { return c.tokens * c.sequences; }
int state_read(const delta_case& c, int sequence) {
    return c.ids.empty() ? sequence : c.ids[size(sequence)];
}
bool reads_state(const delta_case& c, int sequence) {
    return state_read(c, sequence) >= 0 && state_read(c, sequence) < c.states;
}
float scale_of(const delta_case& c) { return 1 / std::sqrt(static_cast<float>(c.k)); }

/// Numbers of heads, [k, heads, tokens]. Keys and queries are short vectors, as norms make them.
std::vector<float> heads_of(const delta_case& c, unsigned seed, int heads, float length) {
    std::vector<float> all = random_values(seed, std::int64_t{c.k} * heads * all_tokens(c));
    for (float& v : all) v *= length / std::sqrt(static_cast<float>(c.k));
    return all;
}
std::vector<float> queries_of(const delta_case& c) { return heads_of(c, 1, c.key_heads, 1); }
std::vector<float> keys_of(const delta_case& c) { return heads_of(c, 2, c.key_heads, 1); }
std::vector<float> values_of(const delta_case& c) {
    std::vector<float> v = random_values(3, std::int64_t{c.k} * c.heads * all_tokens(c));
    if (c.nan) v[size(c.k * c.heads - 1)] = std::numeric_limits<float>::quiet_NaN();
    return v;
}
/// Logarithms, of which the first leaves nothing of a state; or what a softplus makes them of, of
/// which the first has an e^v that is infinite.
std::vector<float> decay_of(const delta_case& c) {
    const std::int64_t width = c.decay == decays::by_value ? c.k : 1;
    std::vector<float> all = random_values(4, width * c.heads * all_tokens(c));
    const bool softened = c.decay == decays::by_softplus;
    for (float& v : all) v = softened ? 12 * v : -std::abs(v);
    all.front() = softened ? 100 : -std::numeric_limits<float>::infinity();
    return all;
}
std::vector<float> factors_of(const delta_case& c) {
    std::vector<float> all = random_values(5, c.heads);
    for (float& v : all) v = -std::abs(v) / 8;
    return all;
}
std::vector<float> bias_of(const delta_case& c) { return random_values(8, c.heads); }
/// Shares between 0 and 1, or their logits.
std::vector<float> beta_of(const delta_case& c) {
    std::vector<float> all = random_values(6, std::int64_t{c.heads} * all_tokens(c));
    if (!c.logit)
        for (float& v : all) v = std::abs(v) / (1 + std::abs(v));
    return all;
}
/// Numbers of heads, as abreast says.
bytes abreast(const delta_case& c, const std::vector<float>& numbers) {
    if (c.abreast == 0) return to_bytes(numbers);
    std::vector<float> out;
    for (std::size_t at = 0; at < numbers.size(); at += size(c.abreast)) {
        const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + c.abreast);
        out.resize(out.size() + size(c.abreast));
    }
    return to_bytes(out);
}
head_numbers numbers_at(const delta_case& c, const float* first) {
    const std::int64_t of_token = 4 * std::int64_t{c.heads} * (c.abreast == 0 ? 1 : 2);
    return {first, 8 * std::int64_t{c.abreast}, of_token, c.abreast == 0 ? c.heads : c.abreast};
}
std::vector<float> states_in(const delta_case& c) {
    return random_values(7, c.states * state_size(c));
}

/// Where heads of tokens lie: so many numbers are behind each head, and behind each token.
struct placing {
    int k, heads, gap;

    std::int64_t head_bytes() const { return 4 * std::int64_t{k + gap}; }
    std::int64_t token_bytes() const { return head_bytes() * heads + 4 * std::int64_t{gap}; }
};
placing of_queries(const delta_case& c) { return {c.k, c.key_heads, c.gap}; }
placing of_keys(const delta_case& c) { return {c.k, c.key_heads, 2 * c.gap}; }
placing of_values(const delta_case& c) { return {c.k, c.heads, 3 * c.gap}; }
placing of_results(const delta_case& c) { return {c.k, c.heads, 4 * c.gap}; }

bytes placed(const placing& p, const std::vector<float>& values) {
    std::vector<float> out;
    for (std::size_t at = 0, head = 1; at < values.size(); at += size(p.k), ++head) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + p.k);
        out.resize(out.size() + size(head % size(p.heads) == 0 ? 2 * p.gap : p.gap));
    }
    return to_bytes(out);
}

/// What lies in memory for the launch of a case.
struct launch_data {
    heads_args a;
    float* states = nullptr;

    launch_data(machine& on, const delta_case& c) {
        const auto put = [&](const char* name, contents kind, const bytes& values) {
            return static_cast<float*>(on.put(name, kind, values, size(c.offset)));
        };
        delta_args& d = a.recalled;
        d.queries = put("queries", contents::data, placed(of_queries(c), queries_of(c)));
        d.keys = put("keys", contents::data, placed(of_keys(c), keys_of(c)));
        d.values = put("values", contents::data, placed(of_values(c), values_of(c)));
        const auto stride = [](const placing& p, std::int64_t& nb1, std::int64_t& nb2) {
            nb1 = p.head_bytes(), nb2 = p.token_bytes();
        };
        stride(of_queries(c), d.queries_nb1, d.queries_nb2);
        stride(of_keys(c), d.keys_nb1, d.keys_nb2);
        stride(of_values(c), d.values_nb1, d.values_nb2);
        d.by_value = c.decay == decays::by_value;
        d.decay = numbers_at(c, put("decay", contents::data,
                                    d.by_value ? to_bytes(decay_of(c)) : abreast(c, decay_of(c))));
        if (c.biased) d.decay_bias = put("bias", contents::weights, to_bytes(bias_of(c)));
        if (c.decay == decays::by_softplus)
            d.decay_factor = put("factors", contents::weights, to_bytes(factors_of(c)));
        d.beta = numbers_at(c, put("beta", contents::data, abreast(c, beta_of(c))));
        d.logit = c.logit, d.neighbors = c.neighbors;
        d.state = states = put("states", contents::data, to_bytes(states_in(c)));
        if (!c.ids.empty())
            d.state_ids =
                static_cast<const std::int32_t*>(on.put("ids", contents::data, to_bytes(c.ids)));
        if (c.replaced >= 0) d.next_state = states + c.replaced * state_size(c);
        d.key_heads = c.key_heads;
        d.states = c.states, d.sequences = c.sequences;
        head_member& m = a.member[a.members++];
        m.k = c.k, m.heads = c.heads, m.scale = scale_of(c);
        stride(of_results(c), m.f32_nb1, m.f32_nb2);
        m.f32 =
            static_cast<float*>(on.blank("heads", size(m.f32_nb2 * all_tokens(c)), size(c.offset)));
        a.tokens = all_tokens(c);
        a.rows = c.heads * (c.k / values_of_warp) * c.sequences;
    }
};

double decay_by_reference(const delta_case& c, float v, int head) {
    const double x = double{v} + (c.biased ? double{bias_of(c)[size(head)]} : 0);
    if (c.decay != decays::by_softplus) return x;
    return (x > 20 ? x : std::log1p(std::exp(x))) * double{factors_of(c)[size(head)]};
}

/// Heads of keys, each as often as neighboring heads share it.
std::vector<float> of_neighbors(const delta_case& c, const std::vector<float>& keys) {
    if (!c.neighbors) return keys;
    std::vector<float> all;
    for (auto head = keys.begin(); head != keys.end(); head += c.k)
        for (int i = 0; i < c.heads / c.key_heads; ++i) all.insert(all.end(), head, head + c.k);
    return all;
}

chain::outputs recalled_by_reference(const delta_case& c, int sequence) {
    const auto own = [&](const std::vector<float>& all) {
        return of_sequence<double>(all, sequence, c.sequences);
    };
    chain::inputs in;
    in.k = c.k, in.rows = std::int64_t{c.heads} * c.tokens, in.heads = c.heads;
    in.key_heads = c.neighbors ? c.heads : c.key_heads;
    in.head_scale = double{scale_of(c)};
    in.x = own(values_of(c));
    in.queries = own(of_neighbors(c, queries_of(c))), in.keys = own(of_neighbors(c, keys_of(c)));
    in.beta = own(beta_of(c));
    if (c.logit)
        for (double& v : in.beta) v = 1 / (1 + std::exp(-v));
    const std::vector<float> decay = of_sequence(decay_of(c), sequence, c.sequences);
    for (std::size_t i = 0; i < decay.size(); ++i)
        in.decay.push_back(decay_by_reference(c, decay[i], static_cast<int>(i) % c.heads));
    in.state = state_of<double>(states_in(c), state_read(c, sequence), state_size(c));
    using namespace chain;
    return reference(lower("recalled", delta_rule | emit<format::f32>), in);
}

std::vector<float> without_gaps(const placing& p, const bytes& raw) {
    const std::vector<float> all = from_bytes<float>(raw);
    const std::size_t token = size(p.token_bytes() / 4), head = size(p.head_bytes() / 4);
    std::vector<float> out;
    for (std::size_t t = 0; t < all.size(); t += token)
        for (std::size_t h = 0; h < size(p.heads); ++h) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(t + h * head);
            out.insert(out.end(), first, first + p.k);
        }
    return out;
}

void check_sequence(const delta_case& c, int sequence, const std::vector<float>& values,
                    const std::vector<float>& states) {
    INFO("sequence " << sequence);
    const bool stored = c.replaced >= 0;
    const std::vector<float> found = of_sequence(values, sequence, c.sequences),
                             next = stored ? state_of(states, c.replaced + sequence, state_size(c))
                                           : states;
    if (!reads_state(c, sequence)) {
        CHECK(all_nan(found));
        if (stored) CHECK(all_nan(next));
        return;
    }
    if (c.nan && sequence == 0) {
        CHECK(nan_in_last(found, std::int64_t{c.k} * c.heads, 1));
        if (stored) CHECK(nan_in_last(next, state_size(c), c.k));
        return;
    }
    const chain::outputs wanted = recalled_by_reference(c, sequence);
    CHECK(nmse<float>(found, wanted.value) <= 1e-11);
    if (stored) CHECK(nmse<float>(next, wanted.state) <= 1e-12);
}

}  // namespace

delta_output run(const instance& on, const delta_case& c) {
    const auto machine = on.make_machine();
    const launch_data data(*machine, c);
    const heads_args& a = data.a;
    const launch_config config = config_of_sequences(on, a, c.sequences);
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    return {machine->read(a.member[0].f32, size(a.member[0].f32_nb2 * a.tokens)),
            machine->read(data.states, size(4 * c.states * state_size(c)))};
}

void check(const instance&, const delta_case& c, const delta_output& outputs) {
    const std::vector<float> after = from_bytes<float>(outputs.states);
    check_states_left(c, state_size(c), states_in(c), after);
    const std::vector<float> values = without_gaps(of_results(c), outputs.values);
    for (int s = 0; s < c.sequences; ++s) check_sequence(c, s, values, after);
}

}  // namespace catena_test
