// The proof itself: the engine's order and the plan's, side by side.
#pragma once

#include "catena/error/message.hpp"
#include "catena/match/detail/check.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/match/moe_ffn.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/detail/result/contents.hpp"
#include "catena/plan/detail/verify/engine_walk.hpp"
#include "catena/plan/detail/verify/graph.hpp"
#include "catena/plan/detail/verify/group_launch.hpp"
#include "catena/plan/detail/verify/memory.hpp"
#include "catena/plan/detail/verify/row_launch.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace CATENA_NAMESPACE {

namespace proof {

class verifier {
  public:
    verifier(const graph_view& view, const plan& made)
        : view_(view), plan_(made), regions_(at(view.tensor_count)) {
        for (std::int32_t t = 0; t < view.tensor_count; ++t)
            regions_[at(t)] = region_of(view.at(t));
    }

    verification run() {
        check_structure();
        if (!ok()) return out_;
        if (!all_have_addresses()) return out_;
        find_weights();
        engine_order engine(view_, regions_, bounds(), weights_, plan_.rows().ops,
                            [this](std::int32_t i) { return plan_.at(i).role != role::engine; });
        check_graph(engine);
        if (!ok()) return out_;
        memory now(bounds());
        row_launch rows(now, engine.writes, workspace_, workspace_at);
        group_launch groups(now, engine.writes, workspace_, workspace_at);
        std::int32_t next = 0;
        for (std::int32_t i = 0; i < view_.node_count && ok(); ++i) {
            for (; next < steps() && step_of(next).launch_at == i && ok(); ++next)
                launch(next, engine, now, rows, groups);
            if (!ok() || !engine.acts(i) || plan_.at(i).role != role::engine) continue;
            std::int32_t edge = engine.first_seen[at(i)];
            engine.each_read(i, [&](std::int32_t t) {
                ++out_.reads;
                if (engine.found(now, t) == engine.seen[at(edge++)] || !ok()) return;
                fail(-1, i, regions_[at(t)].begin,
                     "reads another value than in the engine's order");
            });
            engine.store(now, i);
            ++out_.nodes;
        }
        if (ok()) check_end(engine, now);
        if (ok()) check_early(engine, now);
        if (ok()) check_starts(engine);
        out_.proved = ok();
        return out_;
    }

  private:
    /// The address that the proof gives the workspace: no tensor lies there.
    static constexpr std::uint64_t workspace_at = std::uint64_t{1} << 62;

    const graph_view& view_;
    const plan& plan_;
    std::vector<region> regions_;               // per tensor
    std::unordered_set<std::uint64_t> bounds_;  // at which some region begins or ends
    std::vector<slot_content> workspace_;       // what it holds
    std::vector<touched> early_;  // what steps read before the kernels before them end
    std::vector<std::int32_t> early_step_;
    weight_bytes weights_;
    std::vector<std::int32_t> step_of_node_;
    verification out_;

    std::int32_t steps() const { return static_cast<std::int32_t>(plan_.steps().size()); }
    const step& step_of(std::int32_t s) const { return plan_.steps()[at(s)]; }
    bool ok() const { return out_.state.ok(); }

    /// `step` or `node` may be -1.
    void fail(std::int32_t step, std::int32_t node, std::uint64_t byte, const char* why,
              const char* operand = "") {
        if (!ok()) return;
        out_.step = step;
        out_.node = node;
        out_.byte = byte;
        char who[48] = "the plan";
        if (step >= 0)
            std::snprintf(who, sizeof who, "step %d, launched at node %d", step, node);
        else if (node >= 0)
            std::snprintf(who, sizeof who, "node %d", node);
        const bool slot = byte >= workspace_at;
        out_.state =
            failure(status_code::wrong_plan, "the plan is wrong: %s: %s%s%s (%s %llu)", who,
                    operand, *operand != '\0' ? " " : "", why, slot ? "workspace byte" : "byte",
                    static_cast<unsigned long long>(slot ? byte - workspace_at : byte));
    }

    /// Does the graph say one thing of each byte? If not, no plan can be right.
    void check_graph(const engine_order& engine) {
        overwrite found = engine.overwritten();
        for (std::int32_t t = 0; t < view_.tensor_count && !found.found(); ++t)
            if (view_.at(t).weight && view_.at(t).kind == op::none) found = engine.written_into(t);
        if (!found.found()) return;
        const tensor& of = view_.at(found.of);
        const bool in_buffer = of.buffer != no_buffer;
        value_overwritten& o = out_.overwritten;
        o.writer = out_.node = found.writer;
        o.reader = found.reader;
        o.tensor = found.of;
        o.buffer = of.buffer;
        o.offset = found.begin - regions_[at(found.of)].begin + (in_buffer ? of.offset : 0);
        o.bytes = found.end - found.begin;
        out_.byte = found.begin;
        char where[32] = "the tensor", read[40] = "is a weight";
        if (in_buffer) std::snprintf(where, sizeof where, "buffer %d", of.buffer);
        if (o.reader >= 0) std::snprintf(read, sizeof read, "node %d still reads", o.reader);
        out_.state = failure(
            status_code::wrong_graph,
            "the graph is wrong: node %d writes over tensor %d, which %s (%llu bytes from byte "
            "%llu of %s on); give the node other memory, or let %s",
            o.writer, o.tensor, read, static_cast<unsigned long long>(o.bytes),
            static_cast<unsigned long long>(o.offset), where,
            o.reader >= 0 ? "it name the tensor as its view_src" : "the tensor be no weight");
    }

    /// A step that starts early waits for the kernel before it alone. If an engine's kernels may be
    /// done before those before them, there must be none of that kind since the step before, and
    /// that one must be of the same stream. The proof asks the same engine_model as the planner,
    /// since the engine alone says which of its kernels wait; the test `llama_waits` reads
    /// ggml-cuda's sources again.
    void check_starts(const engine_order& engine) {
        if (!plan_.asked().engine_may_skip_wait) return;
        bool all_wait = false;
        std::int32_t stream = 0;
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            if (plan_.at(i).role == role::engine && engine.acts(i))
                all_wait = all_wait && view_.node(i).stream == stream &&
                           engine_of(view_).waits(view_, i, plan_.asked().engine_version);
            for (const step& s : plan_.steps_at(i)) {
                if (s.config.dependent && (!all_wait || view_.node(i).stream != stream))
                    return fail(static_cast<std::int32_t>(&s - plan_.steps().begin()), i, 0,
                                "may start before all that stands before it is done");
                all_wait = true;
                stream = view_.node(i).stream;
            }
        }
    }

    /// The nodes launch all steps, in their order, each where it says.
    void check_launches() {
        const step* next = plan_.steps().begin();
        for (std::int32_t i = 0; i < view_.node_count && ok(); ++i) {
            const array_view<step> here = plan_.steps_at(i);
            const auto is_here = [i](const step& s) { return s.launch_at == i; };
            if (here.begin() != next || here.end() < next || here.end() > plan_.steps().end() ||
                !std::all_of(here.begin(), here.end(), is_here))
                return fail(-1, i, 0, "launches other steps than stand there");
            next = here.end();
        }
        if (next != plan_.steps().end()) fail(-1, -1, 0, "has steps that no node launches");
    }

    /// Roles, steps and the nodes that they cover tell the same story.
    void check_structure() {
        step_of_node_.assign(at(view_.node_count), -1);
        if (plan_.size() != view_.node_count) return fail(-1, -1, 0, "is of another graph");
        check_launches();
        std::int32_t last = 0;
        for (std::int32_t s = 0; s < steps() && ok(); ++s) {
            const step& one = step_of(s);
            if (one.launch_at < last || one.launch_at >= view_.node_count)
                return fail(s, one.launch_at, 0, "is out of order");
            last = one.launch_at;
            if (plan_.at(last).role != role::launch)
                return fail(s, last, 0, "stands at a node that launches nothing");
            if (one.row < 0 || one.row >= plan_.rows().row_count)
                return fail(s, last, 0, "has no row of the table");
            const row& does = plan_.rows().rows[one.row];
            if (does.computes.kind() != one.what.kind())
                return fail(s, last, 0, "has a row of another skeleton");
            for (const std::int32_t n : plan_.covered(one)) {
                if (n < 0 || n >= view_.node_count)
                    return fail(s, last, 0, "covers a node that is not there");
                if (step_of_node_[at(n)] >= 0)
                    return fail(s, n, 0, "covers a node of another step");
                step_of_node_[at(n)] = s;
                if (plan_.at(n).role == role::engine || plan_.at(n).step != s)
                    return fail(s, n, 0, "covers a node that is not given to it");
                if (view_.node(n).stream != view_.node(last).stream)
                    return fail(s, n, 0, "covers a node of another stream");
            }
        }
        for (std::int32_t i = 0; i < view_.node_count && ok(); ++i)
            if (plan_.at(i).role != role::engine && step_of_node_[at(i)] < 0)
                fail(-1, i, 0, "is left out by the engine, and no step covers it");
    }

    /// Has everything that nodes read or write an address? Who writes nobody knows where may write
    /// over anything. A step may read what lies behind the names that its nodes read.
    bool all_have_addresses() const {
        const auto known = [this](std::int32_t t) {
            return t == no_tensor || view_.at(t).data != nullptr || elements(view_.at(t)) == 0;
        };
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            const tensor& t = view_.node(i);
            if (!known(view_.nodes[i]) || !std::all_of(t.src, t.src + source_slots(t), known))
                return false;
        }
        for (std::int32_t s = 0; s < steps(); ++s)
            if (plan_.missing(s) >= 0) return false;
        return true;
    }

    const std::unordered_set<std::uint64_t>& bounds() {
        if (!bounds_.empty()) return bounds_;
        bounds_.reserve(at(view_.tensor_count));
        for (std::int32_t t = 0; t < view_.tensor_count; ++t) {
            const region& r = regions_[at(t)];
            if (r.empty() || (view_.at(t).weight && view_.at(t).kind == op::none)) continue;
            bounds_.insert(r.begin);
            bounds_.insert(r.end);
            bounds_.insert(values_of(t).end);
            bounds_.insert(engine_order::scratch_behind(r, view_.at(t)).end);
        }
        return bounds_;
    }

    void find_weights() {
        for (std::int32_t t = 0; t < view_.tensor_count; ++t)
            if (view_.at(t).weight && view_.at(t).kind == op::none && !regions_[at(t)].empty())
                weights_.add(regions_[at(t)].begin, regions_[at(t)].end);
        weights_.sort();
    }

    void launch(std::int32_t s, const engine_order& engine, memory& now, row_launch& rows,
                group_launch& groups) {
        const step& one = step_of(s);
        const row& r = plan_.rows().rows[one.row];
        const std::int32_t stream = view_.node(one.launch_at).stream;
        const step_args a = plan_.args(s, reinterpret_cast<void*>(workspace_at));
        const bool by_row = a.kind == skeleton::row;
        if (a.of_heads())
            rows.run(one, r, a.heads, stream);
        else if (a.of_routing())
            rows.run(one, r, a.route, stream);
        else if (by_row)
            rows.run(one, r, a.row, stream);
        else
            groups.run(one, r, a, stream);
        const launch_record& replay = by_row ? static_cast<launch_record&>(rows) : groups;
        ++out_.steps;
        out_.reads += static_cast<std::int64_t>(replay.reads.size() + replay.activations.size());
        if (replay.wrong)
            return fail(s, one.launch_at, replay.wrong.byte, replay.wrong.why,
                        replay.wrong.operand);
        for (const touched& e : replay.early) {
            early_.push_back(e);
            early_step_.push_back(s);
        }
        const bool one_norm = by_row && !a.of_heads() && !a.of_routing() && a.row.rows == 1 &&
                              has_norm(r.computes.row().stages) &&
                              reads_before_it_writes(r.policy.row());
        const bool at_once = one_norm || (a.of_routing() && a.route.tokens == 1);
        if (!at_once) check_reads(s, replay);
        if (ok()) check_results(s, replay);
        if (ok()) store_results(s, engine, now, replay);
        if (ok()) store_slots(s, stream, replay);
    }

    /// Threads of one launch run in any order: what one writes, another must not read.
    void check_reads(std::int32_t s, const launch_record& replay) {
        for (const result_of_step& w : replay.results)
            for (std::size_t i = 0; i < replay.reads.size(); ++i) {
                const touched& t = replay.reads[i];
                const bool before = t.by_element && w.first_read <= i && i < w.end_read &&
                                    w.where.same_elements(t.where);
                if (w.where.overlaps(t.where) && !before)
                    return fail(s, step_of(s).launch_at, w.where.begin,
                                "is written over by the same launch", t.name);
            }
    }

    void check_results(std::int32_t s, const launch_record& replay) {
        for (const result_of_step& w : replay.results)
            for (const result_of_step& o : replay.results)
                if (&o != &w && o.where.overlaps(w.where))
                    return fail(s, step_of(s).launch_at, w.where.begin,
                                "lies over another result of the launch", w.name);
    }

    /// Does a node write a state behind its values, which a launch may keep elsewhere? Who reads it
    /// here then finds that it was not written.
    bool leaves_state(std::int32_t n) const { return source_of_values(view_.node(n).kind) >= 0; }

    /// The values of a tensor, without the state that is left behind them.
    region values_of(std::int32_t named) const {
        const region& all = regions_[at(named)];
        const tensor& t = view_.at(named);
        const int like = source_of_values(t.kind);
        if (like < 0 || t.src[like] == no_tensor) return all;
        return rows_at(all.begin, elements(view_.at(t.src[like])), 1, 0);
    }

    void store_results(std::int32_t s, const engine_order& engine, memory& now,
                       const launch_record& replay) {
        const step& one = step_of(s);
        const array_view<std::int32_t> covered = plan_.covered(one);
        for (const result_of_step& w : replay.results) {
            const auto is = [&](std::int32_t n) {
                return engine.acts(n) && values_of(view_.nodes[n]).same_elements(w.where) &&
                       !plan_.at(n).elided;
            };
            const std::int32_t* const n = std::find_if(covered.begin(), covered.end(), is);
            if (n == covered.end())
                return fail(s, one.launch_at, w.where.begin, "is the result of no node of its own",
                            w.name);
            const value made = leaves_state(*n) ? part_of(engine.made(*n),
                                                          regions_[at(view_.nodes[*n])], w.where, 0)
                                                : engine.made(*n);
            if (made != w.what)
                return fail(s, *n, w.where.begin, "is not the value of that node", w.name);
            if (overlaps_itself(view_.node(*n)))
                return fail(s, *n, w.where.begin, "has elements that share bytes", w.name);
            now.store(w.where, static_cast<memory::write>(engine_order::result(*n)));
            ++out_.results;
        }
        for (const std::int32_t n : covered)
            if (engine.acts(n) && !plan_.at(n).elided && !leaves_state(n) &&
                engine.found(now, view_.nodes[n]) != engine_order::result(n))
                return fail(s, n, regions_[at(view_.nodes[n])].begin, "is not written by its step");
    }

    void store_slots(std::int32_t s, std::int32_t stream, const launch_record& replay) {
        const step& one = step_of(s);
        const auto overlap = [](const slot_content& a, const slot_content& b) {
            return a.begin < b.end && b.begin < a.end;
        };
        for (const slot_content& c : replay.activations)
            if (c.stream != stream)
                return fail(s, one.launch_at, workspace_at + c.begin,
                            "was written on another stream", "the activation");
        for (const slot_content& w : replay.quantized) {
            const auto wrong = [&](const char* why) {
                fail(s, one.launch_at, workspace_at + w.begin, why, "a quantized result");
            };
            if (w.end < w.begin || w.end > static_cast<std::uint64_t>(plan_.workspace_bytes()))
                return wrong("is not in the workspace");
            for (const slot_content& c : replay.activations)
                if (overlap(w, c))
                    return wrong("lies over the activation that the same launch reads");
            for (const slot_content& o : replay.quantized)
                if (&o != &w && overlap(w, o)) return wrong("lies over another one of the launch");
            const auto gone = [&](const slot_content& c) { return overlap(c, w); };
            for (const slot_content& c : workspace_)
                if (gone(c) && c.stream != stream) return wrong("lies over one of another stream");
            workspace_.erase(std::remove_if(workspace_.begin(), workspace_.end(), gone),
                             workspace_.end());
        }
        workspace_.insert(workspace_.end(), replay.quantized.begin(), replay.quantized.end());
        out_.slots += static_cast<std::int64_t>(replay.quantized.size());
    }

    /// May somebody outside the view read what a node makes, or names? What it writes in place, of
    /// what a node of the view made, is read by who names that.
    bool read_outside(std::int32_t i, const std::vector<std::int32_t>& named,
                      const std::vector<std::int32_t>& maker) const {
        const tensor& t = view_.node(i);
        const std::int32_t into = launches_nothing(t.kind) ? no_tensor : t.view_src;
        const std::int32_t made = into == no_tensor ? -1 : maker[at(into)];
        const bool in_place =
            into != no_tensor && (made < 0 || made == i || read_outside(made, named, maker));
        return in_place || t.uses == unknown_uses || t.uses == 0 ||
               t.uses > named[at(view_.nodes[i])] || (t.flags & flag_output) != 0;
    }

    /// What somebody may read after the graph is there: results that the engine's order leaves
    /// whole. Others gave their memory away, so nobody reads them.
    void check_end(const engine_order& engine, const memory& now) {
        std::vector<std::int32_t> named(at(view_.tensor_count), 0), maker(named.size(), -1);
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            const tensor& t = view_.node(i);
            const std::int32_t of = named_by(t);
            maker[at(view_.nodes[i])] = engine.acts(i) ? i : of == no_tensor ? -1 : maker[at(of)];
            for (int s = 0, slots = source_slots(t); s < slots; ++s)
                if (t.src[s] != no_tensor) ++named[at(t.src[s])];
        }
        for (std::int32_t i = 0; i < view_.node_count && ok(); ++i) {
            const std::int32_t t = view_.nodes[i], by = maker[at(t)];
            if (by < 0 || regions_[at(t)].empty() || !read_outside(i, named, maker)) continue;
            const std::uint64_t left = engine_order::result(by);
            if (engine.found(engine.left, t) == left && engine.found(now, t) != left)
                fail(-1, i, regions_[at(t)].begin,
                     "does not leave the value that somebody may read");
        }
    }

    /// Nobody writes what is read early.
    void check_early(const engine_order& engine, const memory& now) {
        for (std::size_t i = 0; i < early_.size() && ok(); ++i) {
            const region& r = early_[i].where;
            if (!weights_.hold(r) || engine.left.touched(r.begin, r.end) ||
                now.touched(r.begin, r.end))
                fail(early_step_[i], step_of(early_step_[i]).launch_at, r.begin,
                     "is read early, and is no constant", early_[i].name);
        }
    }
};

}  // namespace proof

verification verify(const graph_view& view, const plan& made) {
    verification out;
    tensor_places places;
    std::vector<std::int32_t> position;
    out.state = check_fields(view, places);
    if (out.state.ok()) out.state = check_nodes(view, position);
    if (!out.state.ok()) return out;
    std::vector<std::uint8_t> taken = moe_ffns(view);
    if (!made.contents().written_out || taken.empty()) return proof::verifier(view, made).run();
    for (std::size_t i = 0; i < taken.size(); ++i)
        if (made.at(static_cast<int>(i)).role == role::engine) taken[i] = 0;
    written_out nodes;
    nodes.build(view, taken);
    const graph_view inside = nodes.view();
    const plan& launched = *made.contents().written_out;
    if (made.size() != view.size() || !proof::same_walk(nodes, launched, made)) {
        out.state = failure(status_code::wrong_plan,
                            "the plan is wrong: it does not launch at the engine's nodes what its "
                            "steps launch at the nodes that MOE_FFNs stand for");
        return out;
    }
    return proof::verifier(inside, launched).run();
}

}  // namespace CATENA_NAMESPACE
