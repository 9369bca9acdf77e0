// plan::explain and plan::choice_of: the report of a plan, and of a step the rows that were
// rejected for it.
#pragma once

#include "catena/pick/cost.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/verdict.hpp"
#include "catena/plan/plan.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

/// `t`: the plan's table, which has the records of its verdicts.
inline std::string sentence(const left_over& l, const table& t) {
    std::string out = sentence(l.what);
    if (l.what.why == reason::engine_faster_in_models) {
        const engine_verdict& told = t.verdicts[l.what.have];
        const char* before = ": ";
        for (int i = 0; i < t.verdict_count; ++i) {
            if (!same_problems(t.verdicts[i], told)) continue;
            char ratio[16];
            std::snprintf(ratio, sizeof(ratio), "%.2fx in ", double{t.verdicts[i].ratio});
            out.append(before).append(ratio).append(t.verdicts[i].record);
            before = ", ";
        }
    }
    if (l.nearest.why != limit::none) out += "; the nearest: " + sentence(l.nearest);
    return out;
}

namespace detail {

inline explained_chain explained(const plan& p, const planned_chain& c) {
    explained_chain e;
    static_cast<chain_place&>(e) = c;
    e.name = p.rows().chains[c.chain].name;
    if (c.norm_apart.found()) e.norm_apart = sentence(c.norm_apart);
    if (c.made_by < 0) return e;
    const step& maker = p.steps()[static_cast<std::size_t>(c.made_by)];
    const bool by_group = maker.what.kind() != skeleton::row;
    e.from_epilogue = by_group && !has_norm(c.stages) && !routes(c.stages);
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

inline explanation plan::explain() const {
    explanation out;
    out.state = state_;
    out.nodes = size();
    out.launches = static_cast<std::int32_t>(steps_.size());
    out.engine_launches = engine_launches_;
    out.workspace_bytes = workspace_bytes_;
    if (table_.target == nullptr) return out;
    out.arch = table_.target->name;
    out.gpu = table_.limits().gpu;
    for (const planned_chain& c : chains_) out.chains.push_back(detail::explained(*this, c));
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
    for (const left_over& l : left_)
        out.not_fused.push_back({l.what.node, l.what.why, sentence(l, table_)});
    return out;
}

inline choice plan::choice_of(int i) const {
    const step& s = steps_[static_cast<std::size_t>(i)];
    choice out = choose(s.what, table_, options_.pick);
    out.best.config.dependent = s.config.dependent;  // what is launched before it has a say
    return out;
}

/// "name: sentence" of every row of `t` that a choice rejected.
inline std::vector<std::string> rejected_rows(const choice& c, const table& t) {
    std::vector<std::string> out;
    for (const rejection& r : c.rejected) out.push_back(row_name(t, r.row) + ": " + sentence(r));
    return out;
}

}  // namespace CATENA_NAMESPACE
