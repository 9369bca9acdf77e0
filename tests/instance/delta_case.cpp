#include "delta_case.hpp"

#include "compare.hpp"
#include "values.hpp"

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

constexpr int no_number = -2;

std::int64_t state_size(const delta_case& c) { return std::int64_t{c.k} * c.k * c.heads; }
int states_of(const delta_case& c) { return c.id == no_number ? 1 : c.states; }
int state_read(const delta_case& c) { return c.id == no_number ? 0 : c.id; }
bool reads_state(const delta_case& c) { return state_read(c) >= 0 && c.id < states_of(c); }
float scale_of(const delta_case& c) { return 1 / std::sqrt(static_cast<float>(c.k)); }

/// Numbers of heads, [k, heads, tokens]. Keys and queries are short vectors, as norms make them.
std::vector<float> heads_of(const delta_case& c, unsigned seed, int heads, float length) {
    std::vector<float> all = random_values(seed, std::int64_t{c.k} * heads * c.tokens);
    for (float& v : all) v *= length / std::sqrt(static_cast<float>(c.k));
    return all;
}
std::vector<float> queries_of(const delta_case& c) { return heads_of(c, 1, c.key_heads, 1); }
std::vector<float> keys_of(const delta_case& c) { return heads_of(c, 2, c.key_heads, 1); }
std::vector<float> values_of(const delta_case& c) {
    std::vector<float> v = random_values(3, std::int64_t{c.k} * c.heads * c.tokens);
    if (c.nan) v.back() = std::numeric_limits<float>::quiet_NaN();
    return v;
}
/// Logarithms, or what a softplus makes them of: some above 20.
std::vector<float> decay_of(const delta_case& c) {
    const std::int64_t width = c.decay == decays::by_value ? c.k : 1;
    std::vector<float> all = random_values(4, width * c.heads * c.tokens);
    for (float& v : all) v = c.decay == decays::by_softplus ? 12 * v : -std::abs(v);
    return all;
}
std::vector<float> factors_of(const delta_case& c) {
    std::vector<float> all = random_values(5, c.heads);
    for (float& v : all) v = -std::abs(v) / 8;
    return all;
}
std::vector<float> beta_of(const delta_case& c) {
    std::vector<float> all = random_values(6, std::int64_t{c.heads} * c.tokens);
    for (float& v : all) v = std::abs(v) / (1 + std::abs(v));
    return all;
}
std::vector<float> states_in(const delta_case& c) {
    return random_values(7, states_of(c) * state_size(c));
}

/// Heads, so many numbers apart.
bytes with_gaps(const delta_case& c, const std::vector<float>& values) {
    std::vector<float> out;
    for (std::size_t at = 0; at < values.size(); at += size(c.k)) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + c.k);
        out.resize(out.size() + size(c.gap));
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
        d.queries = put("queries", contents::data, with_gaps(c, queries_of(c)));
        d.keys = put("keys", contents::data, with_gaps(c, keys_of(c)));
        d.values = put("values", contents::data, with_gaps(c, values_of(c)));
        const std::int64_t head = 4 * std::int64_t{c.k + c.gap};
        d.queries_nb1 = d.keys_nb1 = d.values_nb1 = head;
        d.queries_nb2 = d.keys_nb2 = head * c.key_heads;
        d.values_nb2 = head * c.heads;
        d.decay = put("decay", contents::data, to_bytes(decay_of(c)));
        d.by_value = c.decay == decays::by_value;
        if (c.decay == decays::by_softplus)
            d.decay_factor = put("factors", contents::weights, to_bytes(factors_of(c)));
        d.beta = put("beta", contents::data, to_bytes(beta_of(c)));
        d.state = states = put("states", contents::data, to_bytes(states_in(c)));
        if (c.id != no_number)
            d.state_id = static_cast<const std::int32_t*>(
                on.put("id", contents::data, to_bytes(std::vector<std::int32_t>{c.id})));
        if (c.replaced >= 0) d.next_state = states + c.replaced * state_size(c);
        d.key_heads = c.key_heads;
        d.states = states_of(c);
        head_member& m = a.member[a.members++];
        m.k = c.k, m.heads = c.heads, m.scale = scale_of(c);
        m.f32_nb1 = head, m.f32_nb2 = head * c.heads;
        m.f32 = static_cast<float*>(on.blank("heads", size(m.f32_nb2 * c.tokens), size(c.offset)));
        a.tokens = c.tokens;
        a.rows = c.heads * (c.k / values_of_warp);
    }
};

double decay_by_reference(const delta_case& c, float v, int head) {
    const auto x = double{v};
    if (c.decay != decays::by_softplus) return x;
    return (x > 20 ? x : std::log1p(std::exp(x))) * double{factors_of(c)[size(head)]};
}

chain::outputs recalled_by_reference(const delta_case& c) {
    chain::inputs in;
    in.k = c.k, in.rows = std::int64_t{c.heads} * c.tokens, in.heads = c.heads;
    in.key_heads = c.key_heads;
    in.head_scale = double{scale_of(c)};
    const auto as_doubles = [](std::vector<double>& to, const std::vector<float>& from) {
        to.assign(from.begin(), from.end());
    };
    as_doubles(in.x, values_of(c));
    as_doubles(in.queries, queries_of(c));
    as_doubles(in.keys, keys_of(c));
    as_doubles(in.beta, beta_of(c));
    const std::vector<float> decay = decay_of(c), states = states_in(c);
    for (std::size_t i = 0; i < decay.size(); ++i)
        in.decay.push_back(decay_by_reference(c, decay[i], static_cast<int>(i) % c.heads));
    const auto first = states.begin() + state_read(c) * state_size(c);
    in.state.assign(first, first + state_size(c));
    using namespace chain;
    return reference(lower("recalled", delta_rule | emit<format::f32>), in);
}

bool all_nan(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

std::vector<float> without_gaps(const delta_case& c, const bytes& raw) {
    const std::vector<float> all = from_bytes<float>(raw);
    std::vector<float> out;
    for (std::size_t at = 0; at < all.size(); at += size(c.k + c.gap)) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + c.k);
    }
    return out;
}

}  // namespace

delta_output run(const instance& on, const delta_case& c) {
    const auto machine = on.make_machine();
    const launch_data data(*machine, c);
    const heads_args& a = data.a;
    const int rows = rows_of_block(on.policy.row());
    const launch_config config{
        .blocks = static_cast<std::uint32_t>((a.rows + rows - 1) / rows),
        .threads = static_cast<std::uint32_t>(on.policy.threads()),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(on.computes, on.policy, 0, 1)),
        .dependent = on.dependent};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    return {machine->read(a.member[0].f32, size(a.member[0].f32_nb2 * a.tokens)),
            machine->read(data.states, size(4 * states_of(c) * state_size(c)))};
}

void check(const instance&, const delta_case& c, const delta_output& outputs) {
    const std::vector<float> found = without_gaps(c, outputs.values);
    const std::vector<float> before = states_in(c), after = from_bytes<float>(outputs.states);
    const auto state = [&](const std::vector<float>& all, int which) {
        const auto first = all.begin() + which * state_size(c);
        return std::vector<float>(first, first + state_size(c));
    };
    for (int s = 0; s < states_of(c); ++s) {
        INFO("state " << s);
        if (s != c.replaced) CHECK(state(after, s) == state(before, s));
    }
    if (!reads_state(c)) {
        CHECK(all_nan(found));
        if (c.replaced >= 0) CHECK(all_nan(state(after, c.replaced)));
        return;
    }
    if (c.nan) {  // the last value of the last head is one, and no other
        CHECK(std::isnan(found.back()));
        CHECK_FALSE(std::isnan(found[found.size() - 2]));
        return;
    }
    const chain::outputs wanted = recalled_by_reference(c);
    CHECK(nmse<float>(found, wanted.value) <= 1e-11);
    if (c.replaced >= 0) CHECK(nmse<float>(state(after, c.replaced), wanted.state) <= 1e-12);
}

}  // namespace catena_test
