// The order that `optimize` gives: groups of matmuls are found in the view and run together, each
// node behind what it reads.
#pragma once

#include "catena/match/detail/epilogue.hpp"
#include "catena/match/detail/expert_factor.hpp"
#include "catena/match/detail/experts.hpp"
#include "catena/match/detail/index.hpp"
#include "catena/match/detail/reader.hpp"
#include "catena/match/detail/value.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/match/moe_ffn.hpp"
#include "catena/plan/detail/delayed_reads.hpp"
#include "catena/plan/detail/order/slots.hpp"
#include "catena/plan/optimize.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

namespace detail {

class order_builder {
  public:
    explicit order_builder(const graph_index& g)
        : g_(g), view_(g.view), emitted_(static_cast<std::size_t>(g.view.node_count), 0) {}

    std::vector<std::int32_t> build() {
        find_groups();
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            if (emitted_[at(i)] != 0) continue;
            emit(i);
            if (group_of_[at(i)] < 0) continue;
            const std::vector<std::int32_t> members = groups_[at(group_of_[at(i)])];
            if (members.size() < 2) continue;
            const auto first = static_cast<std::int32_t>(order_.size()) - 1;
            emit_followers(i, first);
            for (const std::int32_t m : members) {
                if (emitted_[at(m)] != 0 || !inputs_there(view_.node(m))) continue;
                emit(m);
                emit_followers(m, first);
            }
        }
        return std::move(order_);
    }

  private:
    const graph_index& g_;
    const graph_view& view_;
    std::vector<std::int32_t> order_;
    std::vector<std::uint8_t> emitted_;
    std::vector<std::vector<std::int32_t>> groups_;
    std::vector<std::int32_t> group_of_;  // per node

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    void emit(std::int32_t node) {
        order_.push_back(node);
        emitted_[at(node)] = 1;
    }

    /// Could a step take over this matmul, whatever its sizes, and read the same activation
    /// earlier?
    bool groups(const tensor& t, bool float_weight) const {
        return (t.flags & flag_compute) != 0 && view_.at(g_.root(t.src[0])).kind == op::none &&
               !detail::check_params(t, float_weight).found() &&
               std::all_of(t.src, t.src + max_src, [this](std::int32_t s) { return lasts(s); });
    }

    /// Does a value stay as it was made until its last reader? Memory that nodes write in place
    /// does not.
    bool lasts(std::int32_t source) const {
        return source == no_tensor || !g_.written_in_place(g_.root(source));
    }

    /// Could one launch hold both? Experts and dense matmuls may share one; experts must have the
    /// same ids.
    bool together(const tensor& a, const tensor& b) const {
        return a.stream == b.stream &&
               reads_f32(view_.at(a.src[0]).type) == reads_f32(view_.at(b.src[0]).type) &&
               (a.kind != b.kind || same_ids(a, b));
    }

    /// The matmuls of one activation that a launch could hold, as many as a plan looks at together.
    void find_groups() {
        group_of_.assign(at(view_.node_count), -1);
        std::vector<std::int32_t> last(at(view_.tensor_count), -1);  // per value: its last group
        std::vector<std::int32_t> before;                            // per group: the one before
        for (const matmul_read& m : g_.matmuls()) {
            const tensor& t = view_.node(m.node);
            if (!groups(t, m.float_weight)) continue;
            std::int32_t& known = last[at(m.value)];
            std::int32_t g = known, tried = 0;
            const auto joins = [&](std::int32_t n) { return together(view_.node(n), t); };
            const auto open = [&](const std::vector<std::int32_t>& members) {
                return members.size() < static_cast<std::size_t>(readers_together) &&
                       std::all_of(members.begin(), members.end(), joins);
            };
            while (g >= 0 && tried < readers_together && !open(groups_[at(g)])) {
                g = before[at(g)];
                ++tried;
            }
            if (g < 0 || tried == readers_together) {
                g = static_cast<std::int32_t>(groups_.size());
                groups_.emplace_back();
                before.push_back(std::exchange(known, g));
            }
            groups_[at(g)].push_back(m.node);
            group_of_[at(m.node)] = g;
        }
    }

    bool inputs_there(const tensor& matmul) {
        const std::int32_t ids = matmul.kind == op::mul_mat_id ? matmul.src[2] : no_tensor;
        for (const std::int32_t s : {matmul.src[0], matmul.src[1], scales_of(view_, matmul), ids})
            if (s != no_tensor && !emit_names(s)) return false;
        return true;
    }

    /// Moves the nodes that only rename, behind which `name` lies, to here. False: it reads
    /// something that is not made yet.
    bool emit_names(std::int32_t name) {
        const std::int32_t p = g_.position(name);
        if (p < 0 || emitted_[at(p)] != 0) return true;
        if (!launches_nothing(view_.node(p).kind)) return false;
        for (const std::int32_t s : view_.node(p).src)
            if (s != no_tensor && !emit_names(s)) return false;
        emit(p);
        return true;
    }

    /// What follows a matmul and needs nothing but leaves and this group: its bias, its GLU.
    void emit_followers(std::int32_t node, std::int32_t first) {
        for (int i = 0; i < max_followers; ++i) {
            const std::int32_t next = g_.only_node(view_.nodes[node]);
            if (next < 0 || emitted_[at(next)] != 0) return;
            const tensor& t = view_.node(next);
            const bool follows =
                follows_matmul(g_, next) && (t.kind != op::unary || has_function(next));
            if (!follows || t.view_src != no_tensor || engine_fuses(g_, next)) return;
            if (gates_a_product(next)) return;  // it moves when the product can
            for (const std::int32_t s : t.src)
                if (s != no_tensor && !at_hand(s, first, t)) return;
            emit(next);
            node = next;
        }
    }

    /// Is it a function that a MUL of its shape alone reads? Engines do the two in one launch.
    bool gates_a_product(std::int32_t node) const {
        const use product = g_.only_reader(view_.nodes[node]);
        return g_.kind(node) == op::unary && product.node >= 0 &&
               g_.kind(product.node) == op::mul &&
               same_shape(view_.node(node), view_.node(product.node));
    }

    /// Is it a function that a launch can compute?
    bool has_function(std::int32_t node) const {
        return function_at(g_, node).function != gate_function::none;
    }

    void emit_gate(std::int32_t node, std::int32_t first) {
        const tensor& t = view_.node(node);
        if (emitted_[at(node)] == 0 && gates_a_product(node) && t.view_src == no_tensor &&
            has_function(node) && !engine_fuses(g_, node) && at_hand(t.src[0], first, t))
            emit(node);
    }

    /// Moves the nodes that gather `source`, the factors of a matmul's experts, to here.
    bool emit_factors(std::int32_t source, const tensor& reader) {
        const std::int32_t other = reader.src[0] == source ? reader.src[1] : reader.src[0];
        const std::int32_t made = other == no_tensor ? -1 : g_.position(other);
        if (made < 0 || g_.kind(made) != op::mul_mat_id) return false;
        const expert_factors f = expert_factors_at(g_, source, view_.node(made), made);
        if (!f.found() || !emit_names(view_.node(made).src[2]) || !emit_names(f.numbers))
            return false;
        if (f.repeat >= 0 && emitted_[at(f.repeat)] == 0) emit(f.repeat);
        if (!emit_names(view_.node(f.pick).src[0])) return false;
        if (emitted_[at(f.pick)] == 0) emit(f.pick);
        return true;
    }

    /// Is a source a leaf, the ids of the group, or made since its first member? The function of a
    /// gate moves with its product.
    bool at_hand(std::int32_t source, std::int32_t first, const tensor& reader) {
        const std::int32_t p = g_.position(source);
        if (!lasts(source)) return false;
        if (p < 0) return named_by(view_.at(source)) == no_tensor;
        if (reader.kind == op::add_id && source == reader.src[2]) return emitted_[at(p)] != 0;
        if (reader.kind == op::mul && emit_factors(source, reader)) return true;
        const std::int32_t made = g_.position(g_.root(source));  // names of it move along
        if (made >= 0 && reader.kind == op::mul) emit_gate(made, first);
        return std::find(order_.begin() + first, order_.end(), made) != order_.end() &&
               emit_names(source);
    }
};

/// The most bytes of results that are alive at once.
inline std::int64_t peak_bytes(const graph_index& g, const std::vector<keep_alive>& keep) {
    std::vector<std::int64_t> change(static_cast<std::size_t>(g.view.node_count) + 1, 0);
    std::vector<std::int32_t> until(static_cast<std::size_t>(g.view.tensor_count), -1);
    for (const keep_alive& k : keep) {
        std::int32_t& u = until[static_cast<std::size_t>(g.root(k.tensor))];
        u = std::max(u, k.until);
    }
    for (std::int32_t i = 0; i < g.view.node_count; ++i) {
        const std::int32_t t = g.view.nodes[i];
        if (!g.acts(i) || g.root(t) != t) continue;
        const std::int64_t bytes = allocated_bytes(g.view.at(t));
        const std::int32_t last = std::max(g.live_until(t), until[static_cast<std::size_t>(t)]);
        change[static_cast<std::size_t>(i)] += bytes;
        if (last < g.view.node_count)
            change[static_cast<std::size_t>(std::max(last, i)) + 1] -= bytes;
    }
    std::int64_t alive = 0, peak = 0;
    for (const std::int64_t c : change) peak = std::max(peak, alive += c);
    return peak;
}

/// Bytes that are enough for plans of the graph, whether they take over its MOE_FFNs or not.
inline std::int64_t workspace_bound(const graph_index& g, const slot_map& slots) {
    const std::int64_t bound = slots.bound();
    const std::vector<std::uint8_t> whole = moe_ffns(g.view);
    if (whole.empty()) return bound;
    written_out nodes;
    nodes.build(g.view, whole);
    graph_index inside;
    inside.ops = g.ops;
    return inside.build(nodes.view()).ok() ? std::max(bound, slot_map(inside).bound()) : bound;
}

}  // namespace detail

ordering optimize(const graph_view& view, const own_ops* ops) noexcept {
    ordering out;
    graph_index before;
    before.ops = ops;
    out.state = before.build(view);
    if (!out.state.ok()) return out;
    out.order = detail::order_builder(before).build();
    const std::vector<std::int32_t> nodes = out.nodes(view);
    graph_index after = before;
    out.state = after.order(nodes.data());
    if (!out.state.ok()) {
        out.order.clear();
        return out;
    }
    const slot_map slots(after);
    out.keep = detail::delayed_reads(after, slots);
    out.workspace_bound = detail::workspace_bound(after, slots);
    out.peak_before = detail::peak_bytes(before, {});
    out.peak_after = detail::peak_bytes(after, out.keep);
    return out;
}

}  // namespace CATENA_NAMESPACE
