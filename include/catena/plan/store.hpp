// Writing a built plan down: steps in launch order, arguments, the workspace, the nodes' roles,
// what is left.
#pragma once

#include "catena/plan/build.hpp"

namespace catena {

inline void plan_builder::store(plan& out) {
    const std::vector<scheduled_step>& moves = schedule_.steps();
    std::vector<std::int32_t> order(moves.size()), stored(moves.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&moves](std::int32_t a, std::int32_t b) {
        return moves[at(a)].launch_at < moves[at(b)].launch_at;
    });
    for (std::size_t i = 0; i < order.size(); ++i)
        stored[at(order[i])] = static_cast<std::int32_t>(i);

    store_places(out, stored);
    out.steps_.reserve(moves.size());
    out.args_.reserve(moves.size());
    out.covered_.reserve(schedule_.covered_nodes());
    out.members_.reserve(outputs_.size());
    out.heads_.reserve(outputs_.size());
    out.row_args_.reserve(places_.size());
    for (const std::int32_t index : order) store_step(out, index);

    out.first_step_at_.assign(at(view_.node_count) + 1, 0);
    for (const step& s : out.steps_) {
        ++out.first_step_at_[at(s.launch_at) + 1];
        out.nodes_[at(s.launch_at)].role = role::launch;
    }
    for (std::size_t i = 1; i < out.first_step_at_.size(); ++i)
        out.first_step_at_[i] += out.first_step_at_[i - 1];

    for (std::int32_t i = 0; i < view_.node_count; ++i)
        if (g_.acts(i) && !schedule_.covered(i) && (view_.node(i).flags & flag_compute) != 0)
            ++out.engine_launches_;
    std::stable_sort(left_.begin(), left_.end(), [](const left_over& a, const left_over& b) {
        return a.what.node < b.what.node;
    });
    const auto same = [](const left_over& a, const left_over& b) {  // a member may be tried twice
        return a.what.node == b.what.node && a.what.why == b.what.why;
    };
    left_.erase(std::unique(left_.begin(), left_.end(), same), left_.end());
    out.left_ = std::move(left_);
}

/// Every place gets its slot's part of the workspace, one copy after the other for each layout.
inline void plan_builder::store_places(plan& out, const std::vector<std::int32_t>& stored) const {
    const slot_map slots(g_);
    std::vector<std::int64_t> bytes(at(slots.slots()), 0);
    std::vector<const slot_map::candidate*> where;
    where.reserve(places_.size());
    out.chains_.reserve(places_.size());
    for (const place& p : places_) {
        const match& m = p.found;
        where.push_back(&slots.of(m.activation, m.quant_k, m.stream));
        std::int64_t& slot = bytes[at(where.back()->slot)];
        slot = std::max(slot, p.layouts.size() * where.back()->bytes);
    }
    std::int64_t total = 0;
    for (std::int64_t& b : bytes) total += std::exchange(b, total);
    out.workspace_bytes_ = total;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const place& p = places_[i];
        const match& m = p.found;
        planned_chain c;
        c.chain = p.chain;
        c.kind = m.kind;
        c.add = m.add;
        c.norm = m.norm;
        c.mul = m.mul;
        c.glu = m.glu;
        c.unary = m.unary;
        c.activation = m.activation;
        c.made_by = stored[at(p.made_by)];
        c.f32_written = m.f32_needed;
        c.sum_written = m.sum_needed;
        std::int64_t offset = bytes[at(where[i]->slot)];
        for (int l = 0; l < layout_count; ++l) {
            if (!p.layouts.has(activation_layouts[l])) continue;
            c.workspace_offset[l] = offset;
            c.workspace_bytes += where[i]->bytes;
            offset += where[i]->bytes;
        }
        out.chains_.push_back(c);
    }
}

inline void plan_builder::store_step(plan& out, std::int32_t index) const {
    const scheduled_step& m = schedule_.steps()[at(index)];
    const draft& d = drafts_[at(index)];
    const auto stored = static_cast<std::int32_t>(out.steps_.size());
    step& s = out.steps_.emplace_back();
    s.chain = d.place;
    s.row = d.pick.row;
    s.launch_at = m.launch_at;
    s.first_node = static_cast<std::int32_t>(out.covered_.size());
    s.node_count = m.node_count;
    s.what = d.what;
    s.config = d.pick.config;
    s.band_rows = d.pick.band_rows;
    s.bytes = bytes_of(d.what);
    s.predicted_us = d.pick.predicted_us;
    for (const covered_node& c : schedule_.nodes(m)) {
        out.covered_.push_back(c.node);
        out.nodes_[at(c.node)] = {role::covered, stored, c.elided};
    }
    std::sort(out.covered_.begin() + s.first_node, out.covered_.end());

    addresses address(view_);
    plan::stored_args args;
    if (d.what.needs.kind == skeleton::row) {
        args.index = static_cast<std::int32_t>(out.row_args_.size());
        out.row_args_.push_back(row_arguments(view_, places_[at(d.place)].found, address));
    } else {
        args.index = static_cast<std::int32_t>(out.heads_.size());
        out.heads_.push_back(store_group(out, d, address));
    }
    args.missing = !address.missing() ? -1
                   : s.node_count > 0 ? out.covered_[at(s.first_node)]
                                      : s.launch_at;
    out.args_.push_back(args);
}

inline plan::group_head plan_builder::store_group(plan& out, const draft& d,
                                                  addresses& address) const {
    const tensor& first = view_.node(outputs_[at(d.first_output)].what.matmul);
    plan::group_head h;
    h.k = static_cast<std::int32_t>(d.what.k);
    h.columns = static_cast<std::int32_t>(d.what.columns);
    h.x_rows = h.columns;
    h.bands = bands_of(d.what, d.pick.band_rows);
    if (d.what.expert) {
        const tensor& ids = view_.at(first.src[2]);
        h.ids = reinterpret_cast<const std::int32_t*>(address.of(first.src[2]));
        h.ids_nb1 = ids.nb[1];
        h.slots = static_cast<std::int32_t>(ids.ne[0]);
        h.x_slots = static_cast<std::int32_t>(view_.at(first.src[1]).ne[1]);
        h.x_rows = static_cast<std::int32_t>(ids.ne[1]) * h.x_slots;
        h.experts = experts_of(d.what);
    }
    h.first_member = static_cast<std::int32_t>(out.members_.size());
    h.members = d.what.member_count;
    std::int32_t band = 0;
    for (int i = 0; i < h.members; ++i) {
        const drafted_output& o = outputs_[at(d.first_output + i)];
        const problem_member& what = d.what.member[i];
        plan::stored_member& m = out.members_.emplace_back();
        fill_member(m.args, view_, o.what, what, band, address);
        m.makes = o.makes;
        band += bands_of(what, d.pick.band_rows);
    }
    return h;
}

}  // namespace catena
