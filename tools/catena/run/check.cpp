#include "pieces.hpp"

#include "catena/pick/name.hpp"
#include "catena/plan/step.hpp"

namespace catena::tool {

namespace {

/// Rows or results that a step makes.
double output_rows(const step_args& a) {
    if (a.of_heads()) return a.heads.rows;
    if (a.of_routing()) return a.route.tokens;
    if (a.kind == skeleton::row) return a.row.rows;
    double all = 0;
    const auto add = [&all](const auto& group) {
        for (int i = 0; i < group.members; ++i)
            all += double{1} * group.member[i].rows *
                   static_cast<double>(results_of(group, group.member[i]));
    };
    a.kind == skeleton::matvec ? add(a.matvec) : add(a.matmul);
    return all;
}

}  // namespace

checker::checker(const plan& p, const placement& where, machine& on, const check_options& asked)
    : plan_(p), where_(where), on_(on), asked_(asked) {
    if (p.workspace_bytes() > 0)
        workspace_ = on.reserve("workspace", static_cast<std::size_t>(p.workspace_bytes()), {});
}

step_result checker::run(int step) {
    const step_args a = plan_.args(step, workspace_);
    const step_result before = before_launch(step);
    step_result r = !before.launched             ? before
                    : a.of_heads()               ? run_heads(step, a.heads)
                    : a.of_routing()             ? run_routes(step, a.route)
                    : a.kind == skeleton::row    ? run_row(step, a.row)
                    : a.turns_heads()            ? run_turned(step, a.matvec)
                    : a.kind == skeleton::matvec ? run_matvec(step, a.matvec)
                                                 : run_matmul(step, a.matmul);
    r.rows = output_rows(a);
    r.follows = before.follows;
    if (!r.ok()) wrong_[step] = r;
    return r;
}

step_result checker::before_launch(int step) const {
    const table& t = plan_.rows();
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    step_result r;
    if (t.kernels == nullptr || t.kernels[s.row] == nullptr) {
        r.fault =
            "this build has no kernel of this instance: configure it with CATENA_WEIGHTS=all, or "
            "for "
            "other archs than sm_90 with CATENA_EVERY_ROW=ON";
        r.launched = false;
        r.lacks_kernel = true;
        return r;
    }
    const auto maker = wrong_.find(maker_of(step));
    if (maker == wrong_.end()) return r;
    const step_result& made = maker->second;
    r.follows = made.follows >= 0 ? made.follows : maker->first;
    if (made.fault.empty()) return r;  // wrong numbers: the step can still be launched
    r.fault = "not launched, since nothing made the activation that it reads";
    r.launched = false;
    r.lacks_kernel = made.lacks_kernel;
    return r;
}

int checker::maker_of(int step) const {
    const catena::step& s = plan_.steps()[static_cast<std::size_t>(step)];
    const planned_chain& place = plan_.chains()[static_cast<std::size_t>(s.chain)];
    if (s.what.kind() == skeleton::row) return -1;
    if (s.what.product().needs.activation == format::f32 && place.stages.empty()) return -1;
    return place.made_by < step ? place.made_by : -1;
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
        values.complete(on_, random_bits(key, static_cast<std::uint64_t>(2 + member)));
        const int chain = plan_.makes(step, member);
        activations_[chain] = values.values();
        squares_[chain] = values.squares();
    }
}

}  // namespace catena::tool
