// plan::explain: the report of a plan. Rejections are computed again by the function that picked,
// so that what is explained is what runs.
#pragma once

#include "catena/pick/name.hpp"
#include "catena/plan/plan.hpp"

#include <string>

namespace catena {

inline std::string sentence(const left_over& l) {
    std::string out = sentence(l.what);
    if (l.nearest.why != limit::none) out += "; the nearest: " + sentence(l.nearest);
    return out;
}

inline explanation plan::explain() const {
    explanation out;
    out.state = state_;
    out.nodes = size();
    out.launches = static_cast<std::int32_t>(steps_.size());
    out.engine_launches = engine_launches_;
    out.workspace_bytes = workspace_bytes_;
    if (table_.target == nullptr) return out;
    out.arch = table_.target->name;
    for (const planned_chain& c : chains_) {
        explained_chain e;
        e.chain = c.chain;
        e.name = table_.chains[c.chain].name;
        e.kind = c.kind;
        e.add = c.add;
        e.norm = c.norm;
        e.mul = c.mul;
        e.glu = c.glu;
        e.unary = c.unary;
        e.made_by = c.made_by;
        if (c.made_by >= 0) {
            const step& maker = steps_[static_cast<std::size_t>(c.made_by)];
            const bool by_group = maker.what.needs.kind != skeleton::row;
            e.from_epilogue = by_group && !is_norm(c.kind);
            if (is_norm(c.kind)) e.placement = table_.rows[maker.row].numbers.placement;
        }
        if (c.norm_apart.why != reason::none) e.norm_apart = sentence(c.norm_apart);
        e.activation = c.activation;
        e.f32_written = c.f32_written;
        e.sum_written = c.sum_written;
        out.chains.push_back(std::move(e));
    }
    const row_index index(table_);
    for (const step& s : steps_) {
        explained_step e;
        e.chain = s.chain;
        for (int m = 0; m < s.what.member_count; ++m)
            if (const std::int32_t c = makes(static_cast<std::int32_t>(out.steps.size()), m);
                c >= 0)
                e.makes.push_back(c);
        e.instance = row_name(table_, s.row);
        e.launch_at = s.launch_at;
        e.nodes.assign(covered(s).begin(), covered(s).end());
        e.what = s.what;
        e.pick = choose(s.what, index, options_.pick);
        for (const rejection& r : e.pick.rejected)
            e.rejected.push_back(row_name(table_, r.row) + ": " + sentence(r));
        e.bytes = s.bytes;
        e.predicted_us = s.predicted_us;
        e.attainable_us = catena::attainable_us(s.what, table_.limits());
        out.bytes += e.bytes;
        out.attainable_us += e.attainable_us;
        explained_chain& chain = out.chains[static_cast<std::size_t>(s.chain)];
        chain.steps.push_back(static_cast<std::int32_t>(out.steps.size()));
        if (s.what.needs.kind != skeleton::row)
            chain.served.insert(chain.served.end(), e.nodes.begin(), e.nodes.end());
        out.steps.push_back(std::move(e));
    }
    for (const left_over& l : left_)
        out.not_fused.push_back({l.what.node, l.what.why, sentence(l)});
    return out;
}

}  // namespace catena
