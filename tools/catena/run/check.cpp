#include "quantized.hpp"

#include "catena/pick/name.hpp"

namespace catena::tool {

checker::checker(const plan& p, const placement& where, machine& on, const check_options& asked)
    : plan_(p), where_(where), on_(on), asked_(asked) {
    if (p.workspace_bytes() > 0)
        workspace_ = on.reserve("workspace", static_cast<std::size_t>(p.workspace_bytes()), {});
}

step_result checker::run(int step) {
    const step_args a = plan_.args(step, workspace_);
    return a.kind == skeleton::row      ? run_row(step, a.row)
           : a.kind == skeleton::matvec ? run_matvec(step, a.matvec)
                                        : run_matmul(step, a.matmul);
}

int checker::maker_of(int step) const {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const int maker = plan_.chains()[static_cast<std::size_t>(s.chain)].made_by;
    return maker < step ? maker : -1;
}

bool checker::reads_engine(int step) const {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    return plan_.chains()[static_cast<std::size_t>(s.chain)].kind == value_kind::plain ||
           maker_of(step) < 0;  // what a CONT would copy, which the step reads where it lies
}

/// Through the plan where a step starts alone at its node; steps that start together are launched
/// one by one, since each needs its own data first.
std::string checker::launch(int step, const std::vector<std::uint32_t>& blocks) {
    const auto steps = plan_.steps();
    const catena::step& s = steps[static_cast<std::size_t>(step)];
    int together = 0;
    for (const catena::step& other : steps) together += other.launch_at == s.launch_at;
    on_.only(blocks);
    const table& t = plan_.rows();
    on_.label(t.kernels[s.row], row_name(t, s.row));
    status result;
    if (together == 1) {
        result = plan_.launch(s.launch_at, on_.stream(), workspace_);
    } else {
        const step_args a = plan_.args(step, workspace_);
        result = t.launch(t.kernels[s.row], s.config, a.data(), a.size(), on_.stream());
    }
    return on_.finish(result);
}

void checker::keep(int step, std::uint64_t key, std::map<int, made_activation>& made,
                   step_result& to) {
    for (auto& [member, values] : made) {
        for (comparison& c : values.comparisons()) to.comparisons.push_back(std::move(c));
        activations_[plan_.makes(step, member)] =
            values.completed(on_, random_bits(key, static_cast<std::uint64_t>(2 + member)));
    }
}

}  // namespace catena::tool
