// Building a plan: matches are laid over the graph in node order; each becomes one row step and the
// steps of its matrices. What cannot be proved legal is made smaller or left to the engine, with
// the reason.
#pragma once

#include "catena/match/detail/matcher.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/draft/attention_planner.hpp"
#include "catena/plan/detail/draft/convolution_planner.hpp"
#include "catena/plan/detail/draft/delta_rule_planner.hpp"
#include "catena/plan/detail/draft/group.hpp"
#include "catena/plan/detail/draft/head_planner.hpp"
#include "catena/plan/detail/draft/inside.hpp"
#include "catena/plan/detail/draft/route_planner.hpp"
#include "catena/plan/detail/draft/scan_planner.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class plan_builder : drafter {
  public:
    explicit plan_builder(draft& drafted)
        : drafter(drafted),
          judge_(g_, draft_.accepted, known_, choices_, sums_),
          weigh_(g_, draft_.accepted, choices_),
          outputs_(drafted),
          trial_(drafted, outputs_, judge_, weigh_),
          groups_(drafted, outputs_, trial_),
          inside_(drafted, outputs_, trial_, groups_, weigh_),
          attention_(drafted, judge_, groups_),
          heads_(drafted),
          convolutions_(drafted),
          delta_rules_(drafted),
          scans_(drafted),
          routes_(drafted) {}

    /// Drafts all steps, and says what stays with the engine.
    void build() {
        for (std::int32_t i = 0; i < view_.node_count; ++i)
            if (g_.kind(i) == op::flash_attn_ext) attention_.plan(i);
        const auto open = [this](std::int32_t i) { return !draft_.covered(i) && !given(i); };
        for (std::int32_t i = 0; i < view_.node_count; ++i) {
            switch (g_.kind(i)) {
                case op::rms_norm:
                    if (open(i)) heads_.plan_behind(i);
                    [[fallthrough]];
                case op::norm:
                    if (open(i)) plan_norm(i);
                    break;
                case op::rope:
                case op::set_rows:
                case op::concat:
                    if (open(i)) heads_.plan(i);
                    break;
                case op::flash_attn_ext:
                    attention_.group(i);
                    break;
                case op::ssm_conv:
                    convolutions_.plan(i);
                    break;
                case op::gated_delta_net:
                    delta_rules_.plan(i);
                    break;
                case op::ssm_scan:
                    scans_.plan(i);
                    break;
                case op::argsort:
                    routes_.plan(i);
                    break;
                case op::unary:
                    if (open(i)) routes_.plan_behind(i);
                    [[fallthrough]];
                case op::glu:
                case op::mul:
                case op::sqr:
                case op::cont:
                    if (open(i)) plan_gated(i);
                    break;
                case op::mul_mat:
                case op::mul_mat_id:
                    if (open(i))
                        plan_matmul(i);
                    else if (!draft_.covered(i))
                        draft_.leave(given_.at(i));
                    break;
                default:
                    break;
            }
        }
        for (const left_over& l : refused_)
            if (!draft_.covered(l.what.node)) draft_.leave(l.what, l.nearest);
    }

  private:
    reader_judge judge_;
    weigher weigh_;
    output_finder outputs_;
    group_trial trial_;
    grouper groups_;
    inside_fuser inside_;
    attention_planner attention_;
    head_planner heads_;
    convolution_planner convolutions_;
    delta_rule_planner delta_rules_;
    scan_planner scans_;
    route_planner routes_;
    std::unordered_map<std::int32_t, obstacle> given_;  // nodes that the engine does faster

    /// Nodes at which no step begins, and why. A step that is drafted later may cover them.
    std::vector<left_over> refused_;

    /// Readers of a value that no step took. Behind many of them only the next are looked at, not
    /// all: else time would grow with the square of their number.
    std::unordered_map<std::int32_t, std::int32_t> left_readers_;

    bool given(std::int32_t node) const { return !given_.empty() && given_.count(node) != 0; }

    site site_of(const family& f, std::int32_t node) {
        return {g_, view_, f.common, sums_, node, draft_.accepted.actions()};
    }

    /// Is it a MUL of which no factor is the result of a UNARY?
    bool mere_product(std::int32_t node) const {
        const auto by_unary = [&](std::int32_t factor) {
            if (factor == no_tensor) return false;
            const std::int32_t maker = g_.position(value_behind(view_, factor));
            return maker >= 0 && g_.kind(maker) == op::unary;
        };
        const tensor& t = view_.node(node);
        return t.kind == op::mul && !by_unary(t.src[0]) && !by_unary(t.src[1]);
    }

    /// Does a matmul read the value, by any name and as any operand?
    bool read_by_matmul(std::int32_t value) const {
        const std::int32_t root = g_.root(value);
        return g_.read_by(root, op::mul_mat) || g_.read_by(root, op::mul_mat_id);
    }

    /// Does an engine compute the value in one launch? Of values that are no norm this is assumed.
    bool engine_needs_one(const match& m) const {
        return !has_norm(m.stages) || engine_of(view_).launches(view_, m) < 2;
    }

    void plan_norm(std::int32_t node) {
        left_over why{{node, reason::no_chain}, {}};
        for (const family& f : known_.families) {
            const site here = site_of(f, node);
            if (!has_norm(f.common.stages) || !may_fit(here)) continue;
            if (given(node)) break;
            match m = place_at(here);
            if (m.why.why == reason::taken) continue;
            if (!m.found()) {
                const bool weight = f.common.has(stage_kind::mul_weight);
                const bool closer = weight || why.what.why == reason::no_chain;
                if (closer && why.what.why != reason::none_served) why = {m.why, {}};
                continue;
            }
            const std::int32_t sum = m.sum;
            const left_over now = run(f, std::move(m));
            if (!now.what.found()) return;
            if (sum >= 0 && now.what.why == reason::overlap)
                draft_.leave({sum, reason::overlap, now.what.have});
            const bool said = why.what.why != reason::no_chain;
            if (!said || now.what.why != reason::not_read) why = now;
        }
        why.what.node = node;
        refused_.push_back(why);
    }

    void plan_gated(std::int32_t node) {
        const op kind = g_.kind(node);
        const bool alone = kind == op::unary || kind == op::sqr || kind == op::cont;
        if (engine_fuses(g_, node)) return refused_.push_back({{node, reason::engine_fuses}, {}});
        if (!read_by_matmul(view_.nodes[node]) && (alone || mere_product(node))) return;
        for (const family& f : known_.families) {
            const site here = site_of(f, node);
            if (!f.common.has(stage_kind::glu) || !may_fit(here)) continue;
            if (given(node)) break;
            match m = place_at(here);
            const bool known = m.found() || m.why.why != reason::no_gate;
            const left_over why = m.found() ? run(f, std::move(m)) : left_over{m.why, {}};
            if (!why.what.found()) return;
            if (alone && (!known || why.what.why == reason::not_read)) return;  // a gate, say
            if (known)
                refused_.push_back(
                    {{node, why.what.why, why.what.have, why.what.need}, why.nearest});
        }
    }

    /// A matmul that no chain serves. If its weights are quantized, its activation is quantized on
    /// its own, once for all readers; float weights read it as it is.
    void plan_matmul(std::int32_t node) {
        const tensor& t = view_.node(node);
        if (t.src[0] == no_tensor || t.src[1] == no_tensor || elements(t) == 0) return;
        const format weight = weight_type(view_, node);
        const bool float_weights = is_float(weight) && g_.constant(t.src[0]);
        if (!float_weights && info(weight).role != format_role::weight) return;
        left_over why{{node, reason::no_chain}, {}};
        const std::int32_t value = value_behind(view_, t.src[1]);
        std::int32_t& left = left_readers_[value];
        const bool few = left < readers_together;
        const std::int32_t from = few ? 0 : node;
        const std::int32_t most = few ? matcher::all_readers : readers_together;
        for (const family& f : known_.families) {
            if (!f.common.stages.empty()) continue;
            if (const reader r = read_of(view_, f.common, value, {node, 1}); !r.servable()) {
                why = {r.left, {}};
                continue;
            }
            if (!g_.constant(t.src[0])) {
                why = {{node, reason::weight_not_leaf}, {}};
                continue;
            }
            match m = matcher(g_, f.common).at_value(value, from, most);
            m.readers.erase(m.readers.begin(),
                            std::find_if(m.readers.begin(), m.readers.end(),
                                         [node](const reader& o) { return o.node >= node; }));
            why = m.found() ? settle(f, std::move(m)) : left_over{m.why, {}};
            if (draft_.covered(node)) return;
            if (given(node)) {
                why = {given_.at(node), {}};
                break;
            }
            if (!why.what.found()) why = left_over{{node, reason::row_length}, {}};
        }
        ++left;
        why.what.node = node;
        refused_.push_back(why);
    }

    /// Turns a match without its readers into steps, if a matmul is among them or an engine needs
    /// several launches for it. Returns why not, or reason::none.
    left_over run(const family& f, match&& m) {
        const auto covered_aside = [this](const taken_node& n) {
            return n.aside && draft_.covered(n.node);
        };
        if (std::any_of(m.taken.begin(), m.taken.end(), covered_aside))
            return {{m.node, reason::no_gate}, {}};
        if (!read_by_matmul(m.activation) && engine_needs_one(m))
            return {{m.node, reason::not_read}, {}};
        matcher(g_, f.common).read(m);
        return settle(f, std::move(m));
    }

    /// Turns a match with its readers into steps, unless the engine is known to be faster: for so
    /// many columns, so not where bits must not depend on these.
    left_over settle(const family& f, match&& m) {
        const bool contested = known_.rows.rows().engine_count > 0 && !choices_.same_bits();
        return contested ? contest(f, std::move(m)) : serve(f, std::move(m));
    }

    left_over serve(const family& f, match&& m) {
        left_over last{{m.node, reason::not_read}, {}};
        const bool by_engine = m.stages.empty();
        if (by_engine) m.f32_needed = false;  // it is there
        judge_.judge_all(f.common, m, last);
        for (const reader& r : m.readers)
            if (r.left.why == reason::engine_faster_in_models) given_[r.node] = r.left;
        const bool read = m.servable() > 0;
        if (!read && engine_needs_one(m)) {
            const auto multiplies = [](const reader& r) {
                return r.left.why != reason::not_activation && r.left.why != reason::plain_weight;
            };
            const auto matmuls = std::count_if(m.readers.begin(), m.readers.end(), multiplies);
            if (last.what.why == reason::not_read && matmuls > 0)
                last.what = {m.node, reason::none_served, matmuls};
            return last;
        }
        const auto any = [&m](auto&& reads) {
            return std::any_of(m.readers.begin(), m.readers.end(), reads);
        };
        const auto elsewhere = [](const reader& r) { return !r.servable(); };
        const auto as_it_is = [](const reader& r) { return r.float_weight(); };
        const bool by_others =
            !by_engine && (m.f32_needed || any(elsewhere));  // than float weights
        m.f32_needed = by_others || (!by_engine && any(as_it_is));
        if ((m.f32_needed && !f.common.emits.has(format::f32)) ||
            (m.sum_needed && !f.common.sum_emits.has(format::f32)))
            return {{m.node, reason::no_emit}, {}};

        if (by_engine && m.layouts().empty()) {  // float weights alone read it
            groups_.group(f, draft_.add_activation(choices_.chain_of(f, m), std::move(m), -1));
            return {};
        }
        const obstacle apart =
            read ? inside_.fuse(f, m, by_others) : obstacle{m.node, reason::norm_shared};
        return !apart.found() ? left_over{} : add_row(f, std::move(m), apart);
    }

    /// The row step of a match, and the steps of its readers; `apart`: why these do not make it.
    left_over add_row(const family& f, match&& m, const obstacle& apart) {
        const row_problem what = problem_of(view_, m, m.layouts());
        const auto cover = [&](attempt& tried) {
            const row& by = known_.rows.rows().rows[tried.step().row];
            tried.trial().row = true;
            tried.trial().at_once =
                what.rows == 1 && has_norm(m.stages) && reads_before_it_writes(by.policy.row());
            cover_row(g_, m, tried.trial());
            if (!m.layouts().empty()) tried.writes(m);
        };
        const obstacle why = draft_row(what, m.node, cover);
        if (why.why == reason::no_row) return {why, choices_.pick(what).nearest};
        if (why.found()) return {why, {}};
        const bool norm = has_norm(m.stages);
        const std::int32_t made = add_made(choices_.chain_of(f, m), std::move(m));
        if (norm) draft_.activations.back().norm_apart = apart;
        groups_.group(f, made);
        return {};
    }

    /// Compares a chain with the engine's own kernels. If the table knows from a benchmark that
    /// they do in less time what the steps of the chain would do, the chain is left to the engine:
    /// the value of the match, its readers, and what those quantize and who reads that. The plan is
    /// drafted first and looked up then, because only the steps say what they compute.
    left_over contest(const family& f, match&& m) {
        const draft::mark before = draft_.here();
        const std::int32_t node = m.node;
        left_over why = serve(f, std::move(m));
        if (why.what.found()) return why;
        std::uint64_t key = 0;
        for (std::size_t i = before.steps; i < draft_.steps.size(); ++i)
            key += choices_.pick(draft_.steps[i].what).key;
        const table& t = known_.rows.rows();
        const engine_median* const end = t.engine + t.engine_count;
        const engine_median* const found = std::lower_bound(
            t.engine, end, key,
            [](const engine_median& e, std::uint64_t steps) { return e.steps < steps; });
        if (found == end || found->steps != key || found->engine_us >= found->catena_us) return why;

        const auto ns = [](float us) { return static_cast<std::int64_t>(us * 1000); };
        why.what = {node, reason::engine_faster, ns(found->catena_us), ns(found->engine_us)};
        const auto& accepted = draft_.accepted.steps();
        for (std::size_t i = before.steps; i < accepted.size(); ++i)
            for (const covered_node& c : draft_.accepted.nodes(accepted[i]))
                given_[c.node] = {c.node, why.what.why, why.what.have, why.what.need};
        draft_.back_to(before);
        return why;
    }
};

}  // namespace CATENA_NAMESPACE
