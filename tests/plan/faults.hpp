// Faults that are put into finished plans, one at a time: plan/verify.hpp must find each.
#pragma once

#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/planner.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// The inside of a plan, for tests that break it.
struct plan_faults {
    /// What `broken` holds is its own from here on, and these faults change it.
    explicit plan_faults(plan& broken) : p(broken), inside_(new plan_contents(broken.contents())) {
        broken = plan(inside_);
    }

    const plan& p;

    std::size_t steps() const { return inside_->steps.size(); }
    step& at(std::size_t s) const { return inside_->steps.at(s); }
    bool is_row(std::size_t s) const { return !is_group(s) && !is_heads(s) && !is_routing(s); }
    bool is_group(std::size_t s) const { return at(s).what.kind() != skeleton::row; }
    /// Is it a launch of heads, or one of matrices that it turns the results of?
    bool is_heads(std::size_t s) const {
        return is_group(s) ? head(s).heads >= 0 : has_heads(at(s).what.row().needs.stages);
    }
    /// Is it a launch of routing, or one of experts that it finds itself?
    bool is_routing(std::size_t s) const { return routes(stages_of(at(s).what)); }
    route_args& route(std::size_t s) const {
        return is_group(s) ? head(s).routing : inside_->route_launches[index(s)];
    }
    heads_args& heads(std::size_t s) const {
        return inside_
            ->head_launches[is_group(s) ? static_cast<std::size_t>(head(s).heads) : index(s)];
    }
    /// The arguments of a row step; of a group's, those of its matrices.
    row_args& row(std::size_t s) const { return inside_->row_launches[index(s)]; }
    stored_group& head(std::size_t s) const { return inside_->groups[index(s)]; }
    matvec_member& member(std::size_t s, int m) const {
        return inside_->members[static_cast<std::size_t>(head(s).first_member + m)].args;
    }
    int members(std::size_t s) const { return is_group(s) ? head(s).members : 0; }
    /// The chain whose value member m quantizes, or -1.
    std::int32_t makes(std::size_t s, int m) const {
        return inside_->members[static_cast<std::size_t>(head(s).first_member + m)].makes;
    }
    std::vector<planned_chain>& chains() const { return inside_->chains; }
    node_plan& node(std::int32_t n) const { return inside_->nodes[static_cast<std::size_t>(n)]; }
    std::vector<std::int32_t>& covered() const { return inside_->covered; }
    std::int64_t& workspace_bytes() const { return inside_->workspace_bytes; }
    /// Per node, and one past: the number of the first step that it launches.
    std::vector<std::int32_t>& first_steps() const { return inside_->first_step_at; }
    /// Lets another row of the table do step s, in blocks of its own size.
    void give_row(std::size_t s, int row) const {
        const policy& by = p.rows().rows[row].policy;
        at(s).row = row;
        at(s).config.threads = static_cast<std::uint32_t>(by.threads());
        at(s).config.shared_bytes = 200 << 10;
    }

    /// Exchanges two steps, and when they launch.
    void exchange(std::size_t a, std::size_t b) const {
        std::swap(inside_->steps[a], inside_->steps[b]);
        std::swap(inside_->args[a], inside_->args[b]);
        std::swap(inside_->steps[a].launch_at, inside_->steps[b].launch_at);
        for (node_plan& n : inside_->nodes)
            n.step = n.step == static_cast<std::int32_t>(a)   ? static_cast<std::int32_t>(b)
                     : n.step == static_cast<std::int32_t>(b) ? static_cast<std::int32_t>(a)
                                                              : n.step;
        for (planned_chain& c : inside_->chains)
            c.made_by = c.made_by == static_cast<std::int32_t>(a)   ? static_cast<std::int32_t>(b)
                        : c.made_by == static_cast<std::int32_t>(b) ? static_cast<std::int32_t>(a)
                                                                    : c.made_by;
    }

    /// Lets step s launch where another one does, before or behind it.
    void launch_beside(std::size_t s, std::size_t other) const {
        const std::int32_t node = at(other).launch_at;
        for (; s < other; ++s) exchange(s, s + 1);
        for (; s > other; --s) exchange(s, s - 1);
        at(other).launch_at = node;
        for (std::size_t n = 0; n < first_steps().size(); ++n)
            first_steps()[n] = static_cast<std::int32_t>(std::count_if(
                inside_->steps.begin(), inside_->steps.end(),
                [n](const step& one) { return one.launch_at < static_cast<std::int32_t>(n); }));
    }

  private:
    shared<plan_contents> inside_;

    std::size_t index(std::size_t s) const {
        return static_cast<std::size_t>(inside_->args.at(s).index);
    }
};

}  // namespace CATENA_NAMESPACE

namespace catena_test {

struct fault {
    std::string name;
    /// Puts the fault into step s, if it can have it.
    std::function<bool(catena::plan_faults&, std::size_t s)> put;
};

/// Every kind of fault that the proof is tried on.
std::vector<fault> faults();
/// Those of heads, which are among them.
std::vector<fault> faults_of_heads();
/// Those of convolutions, which are among them too.
std::vector<fault> faults_of_convolutions();
/// Those of launches that recall, which are among them too.
std::vector<fault> faults_of_delta_rules();
/// Those that take several sequences, or operands that engines move: no given graph has them.
std::vector<fault> faults_of_moved_operands();
/// Those of launches that scan. They are not among them, because no given graph has such a launch.
std::vector<fault> faults_of_scans();
/// Those of launches that attend. They are not among them, because no given graph has all of them.
std::vector<fault> faults_of_attention();
/// Those of routing, which are among them too.
std::vector<fault> faults_of_routing();
/// Those of launches that their kernels cannot do.
std::vector<fault> faults_of_kernels();

}  // namespace catena_test
