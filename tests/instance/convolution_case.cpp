#include "convolution_case.hpp"

#include "compare.hpp"
#include "values.hpp"

#include "catena/chain/catalogue.hpp"
#include "catena/chain/reference.hpp"
#include "catena/pick/config.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace catena_test {

using namespace catena;

namespace {

std::int64_t channels_of(const convolution_case& c) {
    std::int64_t all = 0;
    for (const convolved_value& v : c.values) all += std::int64_t{v.k} * v.heads;
    return all;
}
std::int64_t state_size(const convolution_case& c) { return (c.length - 1) * channels_of(c); }
/// Numbers from one state to the next.
std::int64_t state_row(const convolution_case& c) { return state_size(c) + c.state_gap; }
int states_of(const convolution_case& c) { return c.ids.empty() ? c.sequences : c.states; }
int all_tokens(const convolution_case& c) { return c.tokens * c.sequences; }
/// The state that a sequence reads, and whether there is one.
int id_of(const convolution_case& c, int sequence) {
    return c.ids.empty() ? sequence : c.ids[size(sequence)];
}
bool reads_state(const convolution_case& c, int sequence) {
    return id_of(c, sequence) >= 0 && id_of(c, sequence) < states_of(c);
}

std::vector<float> tokens_of(const convolution_case& c) {
    std::vector<float> x = random_values(1, channels_of(c) * all_tokens(c));
    if (c.nan) x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    return x;
}
std::vector<float> taps_of(const convolution_case& c) {
    return random_values(2, c.length * channels_of(c));
}
std::vector<float> states_in(const convolution_case& c) {
    return random_values(3, states_of(c) * state_row(c));
}
std::vector<float> bias_of(const convolution_case& c) { return random_values(4, channels_of(c)); }

/// Rows of `row` numbers, `gap` numbers apart.
bytes with_gaps(const std::vector<float>& values, std::int64_t row, int gap) {
    std::vector<float> out;
    for (std::size_t at = 0; at < values.size(); at += size(row)) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + row);
        out.resize(out.size() + size(gap));
    }
    return to_bytes(out);
}
std::vector<double> without_gaps(const bytes& raw, std::int64_t row, int gap) {
    const std::vector<float> all = from_bytes<float>(raw);
    std::vector<double> out;
    for (std::size_t at = 0; at < all.size(); at += size(row + gap)) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), first, first + row);
    }
    return out;
}

/// What lies in memory for the launch of a case.
struct launch_data {
    heads_args a;
    float* states = nullptr;

    launch_data(machine& on, const convolution_case& c) {
        const std::int64_t channels = channels_of(c);
        const auto put = [&](const char* name, contents kind, const bytes& values) {
            return static_cast<float*>(on.put(name, kind, values, size(c.offset)));
        };
        convolution_args& by = a.convolved;
        const bytes x = with_gaps(tokens_of(c), channels, c.gap);
        float* const at = put("x", contents::data, x);
        by.x = at;
        by.taps = put("taps", contents::weights, to_bytes(taps_of(c)));
        if (c.biased) by.bias = put("bias", contents::weights, to_bytes(bias_of(c)));
        by.state = states = put("states", contents::data, to_bytes(states_in(c)));
        if (!c.ids.empty())
            by.state_ids =
                static_cast<const std::int32_t*>(on.put("ids", contents::data, to_bytes(c.ids)));
        if (c.replaced >= 0) by.next_state = states + c.replaced * state_row(c);
        by.state_nb = by.next_state_nb = 4 * state_row(c);
        if (c.shown)
            by.f32 =
                c.in_place ? at : static_cast<float*>(on.blank("f32", x.size(), size(c.offset)));
        by.x_nb = by.f32_nb = 4 * (channels + c.gap);
        by.channels = static_cast<std::int32_t>(channels);
        by.length = c.length;
        by.states = states_of(c);
        by.sequences = c.sequences;
        by.function = c.function;
        a.tokens = all_tokens(c);
        std::int32_t first = 0;
        for (const convolved_value& v : c.values) {
            head_member& m = a.member[a.members++];
            m.k = v.k, m.heads = v.heads;
            m.first_row = a.rows, m.first_channel = first;
            a.rows += v.heads * c.sequences, first += v.k * v.heads;
            m.normed = v.normed, m.eps = 1e-6f, m.scale = v.scale;
            m.f32_nb1 = 4 * v.k, m.f32_nb2 = m.f32_nb1 * v.heads;
            if (v.written)
                m.f32 = static_cast<float*>(
                    on.blank("heads", size(m.f32_nb2 * a.tokens), size(c.offset)));
        }
    }
};

/// What becomes of each sequence, one behind the other. A state that is not there is zeros.
chain::outputs convolved_by_reference(const convolution_case& c) {
    chain::inputs in;
    in.k = channels_of(c), in.rows = c.tokens;
    const auto x = tokens_of(c), taps = taps_of(c), states = states_in(c), bias = bias_of(c);
    in.taps.assign(taps.begin(), taps.end());
    if (c.biased) in[operand::bias].assign(bias.begin(), bias.end());
    in.gated_by.function = c.function;
    chain::outputs all;
    for (int s = 0; s < c.sequences; ++s) {
        const std::span own_x(x.data() + s * c.tokens * in.k, size(c.tokens * in.k));
        in.x.assign(own_x.begin(), own_x.end());
        in.state.assign(size(state_size(c)), 0);
        if (reads_state(c, s)) {
            const std::span own(states.data() + id_of(c, s) * state_row(c), size(state_size(c)));
            in.state.assign(own.begin(), own.end());
        }
        using namespace chain;
        const outputs one = reference(lower("convolved", convolve | emit<format::f32>), in);
        all.sum.insert(all.sum.end(), one.sum.begin(), one.sum.end());
        all.state.insert(all.state.end(), one.state.begin(), one.state.end());
    }
    return all;
}

/// The heads of a value, from all that were convolved.
std::vector<double> heads_by_reference(const convolution_case& c, const convolved_value& v,
                                       const std::vector<double>& all, std::int64_t first) {
    chain::inputs in;
    in.k = v.k, in.rows = std::int64_t{v.heads} * all_tokens(c);
    in.eps = double{1e-6f}, in.norm_scale = double{v.scale};
    for (int t = 0; t < all_tokens(c); ++t) {
        const auto from = all.begin() + t * channels_of(c) + first;
        in.x.insert(in.x.end(), from, from + std::int64_t{v.k} * v.heads);
    }
    if (!v.normed) {
        for (double& value : in.x) value *= in.norm_scale;
        return in.x;
    }
    using namespace chain;
    return reference(lower("normed", rms_norm | emit<format::f32>), in).value;
}

bool all_nan(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

}  // namespace

convolution_output run(const instance& on, const convolution_case& c) {
    const auto machine = on.make_machine();
    const launch_data data(*machine, c);
    const heads_args& a = data.a;
    const int rows = rows_of_block(on.policy.row(), c.sequences);
    const launch_config config{
        .blocks = static_cast<std::uint32_t>((a.rows + rows - 1) / rows),
        .threads = static_cast<std::uint32_t>(on.policy.threads()),
        .shared_bytes = static_cast<std::uint32_t>(shared_bytes(on.computes, on.policy, 0, 1)),
        .dependent = on.dependent};
    REQUIRE(machine->launch(on.kernel, config, &a, sizeof a) == "");
    convolution_output out;
    if (c.shown) out.f32 = machine->read(a.convolved.f32, size(a.convolved.f32_nb * a.tokens));
    out.states = machine->read(data.states, size(4 * states_of(c) * state_row(c)));
    for (std::size_t i = 0; i < c.values.size(); ++i) {
        const head_member& m = a.member[i];
        out.heads.push_back(m.f32 == nullptr ? bytes{}
                                             : machine->read(m.f32, size(m.f32_nb2 * a.tokens)));
    }
    return out;
}

namespace {

/// The values of each sequence before norms. One that reads no state has NaN at its first token.
void check_values(const convolution_case& c, const bytes& raw, const chain::outputs& wanted) {
    const std::vector<double> found = without_gaps(raw, channels_of(c), c.gap);
    const auto of = [&](const std::vector<double>& all, int sequence, int tokens) {
        const auto first = all.begin() + sequence * c.tokens * channels_of(c);
        return std::vector<double>(first, first + tokens * channels_of(c));
    };
    if (c.nan) {
        CHECK(std::count_if(found.begin(), found.end(), [](double v) { return std::isnan(v); }) >=
              1);
        return;
    }
    for (int s = 0; s < c.sequences; ++s) {
        INFO("sequence " << s);
        if (reads_state(c, s))
            CHECK(nmse<double>(of(found, s, c.tokens), of(wanted.sum, s, c.tokens)) <= 1e-12);
        else
            CHECK(all_nan(of(found, s, 1)));
    }
}

/// Those states that are replaced have the last values of their sequences, the others what they
/// had.
void check_states(const convolution_case& c, const bytes& raw, const chain::outputs& wanted) {
    if (c.nan) return;
    const std::vector<float> before = states_in(c), after = from_bytes<float>(raw);
    for (std::int64_t i = 0; i < states_of(c) * state_row(c); ++i) {
        const auto state = static_cast<int>(i / state_row(c));
        const std::int64_t number = i % state_row(c);
        const int sequence = c.replaced < 0 ? -1 : state - c.replaced;
        const bool replaced = number < state_size(c) && sequence >= 0 && sequence < c.sequences;
        if (replaced && !reads_state(c, sequence)) continue;
        const float next =
            replaced ? static_cast<float>(wanted.state[size(sequence * state_size(c) + number)])
                     : before[size(i)];
        if (after[size(i)] != next) FAIL("state " << state << ", number " << number);
    }
}

}  // namespace

void check(const instance&, const convolution_case& c, const convolution_output& outputs) {
    const chain::outputs wanted = convolved_by_reference(c);
    if (c.shown) check_values(c, outputs.f32, wanted);
    check_states(c, outputs.states, wanted);
    bool there = !c.nan;
    for (int s = 0; s < c.sequences; ++s) there = there && reads_state(c, s);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < c.values.size(); ++i) {
        const convolved_value& v = c.values[i];
        const std::vector<float> found = from_bytes<float>(outputs.heads[i]);
        INFO("value " << i << " of " << v.heads << " heads of " << v.k);
        if (v.written && there)
            CHECK(nmse<float>(found, heads_by_reference(c, v, wanted.sum, first)) <= 1e-10);
        first += std::int64_t{v.k} * v.heads;
    }
}

}  // namespace catena_test
