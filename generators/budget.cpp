#include "budget.hpp"

#include "prediction.hpp"
#include "render_set.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace catena::generator {

namespace {

/// For each row of the set, by index.
using row_flags = std::vector<bool>;

struct graph_time {
    double us = 0;     ///< of a step of the graph
    row_flags picked;  ///< the rows that its plan launches
};

/// Weighs rows of a set by the graphs.
class scale {
  public:
    scale(const instance_set& set, const catalogue& all, const std::vector<std::string>& files)
        : set_(set), all_(all) {
        for (const std::string& file : files) graphs_.push_back(json::read(file));
    }

    /// The share of its step that each graph loses without a row, summed.
    std::vector<double> worth(const row_flags& kept) const {
        std::vector<double> out(kept.size());
        for (const json::graph& g : graphs_) {
            const graph_time now = time(kept, g);
            for (std::size_t i = 0; i < kept.size(); ++i) {
                row_flags without = kept;
                without[i] = false;
                if (now.picked[i]) out[i] += time(without, g).us / now.us - 1;
            }
        }
        return out;
    }

    /// What the graphs gain by one row more.
    std::vector<left_out_row::gain> gains(const row_flags& kept, std::size_t more) const {
        row_flags with = kept;
        with[more] = true;
        std::vector<left_out_row::gain> out;
        for (const json::graph& g : graphs_) {
            const double now = time(kept, g).us, gained = now - time(with, g).us;
            if (gained > 0) out.push_back({g.file, gained, gained / now});
        }
        return out;
    }

  private:
    graph_time time(const row_flags& kept, const json::graph& g) const {
        const instance_set some = part_of(set_, kept);
        const graph_view view = g.view();
        const plan p = planner{described(some, all_)}.plan(view);
        row_flags launched(some.rows.size());
        for (const step& one : p.steps()) launched[static_cast<std::size_t>(one.row)] = true;
        graph_time out{tool::predict(view, p.explain(), *set_.target).total_us(), kept};
        for (std::size_t i = 0, at = 0; i < kept.size(); ++i)
            if (kept[i]) out.picked[i] = launched[at++];
        return out;
    }

    const instance_set& set_;
    const catalogue& all_;
    std::vector<json::graph> graphs_;
};

double total(const budget& b, const row_flags& kept) {
    double sum = b.base;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) sum += b.costs[i];
    return sum;
}

/// The kept row that is worth least for what it costs.
std::size_t least(const budget& b, const row_flags& kept, const std::vector<double>& worth) {
    std::size_t out = kept.size();
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (kept[i] && (out == kept.size() || worth[i] * b.costs[out] < worth[out] * b.costs[i]))
            out = i;
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
                        const std::vector<std::string>& files) {
    refuse_impossible(set, within);
    const scale by(set, all, files);
    row_flags kept(set.rows.size(), true);
    std::vector<std::size_t> dropped;  // the last that went first
    while (total(within, kept) > within.most) {
        dropped.insert(dropped.begin(), least(within, kept, by.worth(kept)));
        kept[dropped.front()] = false;
    }
    // The last to go may have been large: there may be room for smaller ones again.
    for (const std::size_t i : dropped)
        kept[i] = total(within, kept) + within.costs[i] <= within.most;

    weighed_set out{{}, total(within, kept)};
    for (const std::size_t i : dropped)
        if (!kept[i]) out.left_out.push_back({set.rows[i], within.costs[i], by.gains(kept, i)});
    set = part_of(set, kept);
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
