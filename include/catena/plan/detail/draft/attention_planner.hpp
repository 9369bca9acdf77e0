// Attention of few tokens becomes a step with the heads on their way to it. It is drafted before
// all other steps, which then find its heads taken.
#pragma once

#include "catena/match/detail/attention_finder.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace CATENA_NAMESPACE {

class attention_planner : drafter {
  public:
    explicit attention_planner(draft& drafted) : drafter(drafted), find_(g_) {}

    /// Tries the attention at a FLASH_ATTN_EXT.
    void plan(std::int32_t node) {
        if (known_.attention < 0) return;
        found_attention found = find_.of(node);
        nearest_ = {};
        obstacle why = found.why;
        if (!why.found() && choices_.same_bits()) why = {node, reason::attention_same_bits};
        if (!why.found()) why = step(found);
        why.node = node;
        if (why.found()) draft_.leave(why, nearest_);
    }

  private:
    const attention_finder find_;
    rejection nearest_;

    /// May the launch of their matrices turn the heads, in next to no time?
    bool turned_where_made(const std::vector<head_chain>& all) const {
        if (known_.turned < 0) return false;
        const format_set turned = chain::weights_of(known_.rows.rows().chains[known_.turned]);
        std::vector<std::int32_t> matrices;
        for (const head_chain& h : all) {
            const std::int32_t made = matrix_of(h.x);
            const bool plain = h.norm < 0 && h.tokens == 1 && made >= 0;
            if (!plain || !turned.has(weight_type(view_, made))) return false;
            matrices.push_back(made);
        }
        std::sort(matrices.begin(), matrices.end());
        return std::adjacent_find(matrices.begin(), matrices.end()) == matrices.end();
    }
    /// The MUL_MAT whose result a value is, or of which it is the sum with something, or -1.
    std::int32_t matrix_of(std::int32_t value) const {
        std::int32_t made = g_.position(g_.root(value));
        if (made >= 0 && g_.kind(made) == op::add) made = g_.position(view_.node(made).src[0]);
        return made >= 0 && g_.kind(made) == op::mul_mat ? made : -1;
    }

    /// Should the launch take less time than one of the heads and the engine's own attention?
    obstacle slower(const row_problem& what, const found_attention& of) {
        std::vector<head_chain> written = of.values;
        written.front().written = true;
        const row_problem alone = problem_of(view_, written);
        const engine_model& engine = engine_of(view_);
        const bool one = of.values.front().tokens == 1;
        const double engine_us = one ? engine.attention_us : engine.attention_of_few_us;
        if (engine_us == 0) return {};
        const double bytes = static_cast<double>(bytes_of(what));
        expected_time apart;
        if (!turned_where_made(of.values) && choices_.pick(alone).row >= 0)
            apart = choices_.time(alone);
        for (double* us : {&apart.us, &apart.model_us})
            *us += engine_us + bytes / known_.rows.rows().limits().bytes_per_us;
        const auto [inside_us, apart_us] = comparable(choices_.time(what), apart);
        if (inside_us < apart_us) return {};
        return {of.by.node, reason::attention_slower, static_cast<std::int64_t>(inside_us * 1000),
                static_cast<std::int64_t>(apart_us * 1000)};
    }

    obstacle step(found_attention& of) {
        const row_problem what = problem_of(view_, of.by, of.values);
        const picked& row = choices_.pick(what);
        nearest_ = row.nearest;
        if (row.row >= 0)
            if (const obstacle no = slower(what, of); no.found()) return no;
        const obstacle why = draft_row(what, of.by.node, [&](attempt& tried) {
            cover_attention(g_, of.by, of.values, tried.trial());
        });
        if (why.found()) return why;
        match m;
        m.stages = what.needs.stages;
        m.node = of.by.node;
        m.activation = view_.nodes[m.node];
        m.stream = view_.node(m.node).stream;
        m.f32_needed = true;
        m.values = std::move(of.values);
        m.attended = of.by;
        add_made(known_.attention, std::move(m));
        if (has_norm(what.needs.stages))
            draft_.activations.back().norm_apart = {of.by.node, reason::norm_of_heads};
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
