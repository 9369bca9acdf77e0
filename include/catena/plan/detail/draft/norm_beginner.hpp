// Norms of two launches (kernel/args.hpp): the launch that makes a norm's input begins the norm,
// and those that multiply it end it. So no launch stands between them. With one column the readers
// make the whole norm, which takes as few launches (inside.hpp).
#pragma once

#include "catena/match/detail/matcher.hpp"
#include "catena/plan/detail/draft/attempt.hpp"
#include "catena/plan/detail/find/readers.hpp"
#include "catena/plan/detail/find/weigh.hpp"

#include <algorithm>
#include <optional>

namespace CATENA_NAMESPACE {

/// A norm that may begin where its input is made, and the family that lists its readers.
struct begun_norm {
    const family* of;
    match value;
};

class norm_beginner : drafter {
  public:
    norm_beginner(draft& drafted, reader_judge& judge, weigher& weigh)
        : drafter(drafted), judge_(judge), weigh_(weigh) {}

    /// The norm of an output that `group` may begin, if all who read it can end it and that takes
    /// less time than a launch between.
    std::optional<begun_norm> of(const product_problem& group, const output& o) {
        const std::int32_t norm = norm_behind(group, o);
        if (norm < 0) return std::nullopt;
        for (const family& f : known_.families) {
            const site here{g_, view_, f.common, sums_, norm, draft_.accepted.actions()};
            if (f.common.stages != made || !may_fit(here)) continue;
            match m = place_at(here);
            if (!m.found() || !fits(m, o)) continue;
            matcher(g_, f.common).read(m);
            if (read_by_all(f, m, tokens_of(group)) && weigh_.beginning_pays(m, group, o))
                return begun_norm{&f, std::move(m)};
        }
        return std::nullopt;
    }

  private:
    static constexpr stage_set made = stage_kind::rms_norm | stage_kind::mul_weight;

    reader_judge& judge_;
    weigher& weigh_;

    /// The norm that reads an output of so many columns, or -1.
    std::int32_t norm_behind(const product_problem& group, const output& o) const {
        const std::int64_t columns = tokens_of(group);
        const bool few =
            group.needs.kind == skeleton::matvec && columns > 1 && columns <= mma_columns;
        const bool whole = !o.renamed && group.expert == o.parts.has(epilogue_part::combine);
        if (!few || !whole || known_.asked.pick.same_bits) return -1;
        std::int32_t found = -1;
        for (const use& u : g_.readers(g_.root(o.result))) {
            if (g_.kind(u.node) != op::rms_norm) continue;
            if (found >= 0 || draft_.covered(u.node)) return -1;
            found = u.node;
        }
        return found;
    }

    /// Is it a norm and its weight, and of the output's rows?
    bool fits(const match& m, const output& o) const {
        const tensor& result = view_.at(o.result);
        const tensor& weight = view_.at(m.reads[operand::weight].tensor);
        return m.taken.size() == 2 && m.reads[operand::x].tensor == o.result &&
               m.reads[operand::x].offset == 0 && contiguous(result) &&
               view_.at(m.activation).ne[0] == result.ne[0] &&
               base_alignment(weight, m.reads[operand::weight].offset) >= 4 &&
               m.stream == view_.node(o.matmul).stream;
    }

    /// Are all readers dense matrices that can end the norm, each on its own?
    bool read_by_all(const family& f, match& m, std::int64_t columns) {
        left_over ignored;
        judge_.judge_all(f.common, m, ignored);
        const auto ends = [&](const reader& r) {
            if (!r.servable() || r.expert || r.layout != format::q8_1) return false;
            product_problem alone = choices_.lone_problem(r.node, skeleton::matvec, r.layout);
            alone.ends_norm = true;
            return r.served_by == skeleton::matvec && alone.columns == columns &&
                   alone.k == m.quant_k && choices_.serves(alone);
        };
        return !m.f32_needed && m.quant_k == view_.at(m.activation).ne[0] && !m.readers.empty() &&
               std::all_of(m.readers.begin(), m.readers.end(), ends);
    }
};

}  // namespace CATENA_NAMESPACE
