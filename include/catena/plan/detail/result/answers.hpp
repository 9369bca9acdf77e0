// What a plan answers when it is asked. (What it launches is in plan/detail/result/launch.hpp.)
#pragma once

#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"
#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/sentences.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

template <class T>
array_view<T> view_of(const std::vector<T>& all) {
    return {all.data(), all.data() + all.size()};
}

inline explained_chain explained(const plan& p, const planned_chain& c) {
    explained_chain e;
    static_cast<chain_place&>(e) = c;
    e.name = p.rows().chains[c.chain].name;
    if (c.norm_apart.found()) e.norm_apart = sentence(c.norm_apart);
    if (c.made_by < 0) return e;
    const step& maker = p.steps()[static_cast<std::size_t>(c.made_by)];
    const bool by_group = maker.what.kind() != skeleton::row;
    e.inside = by_group && (maker.chain == &c - p.chains().begin() || routes(c.stages));
    e.from_epilogue = by_group && !e.inside;
    if (has_norm(c.stages)) e.placement = placement_of(p.rows().rows[maker.row].policy);
    return e;
}

inline explained_step explained(const plan& p, std::int32_t i) {
    const step& s = p.steps()[static_cast<std::size_t>(i)];
    const table& t = p.rows();
    explained_step e;
    e.chain = s.chain;
    for (int m = 0; m < members_of(s.what); ++m)
        if (const std::int32_t c = p.makes(i, m); c >= 0) e.makes.push_back(c);
    e.instance = row_name(t, s.row);
    e.launch_at = s.launch_at;
    e.nodes.assign(p.covered(s).begin(), p.covered(s).end());
    e.what = s.what;
    e.config = s.config;
    e.bytes = s.bytes;
    e.predicted_us = s.predicted_us;
    e.attainable_us = attainable_us(s.what, t.limits());
    return e;
}

}  // namespace detail

void add_owner(const plan_contents* made) noexcept { detail::count_owner(made); }
void drop_owner(const plan_contents* made) noexcept { detail::discount_owner(made); }

plan::plan() : made_(new plan_contents) {}

int plan::size() const { return static_cast<int>(made_->nodes.size()); }

node_plan plan::at(int i) const {
    return i >= 0 && i < size() ? made_->nodes[static_cast<std::size_t>(i)] : node_plan{};
}

std::int64_t plan::workspace_bytes() const { return made_->workspace_bytes; }
const status& plan::state() const { return made_->state; }
const plan_counters& plan::counters() const { return made_->counters; }
const table& plan::rows() const { return made_->rows; }
const options& plan::asked() const { return made_->asked; }

array_view<step> plan::steps() const { return detail::view_of(made_->steps); }
array_view<planned_chain> plan::chains() const { return detail::view_of(made_->chains); }
array_view<left_over> plan::left() const { return detail::view_of(made_->left); }

array_view<step> plan::steps_at(int i) const {
    if (i < 0 || i >= size()) return {nullptr, nullptr};
    const std::int32_t* const first = made_->first_step_at.data() + i;
    return {made_->steps.data() + first[0], made_->steps.data() + first[1]};
}

array_view<std::int32_t> plan::covered(const step& s) const {
    const std::int32_t* const first = made_->covered.data() + s.first_node;
    return {first, first + s.node_count};
}

std::int32_t plan::makes(int i, int member) const {
    const auto at = static_cast<std::size_t>(i);
    if (made_->steps[at].what.kind() == skeleton::row) return -1;
    const auto group = static_cast<std::size_t>(made_->args[at].index);
    const std::int32_t first = made_->groups[group].first_member;
    return made_->members[static_cast<std::size_t>(first + member)].makes;
}

std::int32_t plan::missing(int i) const { return made_->args[static_cast<std::size_t>(i)].missing; }

std::string plan::step_name(int i) const {
    const auto at = static_cast<std::size_t>(i);
    const step& s = made_->steps[at];
    const planned_chain& c = made_->chains[static_cast<std::size_t>(s.chain)];
    return "node " + std::to_string(s.launch_at) + " " + rows().chains[c.chain].name +
           (at < made_->step_tensors.size() ? made_->step_tensors[at] : "");
}

explanation plan::explain() const {
    const table& t = rows();
    explanation out;
    out.state = state();
    out.nodes = size();
    out.launches = static_cast<std::int32_t>(steps().size());
    out.engine_launches = made_->engine_launches;
    out.workspace_bytes = workspace_bytes();
    if (t.target == nullptr) return out;
    out.arch = t.target->name;
    out.gpu = t.limits().gpu;
    for (const planned_chain& c : chains()) out.chains.push_back(detail::explained(*this, c));
    for (std::int32_t i = 0; i < out.launches; ++i) {
        explained_step e = detail::explained(*this, i);
        out.bytes += e.bytes;
        out.attainable_us += e.attainable_us;
        explained_chain& chain = out.chains[static_cast<std::size_t>(e.chain)];
        chain.steps.push_back(i);
        if (e.what.kind() != skeleton::row)
            chain.served.insert(chain.served.end(), e.nodes.begin(), e.nodes.end());
        out.steps.push_back(std::move(e));
    }
    for (const left_over& l : left())
        out.not_fused.push_back({l.what.node, l.what.why, sentence(l, t)});
    return out;
}

choice plan::choice_of(int i) const {
    const step& s = made_->steps[static_cast<std::size_t>(i)];
    choice out = choose(s.what, rows(), asked().pick);
    out.best.config.dependent = s.config.dependent;  // what is launched before it has a say
    return out;
}

}  // namespace CATENA_NAMESPACE
