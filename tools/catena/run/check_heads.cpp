// Steps of heads: every head of every value runs, and all that is written is compared.
#include "head_values.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace catena::tool {
step_result checker::run_heads(int step, const heads_args& a) {
    if (a.convolved.channels > 0) return run_convolution(step, a);
    if (a.recalled.key_heads > 0) return run_recalled(step, a);
    if (a.scanned.size > 0) return run_scanned(step, a);
    if (a.attended.positions > 0) return run_attended(step, a);
    const std::vector<chain::inputs> all = seed_heads(step, a);
    return launch_and_compare(step, a, [&](step_result& result) {
        for (int i = 0; i < a.members; ++i)
            member_data(on_, a, a.member[i])
                .compare("heads " + std::to_string(i),
                         reference_of(a.member[i], all[static_cast<std::size_t>(i)]), result);
    });
}

std::vector<chain::inputs> checker::seed_heads(int step, const heads_args& a) {
    const std::uint64_t key = random_bits(asked_.seed, static_cast<std::uint64_t>(step));
    const chain::inputs turn = seed_turn(step, a);
    for (int i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        member_data(on_, a, m).seed(random_bits(key, static_cast<std::uint64_t>(i)));
        if (m.weight != nullptr) seed_constant(m.weight, normed_row(m), 1, 0.1f);
    }
    std::vector<chain::inputs> all;
    for (int i = 0; i < a.members; ++i) {
        const head_member& m = a.member[i];
        const member_data data(on_, a, m);
        chain::inputs in;
        in.k = m.k, in.rows = data.rows(), in.heads = m.heads;
        in.eps = static_cast<double>(m.eps), in.head_scale = static_cast<double>(m.scale);
        in.x = data.values(m.x, m.x_nb1, m.x_nb2);
        if (m.weight != nullptr) in[operand::weight] = read_numbers(on_, m.weight, normed_row(m));
        if (m.turned) in.rope = turn.rope, in.positions = turn.positions, in.factors = turn.factors;
        if (m.cache != nullptr) in.cache_rows = cache_rows_for(a, m);
        all.push_back(std::move(in));
    }
    return all;
}

void checker::seed_constant(const float* to, std::int64_t count, float mean, float spread) const {
    const std::uint64_t own = random_bits(asked_.seed, where_.key(to));
    write_values(on_, const_cast<float*>(to), seeded(own, count, mean, spread));
}

/// The numbers of the ROPEs that a step covers, which are the same.
rope_numbers checker::turn_of(const catena::step& s) const {
    const graph_view view = where_.view();
    for (const std::int32_t n : plan_.covered(s))
        if (view.node(n).kind == op::rope) return rope_of(view.node(n).params);
    return {};
}

}  // namespace catena::tool
