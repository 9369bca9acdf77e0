#include "scan_case.hpp"

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

std::int64_t values_of_token(const scan_case& c) { return std::int64_t{c.k} * c.heads; }
std::int64_t state_size(const scan_case& c) { return c.size * values_of_token(c); }
int all_tokens(const scan_case& c) { return c.tokens * c.sequences; }
bool reads_state(const scan_case& c, int sequence) {
    return c.ids[size(sequence)] >= 0 && c.ids[size(sequence)] < c.states;
}

/// Rows of numbers, `gap` numbers apart.
struct rows_apart {
    std::int64_t row;
    int gap;

    std::int64_t bytes_apart() const { return 4 * (row + gap); }

    bytes placed(const std::vector<float>& values) const {
        std::vector<float> out;
        for (std::size_t at = 0; at < values.size(); at += size(row)) {
            const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
            out.insert(out.end(), first, first + row);
            out.resize(out.size() + size(gap));
        }
        return to_bytes(out);
    }
    std::vector<float> without_gaps(const bytes& raw) const {
        const std::vector<float> all = from_bytes<float>(raw);
        std::vector<float> out;
        for (std::size_t at = 0; at < all.size(); at += size(row + gap)) {
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
            out.insert(out.end(), first, first + row);
        }
        return out;
    }
};
rows_apart of_dt(const scan_case& c) { return {c.heads, c.gap}; }
rows_apart of_b(const scan_case& c) { return {std::int64_t{c.size} * c.groups, 2 * c.gap}; }
rows_apart of_c(const scan_case& c) { return {std::int64_t{c.size} * c.groups, 3 * c.gap}; }
rows_apart of_x(const scan_case& c) { return {values_of_token(c), 4 * c.gap}; }
rows_apart of_z(const scan_case& c) { return {values_of_token(c), 5 * c.gap}; }
rows_apart of_results(const scan_case& c) { return {c.k, 6 * c.gap}; }

std::vector<float> x_of(const scan_case& c) {
    std::vector<float> x = random_values(1, values_of_token(c) * all_tokens(c));
    if (c.nan) x[size(values_of_token(c) - 1)] = std::numeric_limits<float>::quiet_NaN();
    return x;
}
/// Steps from almost none to long ones. The first is beyond 20, where it is dt itself, and leaves
/// nothing of a state.
std::vector<float> dt_of(const scan_case& c) {
    std::vector<float> dt = random_values(2, std::int64_t{c.heads} * all_tokens(c));
    for (float& v : dt) v = c.small_steps ? v / 2 - 10 : 2 * v;
    if (!c.small_steps) dt.front() = 300;
    return dt;
}
std::vector<float> dt_bias_of(const scan_case& c) { return random_values(3, c.heads); }
std::vector<float> a_of(const scan_case& c) {
    std::vector<float> a = random_values(4, c.heads);
    for (float& v : a) v = -0.25f - std::abs(v) / 4;
    return a;
}
std::vector<float> b_of(const scan_case& c) {
    return random_values(5, of_b(c).row * all_tokens(c));
}
std::vector<float> c_of(const scan_case& c) {
    return random_values(6, of_c(c).row * all_tokens(c));
}
std::vector<float> d_of(const scan_case& c) { return random_values(7, c.heads); }
std::vector<float> z_of(const scan_case& c) {
    return random_values(8, values_of_token(c) * all_tokens(c));
}
std::vector<float> states_in(const scan_case& c) {
    const std::int64_t count = c.states * state_size(c);
    return c.small_steps ? std::vector<float>(size(count)) : random_values(9, count);
}

/// What lies in memory for the launch of a case.
struct launch_data {
    heads_args a;
    float* states = nullptr;

    launch_data(machine& on, const scan_case& c) {
        const auto put = [&](const char* name, contents kind, const bytes& values) {
            return static_cast<float*>(on.put(name, kind, values, size(c.offset)));
        };
        scan_args& s = a.scanned;
        s.x = put("x", contents::data, of_x(c).placed(x_of(c)));
        s.dt = put("dt", contents::data, of_dt(c).placed(dt_of(c)));
        s.b = put("b", contents::data, of_b(c).placed(b_of(c)));
        s.c = put("c", contents::data, of_c(c).placed(c_of(c)));
        if (c.gated) s.z = put("z", contents::data, of_z(c).placed(z_of(c)));
        s.x_nb = of_x(c).bytes_apart(), s.dt_nb = of_dt(c).bytes_apart();
        s.b_nb = of_b(c).bytes_apart(), s.c_nb = of_c(c).bytes_apart();
        s.z_nb = of_z(c).bytes_apart();
        s.a = put("a", contents::weights, to_bytes(a_of(c)));
        if (c.biased) s.dt_bias = put("dt_bias", contents::weights, to_bytes(dt_bias_of(c)));
        if (c.skipped) s.d = put("d", contents::weights, to_bytes(d_of(c)));
        s.state = states = put("states", contents::data, to_bytes(states_in(c)));
        s.state_ids =
            static_cast<const std::int32_t*>(on.put("ids", contents::data, to_bytes(c.ids)));
        if (c.replaced >= 0) s.next_state = states + c.replaced * state_size(c);
        s.size = c.size, s.groups = c.groups;
        s.states = c.states, s.sequences = c.sequences;
        head_member& m = a.member[a.members++];
        m.k = c.k, m.heads = c.heads;
        m.f32_nb1 = of_results(c).bytes_apart(), m.f32_nb2 = m.f32_nb1 * c.heads;
        m.f32 =
            static_cast<float*>(on.blank("heads", size(m.f32_nb2 * all_tokens(c)), size(c.offset)));
        a.tokens = all_tokens(c);
        a.rows = c.heads * (c.k / values_of_warp) * c.sequences;
    }
};

chain::outputs scanned_by_reference(const scan_case& c, int sequence) {
    chain::inputs in;
    in.k = c.k, in.rows = std::int64_t{c.heads} * c.tokens, in.heads = c.heads;
    in.state_size = c.size, in.groups = c.groups;
    const auto as_doubles = [](std::vector<double>& to, const std::vector<float>& from) {
        to.assign(from.begin(), from.end());
    };
    in.x = of_sequence<double>(x_of(c), sequence, c.sequences);
    in.dt = of_sequence<double>(dt_of(c), sequence, c.sequences);
    in.b = of_sequence<double>(b_of(c), sequence, c.sequences);
    in.c = of_sequence<double>(c_of(c), sequence, c.sequences);
    if (c.gated) in.z = of_sequence<double>(z_of(c), sequence, c.sequences);
    as_doubles(in.a, a_of(c));
    if (c.skipped) as_doubles(in.d, d_of(c));
    const std::vector<float> bias = dt_bias_of(c);
    for (std::size_t i = 0; c.biased && i < in.dt.size(); ++i)
        in.dt[i] += double{bias[i % bias.size()]};
    in.state = state_of<double>(states_in(c), c.ids[size(sequence)], state_size(c));
    using namespace chain;
    return reference(lower("scanned", ssm_scan | emit<format::f32>), in);
}

void check_sequence(const scan_case& c, int sequence, const std::vector<float>& values,
                    const std::vector<float>& states) {
    INFO("sequence " << sequence);
    const bool stored = c.replaced >= 0;
    const std::vector<float> next =
        stored ? state_of(states, c.replaced + sequence, state_size(c)) : states;
    const std::vector<float> found = of_sequence(values, sequence, c.sequences);
    if (!reads_state(c, sequence)) {
        CHECK(all_nan(found));
        if (stored) CHECK(all_nan(next));
        return;
    }
    if (c.nan && sequence == 0) {
        CHECK(nan_in_last(found, values_of_token(c), 1));
        if (stored) CHECK(nan_in_last(next, state_size(c), c.size));
        return;
    }
    const chain::outputs wanted = scanned_by_reference(c, sequence);
    CHECK(nmse<float>(found, wanted.value) <= 1e-11);
    if (stored) CHECK(nmse<float>(next, wanted.state) <= 1e-12);
}

}  // namespace

scan_output run(const instance& on, const scan_case& c) {
    const auto machine = on.make_machine();
    const launch_data data(*machine, c);
    const heads_args& a = data.a;
    const launch_config config = config_of_sequences(on, a, c.sequences);
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    return {machine->read(a.member[0].f32, size(a.member[0].f32_nb2 * a.tokens)),
            machine->read(data.states, size(4 * c.states * state_size(c)))};
}

void check(const instance&, const scan_case& c, const scan_output& outputs) {
    const std::vector<float> after = from_bytes<float>(outputs.states);
    check_states_left(c, state_size(c), states_in(c), after);
    const std::vector<float> values = of_results(c).without_gaps(outputs.values);
    for (int s = 0; s < c.sequences; ++s) check_sequence(c, s, values, after);
}

}  // namespace catena_test
