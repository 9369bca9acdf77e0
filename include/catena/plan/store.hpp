// Writing a built plan down: steps in launch order, arguments, the workspace, the nodes' roles,
// what is left.
#pragma once

#include "catena/plan/build.hpp"

#include <numeric>

namespace catena {

inline void plan_builder::store(plan& out) {
    const std::vector<std::int32_t> stored = store_steps(out);
    store_places(out, stored);
    out.args_.reserve(stored.size());
    out.covered_.reserve(schedule_.covered_nodes());
    out.members_.reserve(outputs_.size());
    out.heads_.reserve(outputs_.size());
    out.row_args_.reserve(places_.size());
    std::vector<std::int32_t> accepted(stored.size());
    for (std::size_t i = 0; i < stored.size(); ++i)
        accepted[at(stored[i])] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < accepted.size(); ++i)
        store_launch(out, static_cast<std::int32_t>(i), accepted[i]);
    for (const step& s : out.steps_) out.nodes_[at(s.launch_at)].role = role::launch;

    out.engine_launches_ = g_.launches() - static_cast<std::int32_t>(schedule_.covered_nodes());
    std::stable_sort(left_.begin(), left_.end(), [](const left_over& a, const left_over& b) {
        return a.what.node < b.what.node;
    });
    const auto same = [](const left_over& a, const left_over& b) {  // a member may be tried twice
        return a.what.node == b.what.node && a.what.why == b.what.why;
    };
    left_.erase(std::unique(left_.begin(), left_.end(), same), left_.end());
    out.left_ = std::move(left_);
}

/// The steps in launch order, those of one position in the order of acceptance. Returns where each
/// accepted step went: most stand where they stood.
inline std::vector<std::int32_t> plan_builder::store_steps(plan& out) {
    out.first_step_at_.assign(at(view_.node_count) + 1, 0);
    for (const step& s : steps_) ++out.first_step_at_[at(s.launch_at) + 1];
    std::partial_sum(out.first_step_at_.begin(), out.first_step_at_.end(),
                     out.first_step_at_.begin());
    std::vector<std::int32_t> next = out.first_step_at_, stored;
    stored.reserve(steps_.size());
    for (const step& s : steps_) stored.push_back(next[at(s.launch_at)]++);

    out.steps_ = std::move(steps_);
    std::vector<std::int32_t> from(stored.size());
    for (std::size_t i = 0; i < stored.size(); ++i)
        from[at(stored[i])] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (at(from[i]) == i) continue;
        const step first = out.steps_[i];
        std::size_t gap = i;  // goes round the cycle: the step that belongs there moves up
        for (std::size_t there = at(from[gap]); there != i; there = at(from[gap])) {
            out.steps_[gap] = out.steps_[there];
            from[gap] = static_cast<std::int32_t>(gap);
            gap = there;
        }
        out.steps_[gap] = first;
        from[gap] = static_cast<std::int32_t>(gap);
    }
    return stored;
}

/// Every place gets its slot's part of the workspace: a copy for each layout of its activation, whichever
/// of its places writes it.
inline void plan_builder::store_places(plan& out, const std::vector<std::int32_t>& stored) const {
    slot_map slots(g_);
    std::vector<std::int64_t> bytes(at(slots.slots()), 0);
    std::vector<const slot_map::candidate*> where;
    where.reserve(places_.size());
    out.chains_.reserve(places_.size());
    for (const place& p : places_) {
        const match& m = p.found;
        if (p.layouts.empty()) {
            where.push_back(nullptr);
            continue;
        }
        slot_map::candidate& c = slots.of(m.activation, m.quant_k, m.stream);
        c.written = c.written | p.layouts;
        where.push_back(&c);
        std::int64_t& slot = bytes[at(c.slot)];
        slot = std::max(slot, c.bytes_written());
    }
    std::int64_t total = 0;
    for (std::int64_t& b : bytes) total += std::exchange(b, total);
    out.workspace_bytes_ = total;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const place& p = places_[i];
        const match& m = p.found;
        planned_chain& c = out.chains_.emplace_back();
        c.chain = p.chain;
        c.kind = m.kind;
        c.add = m.add;
        c.norm = m.norm;
        c.mul = m.mul;
        c.glu = m.glu;
        c.unary = m.unary;
        c.activation = m.activation;
        if (p.made_by >= 0) c.made_by = stored[at(p.made_by)];
        c.f32_written = m.f32_needed;
        c.sum_written = m.sum_needed;
        c.layouts = p.layouts;
        c.norm_apart = p.norm_apart;
        std::int64_t offset = where[i] == nullptr ? 0 : bytes[at(where[i]->slot)];
        for (int l = 0; l < layout_count && where[i] != nullptr; ++l) {
            const format layout = activation_layouts[l];
            if (!where[i]->written.has(layout)) continue;
            if (p.layouts.has(layout)) {
                c.workspace_offset[l] = offset;
                c.workspace_bytes += where[i]->bytes(layout);
            }
            offset += where[i]->bytes(layout);
        }
    }
}

/// What step `stored` covers, and its arguments.
inline void plan_builder::store_launch(plan& out, std::int32_t stored,
                                       std::int32_t accepted) const {
    step& s = out.steps_[at(stored)];
    s.first_node = static_cast<std::int32_t>(out.covered_.size());
    for (const covered_node& c : schedule_.nodes(schedule_.steps()[at(accepted)])) {
        out.covered_.push_back(c.node);
        out.nodes_[at(c.node)] = {stored, role::covered, c.elided};
    }
    std::sort(out.covered_.begin() + s.first_node, out.covered_.end());

    addresses address(view_);
    plan::stored_args args;
    if (s.what.needs.kind == skeleton::row) {
        args.index = static_cast<std::int32_t>(out.row_args_.size());
        out.row_args_.push_back(row_arguments(view_, places_[at(s.chain)].found, address));
    } else {
        args.index = static_cast<std::int32_t>(out.heads_.size());
        const drafted_output* outputs = outputs_.data() + first_output_[at(accepted)];
        out.heads_.push_back(store_group(out, s, outputs, address));
    }
    args.missing = !address.missing() ? -1
                   : s.node_count > 0 ? out.covered_[at(s.first_node)]
                                      : s.launch_at;
    out.args_.push_back(args);
}

inline plan::group_head plan_builder::store_group(plan& out, const step& s,
                                                  const drafted_output* outputs,
                                                  addresses& address) const {
    const tensor& first = view_.node(outputs->what.matmul);
    const problem& asked = s.what;
    plan::group_head h;
    h.k = static_cast<std::int32_t>(asked.k);
    h.columns = static_cast<std::int32_t>(asked.columns);
    h.x_rows = h.columns;
    h.bands = bands_of(asked, s.band_rows);
    h.x_bytes = asked.needs.activation == format::fp8_group ? asked.k : q8_1_row_bytes(asked.k);
    if (asked.needs.activation == format::f32) {
        const match& m = places_[at(s.chain)].found;
        const bool copies = m.copies() && out.nodes_[at(m.glu)].step == &s - out.steps_.data();
        h.x = address.of(copies ? m.gate.tensor : first.src[1]);
        h.x_bytes = view_.at(first.src[1]).nb[1];
    }
    if (makes_norm(asked)) {
        const match& m = places_[at(s.chain)].found;
        h.x = address.of(m.x.tensor);
        h.x_bytes = m.x.at.nb1;
        h.norm_weight = address.floats(m.weight);
        if (asked.needs.emits.has(format::f32)) h.norm_f32 = address.floats(m.activation);
        h.eps = m.eps;
    }
    if (asked.expert) {
        const tensor& ids = view_.at(first.src[2]);
        h.ids = reinterpret_cast<const std::int32_t*>(address.of(first.src[2]));
        h.ids_nb1 = ids.nb[1];
        h.slots = static_cast<std::int32_t>(ids.ne[0]);
        h.x_slots = static_cast<std::int32_t>(view_.at(first.src[1]).ne[1]);
        h.x_rows = static_cast<std::int32_t>(ids.ne[1]) * h.x_slots;
        h.experts = experts_of(asked);
    }
    if (combined(asked)) {
        h.combined = true;
        h.columns = static_cast<std::int32_t>(asked.tokens);
        h.slot_weights = address.floats(outputs->what.slot_weights);
    }
    h.first_member = static_cast<std::int32_t>(out.members_.size());
    h.members = asked.member_count;
    std::int32_t band = 0;
    for (int i = 0; i < h.members; ++i) {
        const drafted_output& o = outputs[i];
        const problem_member& what = asked.member[i];
        plan::stored_member& m = out.members_.emplace_back();
        fill_member(m.args, g_, o.what, what, band, address);
        m.makes = o.makes;
        band += bands_of(what, s.band_rows);
    }
    return h;
}

}  // namespace catena
