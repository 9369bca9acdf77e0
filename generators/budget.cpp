#include "budget.hpp"

#include "prediction.hpp"
#include "render_set.hpp"

#include "catena/pick/name.hpp"
#include "catena/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace catena::generator {

namespace {

/// For each row of the set, by index.
using row_flags = std::vector<bool>;

/// What a launch of the engine takes beside its floor: those of matmuls and of their activations
/// took 1.6 to 3.9 us more in decode steps of five models, on an H100 with ggml-cuda
/// (bench/results/steps.sm_90.2026-11-26.json).
constexpr double over_floor_us = 2;

struct graph_time {
    double us = 0;     ///< of a step of the graph
    row_flags picked;  ///< the rows that its plan launches
};

/// Weighs rows of a set by the graphs. A plan stays as it is when a row is dropped that it does not
/// launch, so only plans that launched the row are made anew.
class scale {
  public:
    scale(const instance_set& set, const catalogue& all, const std::vector<json::graph>& graphs)
        : set_(set), all_(all), kept_(set.rows.size(), true) {
        for (const json::graph& g : graphs) graphs_.push_back({&g, {}, timings(set.rows.size())});
    }

    const row_flags& kept() const { return kept_; }
    int plans() const { return plans_; }

    /// The share of its step that each graph loses without a row, summed.
    double worth(std::size_t row) {
        double out = 0;
        for (weighing_graph& g : graphs_) {
            const graph_time& now = known(g.now, g, kept_);
            if (now.picked[row]) out += known(g.without[row], g, but(row)).us / now.us - 1;
        }
        return out;
    }

    void drop(std::size_t row) {
        kept_[row] = false;
        const auto forget = [row](timing& t) {
            if (t && t->picked[row]) t.reset();
        };
        for (weighing_graph& g : graphs_) {
            forget(g.now);
            for (timing& t : g.without) forget(t);
        }
    }
    void take_back(std::size_t row) {
        kept_[row] = true;
        for (weighing_graph& g : graphs_) g.now.reset(), g.without = timings(kept_.size());
    }

    /// What the graphs gain by one row more.
    std::vector<left_out_row::gain> gains(std::size_t more) {
        std::vector<left_out_row::gain> out;
        for (weighing_graph& g : graphs_) {
            const double now = known(g.now, g, kept_).us, gained = now - time(g, but(more)).us;
            if (gained > 0) out.push_back({g.graph->file, gained, gained / now});
        }
        return out;
    }

  private:
    using timing = std::optional<graph_time>;
    using timings = std::vector<timing>;
    struct weighing_graph {
        const json::graph* graph;
        timing now;
        timings without;  ///< one row each
    };

    /// The rows that are kept, with the other answer for one of them.
    row_flags but(std::size_t row) const {
        row_flags out = kept_;
        out[row] = !out[row];
        return out;
    }

    const graph_time& known(timing& t, const weighing_graph& g, const row_flags& rows) {
        if (!t) t = time(g, rows);
        return *t;
    }

    graph_time time(const weighing_graph& g, const row_flags& rows) {
        const instance_set some = part_of(set_, rows);
        const graph_view view = g.graph->view();
        const plan p = planner{described(some, all_)}.plan(view);
        ++plans_;
        row_flags launched(some.rows.size());
        for (const step& one : p.steps()) launched[static_cast<std::size_t>(one.row)] = true;
        const tool::prediction of_all = tool::predict(view, p, p.explain(), *set_.target);
        graph_time out{of_all.total_us() + of_all.engine_launches * over_floor_us, rows};
        for (std::size_t i = 0, at = 0; i < rows.size(); ++i)
            if (rows[i]) out.picked[i] = launched[at++];
        return out;
    }

    const instance_set& set_;
    const catalogue& all_;
    row_flags kept_;
    std::vector<weighing_graph> graphs_;
    int plans_ = 0;
};

double total(const budget& b, const row_flags& kept) {
    double sum = b.base;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) sum += b.costs[i];
    return sum;
}

/// The kept row that is worth least for what it costs.
std::size_t least(const budget& b, scale& by) {
    const row_flags& kept = by.kept();
    std::size_t out = kept.size();
    double of_out = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (!kept[i]) continue;
        const double worth = by.worth(i);
        if (out == kept.size() || worth * b.costs[out] < of_out * b.costs[i])
            out = i, of_out = worth;
    }
    return out;
}

void refuse_impossible(const instance_set& set, const budget& b) {
    const auto smallest = std::min_element(b.costs.begin(), b.costs.end());
    if (smallest == b.costs.end() || b.base + *smallest <= b.most) return;
    const auto at = static_cast<std::size_t>(smallest - b.costs.begin());
    throw std::runtime_error(fmt::format(
        "no row fits a budget of {}: {}, the smallest that the graphs need, takes {}: "
        "give at least as much",
        b.text(b.most), row_name(set.rows[at], set.target->name), b.text(b.base + *smallest)));
}

}  // namespace

std::string budget::text(double cost) const {
    return in == unit::bytes ? fmt::format("{:.0f} bytes", cost) : fmt::format("{:.2f} s", cost);
}

budget budget_of_bytes(double most, const code_costs& of) {
    budget out{.in = budget::unit::bytes, .most = most, .costs = {}, .base = 0};
    for (const code_cost& one : of.rows) out.costs.push_back(static_cast<double>(one.bytes));
    return out;
}

budget budget_of_seconds(double most, const code_costs& of) {
    budget out{.in = budget::unit::seconds,
               .most = most,
               .costs = {},
               .base = static_cast<double>(std::size(skeletons)) * of.empty_file_seconds};
    for (const code_cost& one : of.rows) out.costs.push_back(one.seconds);
    return out;
}

weighed_set keep_within(instance_set& set, const budget& within, const catalogue& all,
                        const std::vector<json::graph>& graphs) {
    refuse_impossible(set, within);
    scale by(set, all, graphs);
    std::vector<std::size_t> dropped;  // the last that went first
    while (total(within, by.kept()) > within.most) {
        dropped.insert(dropped.begin(), least(within, by));
        by.drop(dropped.front());
    }
    // The last to go may have been large: there may be room for smaller ones again.
    for (const std::size_t i : dropped)
        if (total(within, by.kept()) + within.costs[i] <= within.most) by.take_back(i);

    weighed_set out{{}, total(within, by.kept()), 0};
    for (const std::size_t i : dropped)
        if (!by.kept()[i]) out.left_out.push_back({set.rows[i], within.costs[i], by.gains(i)});
    out.plans = by.plans();
    set = part_of(set, by.kept());
    return out;
}

std::string to_text(const weighed_set& set, const budget& within, const arch& target) {
    std::string out;
    for (const left_out_row& one : set.left_out) {
        out +=
            fmt::format("left out {}, {}:", row_name(one.what, target.name), within.text(one.cost));
        for (const left_out_row::gain& g : one.gains)
            out += fmt::format("{} {} {:.2f} us ({:.1f} %)", &g == one.gains.data() ? "" : " and",
                               g.file.substr(g.file.rfind('/') + 1), g.predicted_us,
                               100 * g.share_of_step);
        out +=
            one.gains.empty() ? " it alone would gain nothing\n" : " faster with it, predicted\n";
    }
    return out + fmt::format("the rows of {} take {} of {}\n", target.name, within.text(set.cost),
                             within.text(within.most));
}

}  // namespace catena::generator
