// Steps that convolve: every channel runs, and all that is written is compared.
#include "heads.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace catena::tool {
namespace {

/// Rows of `count` numbers, `nb` bytes apart.
std::vector<double> rows_of(machine& on, const float* first, std::int64_t count, std::int64_t rows,
                            std::int64_t nb) {
    std::vector<double> out;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto row = read_values(on, reinterpret_cast<const std::byte*>(first) + r * nb, count);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

/// The heads of a member in what was convolved, token after token.
std::vector<double> heads_in(const std::vector<double>& all, const heads_args& a,
                             const head_member& m) {
    std::vector<double> out;
    for (std::int64_t t = 0; t < a.tokens; ++t) {
        const auto first = all.begin() + t * a.convolved.channels + m.first_channel;
        out.insert(out.end(), first, first + std::int64_t{m.k} * m.heads);
    }
    return out;
}

}  // namespace

step_result checker::run_convolution(int step, const heads_args& a) {
    const convolution_args& c = a.convolved;
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));
    const std::int64_t kept = std::int64_t{c.length - 1} * c.channels;
    const std::int32_t tokens = a.tokens / c.sequences;
    const auto write = [&](const float* to, std::uint64_t own, std::int64_t count, float spread) {
        write_values(on_, const_cast<float*>(to), seeded(own, count, 0, spread));
    };
    for (std::int64_t t = 0; t < a.tokens; ++t)
        write(c.x + t * c.x_nb / 4, random_bits(key, static_cast<std::uint64_t>(t)), c.channels, 1);
    write(c.taps, random_bits(asked_.seed, where_.key(c.taps)), c.length * c.channels, 0.5f);
    if (c.bias != nullptr)
        write(c.bias, random_bits(asked_.seed, where_.key(c.bias)), c.channels, 0.1f);
    for (const std::int32_t id : seed_state_ids(on_, c))
        write(c.state + id * c.state_nb / 4, random_bits(key, (1u << 16) + unsigned(id)), kept, 1);

    chain::inputs in;
    in.k = c.channels, in.rows = tokens;
    in.taps = rows_of(on_, c.taps, c.length * std::int64_t{c.channels}, 1, 0);
    if (c.bias != nullptr) in[operand::bias] = rows_of(on_, c.bias, c.channels, 1, 0);
    in.gated_by.function = c.function;
    const chain::outputs all = outputs_of_sequences(
        chain::lower("convolved", chain::convolve | chain::emit<format::f32>), c.sequences,
        [&](std::int32_t sequence) {
            in.x = rows_of(on_, c.x + sequence * tokens * c.x_nb / 4, c.channels, tokens, c.x_nb);
            in.state = rows_of(on_, c.state + state_of(c, sequence) * c.state_nb / 4, kept, 1, 0);
            return in;
        });

    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = a.rows;
    if (c.f32 != nullptr)
        result.comparisons.push_back(
            compared("f32", rows_of(on_, c.f32, c.channels, a.tokens, c.f32_nb), all.sum));
    if (c.next_state != nullptr)
        result.comparisons.push_back(compared(
            "states", rows_of(on_, c.next_state, kept, c.sequences, c.next_state_nb), all.state));
    for (int i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        if (m.f32 == nullptr) continue;
        chain::inputs heads;
        heads.k = m.k, heads.rows = std::int64_t{m.heads} * a.tokens;
        heads.eps = static_cast<double>(m.eps), heads.norm_scale = static_cast<double>(m.scale);
        heads.x = heads_in(all.sum, a, m);
        std::vector<double> found;
        for (std::int64_t t = 0; t < a.tokens; ++t) {
            const auto token = rows_of(on_, m.f32 + t * m.f32_nb2 / 4, m.k, m.heads, m.f32_nb1);
            found.insert(found.end(), token.begin(), token.end());
        }
        result.comparisons.push_back(compared(
            "heads " + std::to_string(i), found,
            reference(chain::lower("normed", chain::rms_norm | chain::emit<format::f32>), heads)
                .value));
    }
    return result;
}

}  // namespace catena::tool
