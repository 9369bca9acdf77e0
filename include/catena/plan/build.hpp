// Building a plan: matches are laid over the graph in node order; each becomes one row step and the
// steps of its matrices. What cannot be proved legal is made smaller or left to the engine, with
// the reason.
#pragma once

#include "catena/match/match.hpp"
#include "catena/plan/families.hpp"
#include "catena/plan/pick_cache.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/request.hpp"
#include "catena/plan/schedule.hpp"
#include "catena/plan/workspace.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace catena {

class plan_builder {
  public:
    plan_builder(const graph_index& g, const table& rows, const options& asked)
        : g_(g),
          view_(g.view),
          families_(families_of(rows, asked)),
          picks_(rows, asked.pick),
          schedule_(g) {
        for (int r = 0; r < rows.row_count; ++r)
            if (const computation& c = rows.rows[r].computes; c.kind == skeleton::matvec)
                sets_.push_back(c.weights);
    }

    /// Fills in everything but table, options and state.
    void build(plan& out) {
        for (std::int32_t i = 0; i < view_.node_count; ++i)
            if (const op kind = view_.node(i).kind; kind == op::rms_norm || kind == op::norm)
                plan_norm(i);
        for (std::int32_t i = 0; i < view_.node_count; ++i) plan_matmul(i);
        store(out);
    }

  private:
    /// A step with what is needed to write it down.
    struct draft {
        std::int32_t place = -1;  ///< index into places_
        problem what;
        picked pick;
        std::vector<std::int32_t> members;  ///< matvec: nodes, in node order
    };
    /// A chain that runs.
    struct place {
        std::int32_t chain = -1;
        match found;
        std::int32_t from = 0, until = 0;  ///< launch positions of its first and last step
    };

    const graph_index& g_;
    const graph_view& view_;
    std::vector<family> families_;
    std::vector<format_set> sets_;  // weight sets of the table's rows
    pick_cache picks_;
    schedule schedule_;
    std::vector<draft> drafts_;  // parallel to schedule_.steps()
    std::vector<place> places_;
    std::vector<left_over> left_;

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    void leave(const finding& f, const rejection& nearest = {}) {
        if (f.node >= 0) left_.push_back({f, nearest});
    }

    void plan_norm(std::int32_t node) {
        left_over why{{node, reason::no_chain}, {}};
        if (view_.node(node).kind == op::rms_norm) {
            for (const family& f : families_) {
                if (!f.common.norm) continue;
                match m = matcher(g_, f.common).at_norm(node);
                if (m.found() && m.add >= 0 && schedule_.covered(m.add))
                    m.why = {m.add, reason::taken};
                if (!m.found()) {
                    why = {m.why, {}};
                    continue;
                }
                const std::int32_t add = m.add;
                why = run(f, std::move(m));
                if (why.what.why == reason::none) return;
                if (add >= 0 && why.what.why == reason::overlap)
                    leave({add, reason::overlap, why.what.have});
            }
        }
        why.what.node = node;
        leave(why.what, why.nearest);
    }

    /// A quantized matmul that no norm serves: its activation is quantized on its own, once for all
    /// readers.
    void plan_matmul(std::int32_t node) {
        const tensor& t = view_.node(node);
        if ((t.kind != op::mul_mat && t.kind != op::mul_mat_id) || schedule_.covered(node)) return;
        if (t.src[0] == no_tensor || t.src[1] == no_tensor || elements(t) == 0) return;
        if (info(view_.at(t.src[0]).type).role != format_role::weight) return;
        left_over why{{node, reason::no_chain}, {}};
        const std::int32_t value = value_behind(view_, t.src[1]);
        for (const family& f : families_) {
            const reader r = read_of(view_, f.common, value, {node, 1});
            if (r.left.why != reason::none || f.common.length() > 0) {
                if (r.left.why != reason::none) why = {r.left, {}};
                continue;
            }
            match m = matcher(g_, f.common).at_value(value);
            why = m.found() ? run(f, std::move(m)) : left_over{m.why, {}};
            if (schedule_.covered(node)) return;
            if (why.what.why == reason::none) why = left_over{{node, reason::row_length}, {}};
        }
        why.what.node = node;
        leave(why.what, why.nearest);
    }

    /// Turns a match into steps. Returns why not, or reason::none.
    left_over run(const family& f, match m) {
        left_over last{{m.norm, reason::not_read}, {}};
        const int readers = m.servable();
        for (reader& r : m.readers) judge(f, r, last);
        m.f32_needed = f.common.length() > 0 &&
                       (m.f32_needed || m.servable() < static_cast<int>(m.readers.size()));
        if (m.servable() == 0) {
            if (last.what.why == reason::not_read && readers > 0)
                last.what = {m.norm, reason::none_served, readers};
            return last;
        }
        if ((m.f32_needed && !f.common.emits.has(format::f32)) ||
            (m.sum_needed && !f.common.sum_emits.has(format::f32)))
            return {{m.norm, reason::no_emit}, {}};

        draft row;
        row.place = static_cast<std::int32_t>(places_.size());
        row.what = row_problem(view_, f.common, m);
        row.pick = picks_.pick(row.what);
        if (row.pick.row < 0) return {{m.norm, reason::no_row}, row.pick.nearest};
        move step = row_move(f.common, m);
        if (const std::int32_t v = place_row(step, m); v >= 0)
            return {{m.norm, reason::overlap, v}, {}};

        place p;
        p.from = p.until = step.launch_at;
        accept(std::move(step), std::move(row));
        format_set dense, expert;
        for (const reader& r : m.readers) {
            if (!r.servable()) continue;
            format_set& served = r.expert ? expert : dense;
            served = served | view_.at(view_.node(r.node).src[0]).type;
        }
        p.chain = chain_for(f, dense, expert);
        p.found = std::move(m);
        places_.push_back(std::move(p));
        group(f.common, places_.back());
        return {};
    }

    /// Does a row serve this reader on its own? If not, it is left to the engine.
    void judge(const family& f, reader& r, left_over& last) {
        if (!r.servable()) return;
        if (schedule_.covered(r.node)) {
            r.left.why = reason::taken;
            return;
        }
        const tensor& t = view_.node(r.node);
        problem alone = matvec_problem(view_, f.common.activation, r.node);
        add_member(view_, alone, r.node);
        const picked p = picks_.pick(alone);
        if (p.row < 0) {
            r.left.why = reason::no_row;
            last = {r.left, p.nearest};
        } else if (t.buffer != no_buffer && r.expert &&
                   may_meet(g_, view_.nodes[r.node], t.src[2])) {
            r.left.why = reason::meets_own_input;
            last = {r.left, {}};
        }
    }

    move row_move(const pattern& chain, const match& m) const {
        move out;
        if (chain.length() == 0) {
            out.also_reads = m.x;
            for (const reader& r : m.readers) {
                if (!r.servable()) continue;
                out.launch_at = r.node;
                break;
            }
            return out;
        }
        if (m.add >= 0) out.nodes.push_back({m.add, !m.sum_needed, 0});
        out.nodes.push_back({m.norm, m.mul >= 0 || !m.f32_needed, m.add >= 0 ? 1u : 0u});
        if (m.mul >= 0)
            out.nodes.push_back(
                {m.mul, !m.f32_needed, view_.node(m.mul).src[0] == m.weight ? 2u : 1u});
        return out;
    }

    /// Finds a launch position for the row step among its own nodes, the last first. -1, or what
    /// forbids it.
    std::int32_t place_row(move& step, const match& m) const {
        if (step.nodes.empty()) return -1;
        if (const std::int32_t v = meets_itself(m); v >= 0) return v;
        std::int32_t blocked = -1;
        for (auto n = step.nodes.rbegin(); n != step.nodes.rend(); ++n) {
            step.launch_at = n->node;
            const std::int32_t v = schedule_.blocker(step);
            if (v < 0) return -1;
            if (blocked < 0) blocked = v;
        }
        return blocked;
    }

    /// The node whose output meets another operand of the same row step, if it is not element upon
    /// element.
    std::int32_t meets_itself(const match& m) const {
        const std::int32_t sum = m.sum_needed ? view_.nodes[m.add] : no_tensor;
        const std::int32_t value = m.f32_needed ? m.activation : no_tensor;
        for (const std::int32_t out : {sum, value}) {
            if (out == no_tensor) continue;
            for (const std::int32_t in : {m.x, m.residual})
                if (in != no_tensor && may_meet(g_, out, in) &&
                    !same_place(view_.at(out), view_.at(in)))
                    return g_.position(out);
            if (m.weight != no_tensor && may_meet(g_, out, m.weight)) return g_.position(out);
        }
        return sum != no_tensor && value != no_tensor && may_meet(g_, sum, value) ? g_.position(sum)
                                                                                  : -1;
    }

    void accept(move step, draft d) {
        schedule_.accept(std::move(step));
        drafts_.push_back(std::move(d));
    }

    /// Deals the servable readers of a place to launches: by kind (dense, or one set of expert
    /// ids), then by the listed set of formats that holds most, then by what is legal at the first
    /// member's position.
    void group(const pattern& chain, place& p) {
        std::vector<std::int32_t> left;
        for (const reader& r : p.found.readers)
            if (r.servable()) left.push_back(r.node);
        while (!left.empty()) {
            const std::vector<std::int32_t> kind = same_kind(left);
            const format_set set = largest_set(kind);
            std::vector<std::int32_t> taken = group_of(chain, p, kind, set);
            const auto gone = [&taken](std::int32_t n) {
                return std::find(taken.begin(), taken.end(), n) != taken.end();
            };
            left.erase(std::remove_if(left.begin(), left.end(), gone), left.end());
        }
    }

    std::vector<std::int32_t> same_kind(const std::vector<std::int32_t>& nodes) const {
        const tensor& first = view_.node(nodes.front());
        std::vector<std::int32_t> out;
        for (const std::int32_t n : nodes) {
            const tensor& t = view_.node(n);
            const bool ids = t.kind != op::mul_mat_id ||
                             (t.src[2] == first.src[2] &&
                              view_.at(t.src[1]).ne[1] == view_.at(first.src[1]).ne[1]);
            if (t.kind == first.kind && ids) out.push_back(n);
        }
        return out;
    }

    /// The rows' format set that holds most of these matrices; of equals the first in the table.
    format_set largest_set(const std::vector<std::int32_t>& nodes) const {
        format_set best;
        std::ptrdiff_t most = 0;
        for (const format_set s : sets_) {
            const std::ptrdiff_t n = std::count_if(
                nodes.begin(), nodes.end(),
                [&](std::int32_t node) { return s.has(view_.at(view_.node(node).src[0]).type); });
            if (n > most) best = s, most = n;
        }
        return best;
    }

    /// One launch out of `nodes`: the first in the set, and every later one that may join it there.
    std::vector<std::int32_t> group_of(const pattern& chain, place& p,
                                       const std::vector<std::int32_t>& nodes, format_set set) {
        move step;
        draft d;
        d.place = static_cast<std::int32_t>(places_.size()) - 1;
        std::vector<finding> apart;
        for (const std::int32_t n : nodes) {
            if (!set.has(view_.at(view_.node(n).src[0]).type)) continue;
            if (step.nodes.empty()) {
                step.launch_at = n;
                d.what = matvec_problem(view_, chain.activation, n);
            }
            if (d.what.member_count == max_members) break;
            const covered_node c{n, false, 2u};  // source 1 comes from the workspace
            step.nodes.push_back(c);
            if (const std::int32_t v = joins(step, c); v >= 0) {
                step.nodes.pop_back();
                apart.push_back({n, reason::group_split, v});
                continue;
            }
            problem larger = d.what;
            add_member(view_, larger, n);
            const picked pick = picks_.pick(larger);
            if (pick.row < 0) {  // alone it is served: it gets a launch of its own
                step.nodes.pop_back();
                continue;
            }
            d.what = larger;
            d.pick = pick;
            d.members.push_back(n);
        }
        for (const finding& f : apart) leave(f);
        p.until = std::max(p.until, step.launch_at);
        std::vector<std::int32_t> taken = d.members;
        accept(std::move(step), std::move(d));
        return taken;
    }

    /// May the last node of a group's step happen at its position, beside the others? -1, or what
    /// forbids it.
    std::int32_t joins(const move& step, const covered_node& c) const {
        if (const std::int32_t v = schedule_.blocker(step, c); v >= 0) return v;
        const std::int32_t dst = view_.nodes[c.node];
        for (const covered_node& other : step.nodes) {
            if (other.node == c.node) continue;
            const tensor& t = view_.node(other.node);
            if (may_meet(g_, dst, view_.nodes[other.node])) return other.node;
            if (t.kind == op::mul_mat_id && may_meet(g_, dst, t.src[2])) return other.node;
        }
        const tensor& t = view_.node(c.node);
        if (t.kind == op::mul_mat_id && step.nodes.size() > 1 &&
            may_meet(g_, view_.nodes[step.nodes.front().node], t.src[2]))
            return step.nodes.front().node;
        return -1;
    }

    inline void store(plan& out);
    inline void store_step(plan& out, std::int32_t index) const;
};

}  // namespace catena

#include "catena/plan/store.hpp"
