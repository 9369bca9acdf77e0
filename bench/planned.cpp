#include "planned.hpp"

#include <algorithm>

namespace catena::bench {

planned_copies::planned_copies(const std::vector<small_graph>& copies, const table& rows,
                               bool shared) {
    const planner plan{rows};
    for (const small_graph& copy : copies) {
        const int nodes = static_cast<int>(copy.nodes.size());
        std::vector<catena::plan> plans;
        if (shared) plans.push_back(plan.plan(copy.view()));
        for (int i = 0; i < nodes && !shared; ++i) plans.push_back(plan.plan(copy.slice(i, i + 1)));
        if (plans_.empty()) {
            plans_of_one_ = plans.size();
            int position = 0;
            for (const catena::plan& p : plans) {
                launches_ += static_cast<int>(p.steps().size());
                for (int i = 0; i < p.size(); ++i, ++position) {
                    const tensor& t = copy.view().node(position);
                    if (p.at(i).role != role::engine || launches_nothing(t.kind)) continue;
                    left_ += (left_.empty() ? "" : ", ") + std::string(t.op_name);
                }
            }
        }
        for (catena::plan& p : plans) {
            workspace_bytes_ = std::max(workspace_bytes_, p.workspace_bytes());
            plans_.push_back(std::move(p));
        }
    }
}

status planned_copies::launch(void* stream, void* workspace) const {
    for (const plan& p : plans_)
        for (int i = 0; i < p.size(); ++i)
            if (p.at(i).role == role::launch)
                if (status s = p.launch(i, stream, workspace); !s.ok()) return s;
    return {};
}

std::vector<std::string> planned_copies::instances() const {
    std::vector<std::string> names;
    for (std::size_t p = 0; p < plans_of_one_ && p < plans_.size(); ++p)
        for (const step& s : plans_[p].steps()) names.push_back(row_name(plans_[p].rows(), s.row));
    return names;
}

std::uint64_t planned_copies::steps_key() const {
    std::uint64_t key = 0;
    for (std::size_t p = 0; p < plans_of_one_ && p < plans_.size(); ++p)
        for (const step& s : plans_[p].steps()) key += problem_key(s.what);
    return key;
}

}  // namespace catena::bench
