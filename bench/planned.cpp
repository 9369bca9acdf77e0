#include "catena/pick/measured.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/step.hpp"

#include "planned.hpp"

#include <algorithm>

namespace catena::bench {

planned_copies::planned_copies(const std::vector<small_graph>& copies, const table& rows) {
    const planner planner{rows};
    for (const small_graph& copy : copies) {
        plans_.push_back(planner.plan(copy.view()));
        workspace_bytes_ = std::max(workspace_bytes_, plans_.back().workspace_bytes());
    }
    if (copies.empty()) return;
    const plan& one = plans_.front();
    launches_ = static_cast<int>(one.steps().size());
    for (int i = 0; i < one.size(); ++i) {
        const tensor& t = copies.front().view().node(i);
        if (one.at(i).role == role::engine && !launches_nothing(t.kind))
            left_ += (left_.empty() ? "" : ", ") + std::string(t.op_name);
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
    if (plans_.empty()) return names;
    for (const step& s : plans_.front().steps())
        names.push_back(row_name(plans_.front().rows(), s.row));
    return names;
}

std::uint64_t planned_copies::steps_key() const {
    std::uint64_t key = 0;
    if (plans_.empty()) return key;
    for (const step& s : plans_.front().steps()) key += problem_key(s.what);
    return key;
}

double planned_copies::predicted_us() const {
    double us = 0;
    if (plans_.empty()) return us;
    for (const step& s : plans_.front().steps()) us += s.predicted_us;
    return us;
}

}  // namespace catena::bench
