// What a table answers for the problems of a graph: which row serves a problem, in which layout a
// matmul on its own reads, and under which chain a match is reported. Layers repeat, so answers are
// remembered.
#pragma once

#include "catena/pick/pick.hpp"
#include "catena/pick/verdict.hpp"
#include "catena/plan/detail/find/expected_time.hpp"
#include "catena/plan/detail/find/keys.hpp"
#include "catena/plan/detail/find/premises.hpp"
#include "catena/plan/detail/find/request.hpp"

namespace CATENA_NAMESPACE {

/// How a matmul runs on its own. If no row serves it, `nearest` says why. `verdict`: the table's
/// verdict for the engine on it, or -1. A verdict is one for so many columns, so there is none
/// where bits must not depend on these.
struct lone_launch {
    skeleton kind = skeleton::matvec;
    format layout = format::unknown;
    rejection nearest;
    std::int32_t verdict = -1;
};

class choices {
  public:
    choices(const graph_view& view, const premises& known) : view_(view), known_(known) {}

    const picked& pick(const row_problem& p) { return picked_for(p, row_picks_); }
    const picked& pick(const product_problem& p) { return picked_for(p, product_picks_); }
    const picked& pick(const problem& asked) {
        return asked.visit([this](const auto& p) -> const picked& { return pick(p); });
    }

    /// Does a row serve the problem? Groups ask it of each member that joins, and pick when all
    /// have joined: that takes longer.
    bool serves(const product_problem& p) {
        return served_.of(
            p, [&] { return served(p, known_.rows, known_.asked.pick).why == limit::none; });
    }

    /// Must a column's bits not depend on the columns beside it?
    bool same_bits() const { return known_.asked.pick.same_bits; }

    template <class Problem>
    expected_time time(const Problem& p) {
        return expected_time(pick(p));
    }

    /// The problem of the matmul at a node with nothing else in its launch.
    product_problem lone_problem(std::int32_t node, skeleton kind, format layout) const {
        product_problem p = empty_group(view_, kind, layout, node);
        add_member(view_, p, plain_output(view_, node), false, true);
        return p;
    }

    /// The way to run the matmul at a node alone, in one of these layouts; of several the quickest.
    const lone_launch& alone(std::int32_t node, format_set layouts) {
        return lone_.of({view_, view_.node(node), layouts}, [&] {
            lone_launch best;
            const table& t = known_.rows.rows();
            const auto ask = [&](skeleton kind, format layout) {
                if (!layouts.has(layout)) return;
                const product_problem p = lone_problem(node, kind, layout);
                const bool tiles = kind == skeleton::matmul && tokens_of(p) < min_matmul_columns;
                // The bits of a matmul are not those of a matvec of other columns, and the host has
                // the rows of a GPU, not its speed.
                const bool barred = tiles && (same_bits() || t.limits().compute_capability == 0);
                const lone_launch way{kind, layout,
                                      barred ? rejection{.why = limit::few_columns,
                                                         .have = tokens_of(p),
                                                         .need = min_matmul_columns}
                                             : served(p, known_.rows, known_.asked.pick),
                                      -1};
                const auto takes = [&](const lone_launch& l) {
                    return time(lone_problem(node, l.kind, l.layout));
                };
                // A matmul may need a launch more, which writes its layout: few columns must be
                // surely quicker.
                const auto quicker = [&] {
                    const auto [us, now_us] = comparable(takes(way), takes(best));
                    return (tiles ? detail::sure_gain : 1) * us < now_us;
                };
                const auto better = [&] {
                    const limit now = best.nearest.why, then = way.nearest.why;
                    if (best.layout == format::unknown) return true;
                    if (now == limit::none)  // the quicker may be another one for other columns
                        return then == limit::none && !same_bits() && quicker();
                    return then == limit::none || then >= now;  // the later limit is the closer
                };
                if (better()) best = way;
            };
            ask(skeleton::matvec, format::f32);
            ask(skeleton::matvec, format::q8_1);
            for (const format layout : matmul_layouts(weight_type(view_, node)))
                ask(skeleton::matmul, layout);
            if (best.nearest.why == limit::none && t.verdict_count > 0 && !same_bits())
                best.verdict = verdict_on(t, lone_problem(node, best.kind, best.layout));
            return best;
        });
    }

    /// The chain of a family that lists the served readers of a match.
    std::int32_t chain_of(const family& f, const match& m) {
        read_set by{static_cast<std::int32_t>(&f - known_.families.data()), {}, {}};
        for (const reader& r : m.readers) {
            if (!r.servable()) continue;
            format_set& matrices = r.expert ? by.expert : by.dense;
            matrices = matrices | r.weight;
        }
        return chains_.of(by, [&] { return chain_for(f, by.dense, by.expert); });
    }

  private:
    const graph_view& view_;
    const premises& known_;
    memo<row_problem, picked> row_picks_;
    memo<product_problem, picked> product_picks_;
    memo<product_problem, bool> served_;
    memo<lone_matmul, lone_launch> lone_;
    memo<read_set, std::int32_t> chains_;

    template <class Problem>
    const picked& picked_for(const Problem& p, memo<Problem, picked>& known) {
        return known.of(p, [&] { return catena::pick(p, known_.rows, known_.asked.pick); });
    }
};

}  // namespace CATENA_NAMESPACE
