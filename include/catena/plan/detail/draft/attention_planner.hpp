// Attention of few tokens becomes a step with the heads on their way to it. It is drafted before
// all other steps, which then find its heads taken.
#pragma once

#include "catena/match/detail/attention_finder.hpp"
#include "catena/match/detail/matcher.hpp"
#include "catena/plan/detail/draft/group.hpp"
#include "catena/plan/detail/find/head_request.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace CATENA_NAMESPACE {

class attention_planner : drafter {
  public:
    attention_planner(draft& drafted, reader_judge& judge, grouper& groups)
        : drafter(drafted), find_(g_), judge_(judge), groups_(groups) {}

    /// Tries the attention at a FLASH_ATTN_EXT.
    void plan(std::int32_t node) {
        if (known_.attention < 0) return;
        found_attention found = find_.of(node);
        nearest_ = {};
        obstacle why = found.why;
        if (!why.found() && choices_.same_bits()) why = {node, reason::attention_same_bits};
        if (!why.found()) why = step(std::move(found));
        why.node = node;
        if (why.found()) draft_.leave(why, nearest_);
    }

    /// Groups the matrices that read what the step at a FLASH_ATTN_EXT makes.
    void group(std::int32_t node) {
        if (const auto found = read_.find(node); found != read_.end())
            groups_.group(*known_.readers_of_attention(), found->second);
    }

  private:
    const attention_finder find_;
    reader_judge& judge_;
    grouper& groups_;
    rejection nearest_;
    std::unordered_map<std::int32_t, std::int32_t> read_;  // activations of matrices, by node

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

    /// Do the matrices that read a value quantize it themselves, in less time than attention and
    /// one launch of theirs would take that reads q8_1?
    bool quantized_where_read(const match& m) {
        product_problem read;
        for (const reader& r : m.readers) {
            if (!r.quantized()) continue;
            if (read.member_count == max_members) return false;
            if (read.member_count == 0)
                read = empty_group(view_, skeleton::matvec, format::q8_1, r.node);
            add_member(view_, read, plain_output(view_, r.node), false, true);
        }
        const row_problem quantizes = problem_of_attention(view_, m);
        product_problem inside = read;
        row_problem writes = quantizes;
        inside.needs.activation = format::f32;
        writes.needs.emits = (writes.needs.emits | format::f32).without(m.layouts());
        writes.quant_k = 0;
        return shorter(choices_.time(writes) + choices_.time(inside),
                       choices_.time(quantizes) + choices_.time(read));
    }

    /// Is q8_1 what a reader would read if it could have any layout? Tiles may be surely quicker.
    bool reads_q8_1(const reader& r) {
        const format_set all = matmul_layouts(r.weight) | format::q8_1;
        return !r.quantized() || choices_.alone(r.node, all).layout == format::q8_1;
    }

    /// Should attention quantize its value for these readers?
    bool quantizes_for(const match& m) {
        const head_chain& queries = m.values.front();
        return m.quant_k == queries.k * queries.count &&
               std::all_of(m.readers.begin(), m.readers.end(),
                           [this](const reader& r) { return reads_q8_1(r); }) &&
               choices_.pick(problem_of_attention(view_, m)).row >= 0 && !quantized_where_read(m);
    }

    /// The value of attention, with its readers if it is quantized for any. Those that read it as
    /// f32 and those that stay with the engine need that written. A table that has the engine's
    /// times lets the engine contest each matrix with what quantizes its activation, so attention
    /// does not do that.
    match value_of(found_attention&& of) {
        match m;
        m.node = of.by.node;
        m.activation = view_.nodes[m.node];
        m.stream = view_.node(m.node).stream;
        m.values = std::move(of.values);
        m.attended = of.by;
        m.f32_needed = true;
        m.stages = problem_of_attention(view_, m).needs.stages;
        const family* const readers = known_.readers_of_attention();
        if (readers == nullptr || known_.rows.rows().engine_count > 0) return m;
        matcher(g_, readers->common).read(m);
        left_over ignored;
        judge_.judge_all(readers->common, m, ignored);
        for (const reader& r : m.readers)
            m.f32_needed = m.f32_needed || !r.servable() || r.float_weight();
        if (quantizes_for(m)) return m;
        m.readers.clear();
        m.quant_k = 0;
        m.f32_needed = true;
        return m;
    }

    /// Should the launch take less time than one of the heads, the engine's own attention, and one
    /// that quantizes what that makes?
    obstacle slower(const row_problem& what, const match& m) {
        std::vector<head_chain> written = m.values;
        written.front().written = true;
        const row_problem alone = problem_of(view_, written);
        const engine_model& engine = engine_of(view_);
        const std::int64_t tokens = m.values.front().tokens;
        const double engine_us = tokens == 1 ? engine.attention_us : engine.attention_of_few_us;
        if (engine_us == 0) return {};
        const double bytes = static_cast<double>(bytes_of(what));
        expected_time apart;
        if (!turned_where_made(m.values) && choices_.pick(alone).row >= 0)
            apart = choices_.time(alone);
        for (double* us : {&apart.us, &apart.model_us})
            *us += engine_us + bytes / known_.rows.rows().limits().bytes_per_us;
        if (!m.layouts().empty()) {
            row_problem quantizes;
            quantizes.needs.emits = m.layouts();
            quantizes.k = quantizes.quant_k = m.quant_k;
            quantizes.rows = tokens;
            if (choices_.pick(quantizes).row >= 0) apart += choices_.time(quantizes);
        }
        const auto [inside_us, apart_us] = comparable(choices_.time(what), apart);
        if (inside_us < apart_us) return {};
        return {m.node, reason::attention_slower, static_cast<std::int64_t>(inside_us * 1000),
                static_cast<std::int64_t>(apart_us * 1000)};
    }

    obstacle step(found_attention&& of) {
        match m = value_of(std::move(of));
        const row_problem what = problem_of_attention(view_, m);
        const picked& row = choices_.pick(what);
        nearest_ = row.nearest;
        if (row.row >= 0)
            if (const obstacle no = slower(what, m); no.found()) return no;
        const obstacle why = draft_row(what, m.node, [&](attempt& tried) {
            cover_attention(g_, m, tried.trial());
            if (!m.layouts().empty()) tried.writes(m);
        });
        if (why.found()) return why;
        const std::int32_t node = m.node;
        const bool read = !m.readers.empty();
        const std::int32_t made = add_made(known_.attention, std::move(m));
        if (read) read_.emplace(node, made);
        if (has_norm(what.needs.stages))
            draft_.activations.back().norm_apart = {node, reason::norm_of_heads};
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
