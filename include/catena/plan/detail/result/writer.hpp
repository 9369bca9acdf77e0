// Writing a draft down as a plan: steps in launch order, arguments, the workspace, the nodes'
// roles, what is left.
#pragma once

#include "catena/error/message.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/pick/config.hpp"
#include "catena/plan/detail/draft/draft.hpp"
#include "catena/plan/detail/find/head_request.hpp"
#include "catena/plan/detail/find/request.hpp"
#include "catena/plan/detail/find/route_request.hpp"
#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/detail/result/contents.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class plan_writer {
  public:
    /// Takes over what is in the draft.
    plan_writer(draft& from, plan_contents& out)
        : g_(from.g), view_(g_.view), draft_(from), out_(out) {}

    /// Fills in everything but table, options (which must be there), state and counters. Not ok: a
    /// step launches while its activation does not have its slot of the workspace, and the plan
    /// must not be used.
    status write() {
        for (const status& s : {check_slots(), check_readers()})
            if (!s.ok()) return s;
        const std::vector<std::int32_t> stored = store_steps();
        store_activations(stored);
        out_.args.reserve(stored.size());
        out_.covered.reserve(draft_.accepted.covered_nodes());
        out_.members.reserve(draft_.outputs.size());
        out_.groups.reserve(draft_.outputs.size());
        out_.row_launches.reserve(draft_.activations.size());
        std::vector<std::int32_t> accepted(stored.size());
        for (std::size_t i = 0; i < stored.size(); ++i)
            accepted[at(stored[i])] = static_cast<std::int32_t>(i);
        for (std::size_t i = 0; i < accepted.size(); ++i)
            store_launch(static_cast<std::int32_t>(i), accepted[i]);
        for (const step& s : out_.steps) out_.nodes[at(s.launch_at)].role = role::launch;
        if (out_.asked.engine_may_skip_wait) wait_behind_engine();

        out_.engine_launches =
            g_.launches() - static_cast<std::int32_t>(draft_.accepted.covered_nodes());
        std::stable_sort(
            draft_.left.begin(), draft_.left.end(),
            [](const left_over& a, const left_over& b) { return a.what.node < b.what.node; });
        const auto same = [](const left_over& a,
                             const left_over& b) {  // a member may be tried twice
            return a.what.node == b.what.node && a.what.why == b.what.why;
        };
        draft_.left.erase(std::unique(draft_.left.begin(), draft_.left.end(), same),
                          draft_.left.end());
        out_.left = std::move(draft_.left);
        return {};
    }

  private:
    const graph_index& g_;
    const graph_view& view_;
    draft& draft_;
    plan_contents& out_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    /// Is it a product of what lies in the graph?
    static bool reads_no_slot(const problem& p) {
        if (p.kind() == skeleton::row) return false;
        return makes_norm(p) || p.product().needs.activation == format::f32;
    }

    /// Whoever writes or reads an activation launches between the positions for which its slot was
    /// dealt.
    status check_slots() const {
        for (std::size_t s = 0; s < draft_.steps.size(); ++s) {
            const step& one = draft_.steps[s];
            const shared_activation& p = draft_.activations[at(one.chain)];
            if (p.layouts.empty() || reads_no_slot(one.what)) continue;
            const slot_map::candidate& slot = draft_.slot_of(p.found);
            if (slot.from <= one.launch_at && one.launch_at <= slot.until) continue;
            return misplaced(one.launch_at, slot);
        }
        for (const shared_activation& p : draft_.activations) {
            if (p.layouts.empty() || p.made_by < 0) continue;
            const std::int32_t made_at = draft_.steps[at(p.made_by)].launch_at;
            if (made_at < draft_.slot_of(p.found).from)
                return misplaced(made_at, draft_.slot_of(p.found));
        }
        return {};
    }
    /// Every reader of a value that is not written is part of some step.
    status check_readers() const {
        for (const shared_activation& p : draft_.activations) {
            const bool engines = p.found.stages.empty() && p.made_by >= 0 &&
                                 draft_.steps[at(p.made_by)].what.kind() == skeleton::row;
            if (p.made_by < 0 || engines || p.found.f32_needed) continue;
            for (const reader& r : p.found.readers)
                if (!draft_.covered(r.node))
                    return failure(status_code::wrong_plan,
                                   "the plan was dropped: node %d reads a value that no step "
                                   "writes: please report the graph",
                                   r.node);
        }
        return {};
    }
    static status misplaced(std::int32_t node, const slot_map::candidate& slot) {
        return failure(status_code::wrong_plan,
                       "the plan was dropped: a step launches at node %d, but its activation has "
                       "its slot of the workspace from node %d to node %d: please report the graph",
                       node, slot.from, slot.until);
    }

    /// The steps in launch order, those of one position in the order of acceptance. Returns where
    /// each accepted step went: most stand where they stood.
    std::vector<std::int32_t> store_steps() {
        out_.first_step_at.assign(at(view_.node_count) + 1, 0);
        for (const step& s : draft_.steps) ++out_.first_step_at[at(s.launch_at) + 1];
        std::partial_sum(out_.first_step_at.begin(), out_.first_step_at.end(),
                         out_.first_step_at.begin());
        std::vector<std::int32_t> next = out_.first_step_at, stored;
        stored.reserve(draft_.steps.size());
        for (const step& s : draft_.steps) stored.push_back(next[at(s.launch_at)]++);

        out_.steps = std::move(draft_.steps);
        std::vector<std::int32_t> to = stored;
        for (std::size_t i = 0; i < to.size(); ++i)
            while (at(to[i]) != i) {
                const std::size_t own = at(to[i]);
                std::swap(out_.steps[i], out_.steps[own]);
                std::swap(to[i], to[own]);
            }
        return stored;
    }

    /// Is all that was launched before a node of the engine done when its kernels are?
    bool waits(std::int32_t node, std::int32_t stream) const {
        return view_.node(node).stream == stream &&
               engine_of(view_).waits(view_, node, out_.asked.engine_version);
    }

    /// A step that is launched programmatically waits for the kernel before it alone. Behind one of
    /// the engine that may be done before those before it, the step starts when all is done. So
    /// does the first step of a graph or of a stream: nobody knows what stands before it.
    void wait_behind_engine() const {
        bool all_wait = false;  // since a step of this stream
        std::int32_t stream = 0;
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            const role by = out_.nodes[at(i)].role;
            if (by == role::engine && g_.acts(i)) all_wait = all_wait && waits(i, stream);
            if (by != role::launch) continue;
            const bool same_stream = view_.node(i).stream == stream;
            if (!all_wait || !same_stream)
                out_.steps[at(out_.first_step_at[at(i)])].config.dependent = false;
            all_wait = true;
            stream = view_.node(i).stream;
        }
    }

    /// Every activation gets its slot's part of the workspace: a copy for each of its layouts,
    /// whichever step writes it.
    void store_activations(const std::vector<std::int32_t>& stored) const {
        slot_map& slots = draft_.slots;
        std::vector<std::int64_t> bytes(at(slots.slots()), 0);
        out_.chains.reserve(draft_.activations.size());
        for (const shared_activation& p : draft_.activations) {
            if (p.layouts.empty()) continue;
            slot_map::candidate& c = slots.of(p.found.activation, p.found.quant_k, p.found.stream);
            c.written = c.written | p.layouts;
            std::int64_t& slot = bytes[at(c.slot)];
            slot = std::max(slot, c.bytes_written());
        }
        std::int64_t total = 0;
        for (std::int64_t& b : bytes) total += std::exchange(b, total);
        out_.workspace_bytes = total;
        for (const shared_activation& p : draft_.activations) {
            const match& m = p.found;
            planned_chain& c = out_.chains.emplace_back();
            c.chain = p.chain;
            c.stages = m.stages;
            c.node = m.node;
            c.sum = m.sum;
            c.activation = m.activation;
            if (p.made_by >= 0) c.made_by = stored[at(p.made_by)];
            c.begun = p.begun;
            c.f32_written = m.f32_needed;
            c.sum_written = m.sum_needed;
            c.layouts = p.layouts;
            c.norm_apart = p.norm_apart;
            if (p.layouts.empty()) continue;
            const slot_map::candidate& slot = draft_.slot_of(m);
            std::int64_t offset = bytes[at(slot.slot)];
            for (int l = 0; l < layout_count; ++l) {
                const format layout = activation_layouts[l];
                if (!slot.written.has(layout)) continue;
                if (p.layouts.has(layout)) {
                    c.workspace_offset[l] = offset;
                    c.workspace_bytes += slot.bytes(layout);
                }
                offset += slot.bytes(layout);
            }
        }
    }

    /// What step `stored` covers, and its arguments.
    void store_launch(std::int32_t stored, std::int32_t accepted) const {
        step& s = out_.steps[at(stored)];
        s.first_node = static_cast<std::int32_t>(out_.covered.size());
        out_.covered.resize(out_.covered.size() + at(s.node_count));
        std::int32_t* next_node = out_.covered.data() + s.first_node;
        for (const covered_node& c : draft_.accepted.nodes(draft_.accepted.steps()[at(accepted)])) {
            *next_node++ = c.node;
            out_.nodes[at(c.node)] = {stored, role::covered, c.elided};
        }
        std::sort(out_.covered.begin() + s.first_node, out_.covered.end());

        addresses address(view_);
        stored_args args;
        const auto next = [&args](auto& all) -> auto& {
            args.index = static_cast<std::int32_t>(all.size());
            return all.emplace_back();
        };
        const match& m = draft_.activations[at(s.chain)].found;
        if (s.what.kind() != skeleton::row)
            store_group(next(out_.groups), s, accepted, address);
        else if (m.recalled.found())
            next(out_.head_launches) = delta_arguments(view_, m.recalled, address);
        else if (m.scanned.found())
            next(out_.head_launches) = scan_arguments(view_, m.scanned, address);
        else if (m.attended.found())
            next(out_.head_launches) = attending_arguments(view_, m, address);
        else if (has_heads(s.what.row().needs.stages))
            next(out_.head_launches) = head_arguments(view_, m.values, m.convolved, address);
        else if (routes(s.what.row().needs.stages))
            next(out_.route_launches) = route_arguments(view_, m.routed, address);
        else
            next(out_.row_launches) = row_arguments(view_, m, address);
        args.missing = !address.missing() ? -1
                       : s.node_count > 0 ? out_.covered[at(s.first_node)]
                                          : s.launch_at;
        out_.args.push_back(args);
    }

    /// What a launch makes its activation of: a norm, or a gated value as a row step would.
    void store_made(stored_group& h, const product_problem& asked, const match& m,
                    addresses& address) const {
        if (makes_norm(asked)) {
            const row_operand& x = m.reads[operand::x];
            h.x = address.of(x.tensor);
            h.x_bytes = x.at.nb1;
            h.norm_weight = address.floats(m.reads[operand::weight].tensor);
            if (asked.needs.emits.has(format::f32)) h.norm_f32 = address.floats(m.activation);
            h.eps = m.params.eps;
        }
        if (!gates_inside(asked)) return;
        const row_args row = row_arguments(view_, m, address);
        h.x = row.x;
        h.x_bytes = std::int64_t{4} * h.k;
        h.norm_weight = row.weight;
        h.eps = row.eps;
        h.gate = {row.gate, row.gate_at.nb1, row.k, row.function, row.alpha, row.limit};
    }

    void store_group(stored_group& h, const step& s, std::int32_t accepted,
                     addresses& address) const {
        const drafted_output* outputs = draft_.outputs.data() + draft_.first_output[at(accepted)];
        const match& m = draft_.activations[at(s.chain)].found;
        const tensor& first = view_.node(outputs->what.matmul);
        const product_problem& asked = s.what.product();
        h.k = static_cast<std::int32_t>(asked.k);
        h.columns = static_cast<std::int32_t>(asked.columns);
        h.x_rows = h.columns;
        h.bands = bands_of(asked, s.band_rows);
        h.dense_bands = dense_bands_of(asked, s.band_rows);
        h.x_bytes = asked.needs.activation == format::fp8_group ? asked.k : q8_1_row_bytes(asked.k);
        if (asked.needs.activation == format::f32 && !gates_inside(asked)) {
            const bool copies = m.copies() && out_.nodes[at(m.node)].step == &s - out_.steps.data();
            h.x = address.of(copies ? m.reads[operand::gate].tensor : first.src[1]);
            h.x_bytes = view_.at(first.src[1]).nb[1];
        }
        store_made(h, asked, m, address);
        if (asked.ends_norm) h.eps = m.params.eps;
        if (asked.expert) {
            const tensor& x = view_.at(first.src[1]);
            h.x_slots = static_cast<std::int32_t>(x.ne[1]);
            h.x_rows = static_cast<std::int32_t>(x.ne[2] * x.ne[3]) * h.x_slots;
            h.slots = h.x_slots;
            h.experts = matrices_of(asked);
        }
        if (first.kind == op::mul_mat_id) {
            const tensor& ids = view_.at(first.src[2]);
            h.ids = reinterpret_cast<const std::int32_t*>(address.of(first.src[2]));
            h.ids_nb1 = ids.nb[1];
            h.slots = static_cast<std::int32_t>(ids.ne[0]);
        }
        if (combined(asked)) {
            h.combined = true;
            h.columns = static_cast<std::int32_t>(asked.tokens);
            h.slot_weights = address.floats(outputs->what.slot_weights);
        }
        if (routes(asked)) {
            const std::int32_t routed = draft_.routed.at(accepted);
            h.routing =
                route_arguments(view_, draft_.activations[at(routed)].found.routed, address);
        }
        if (has_heads(asked.needs.epilogue)) {
            const std::int32_t turned = draft_.turned.at(accepted);
            h.heads = static_cast<std::int32_t>(out_.head_launches.size());
            out_.head_launches.push_back(
                turned_arguments(view_, draft_.activations[at(turned)].found.values, address));
        }
        h.first_member = static_cast<std::int32_t>(out_.members.size());
        h.members = asked.member_count;
        std::int32_t band = 0;
        for (int i = 0; i < h.members; ++i) {
            const drafted_output& o = outputs[i];
            const problem_member& what = asked.member[i];
            stored_member& member = out_.members.emplace_back();
            fill_member(member.args, g_, o.what, asked, i, band, address);
            member.makes = o.makes;
            if (o.makes >= 0 && draft_.activations[at(o.makes)].begun) {
                const match& norm = draft_.activations[at(o.makes)].found;
                member.args.begun_weight = address.floats(norm.reads[operand::weight].tensor);
            }
            band += bands_of(what, s.band_rows);
        }
    }
};

}  // namespace CATENA_NAMESPACE
