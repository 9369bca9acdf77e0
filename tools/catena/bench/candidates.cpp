#include "candidates.hpp"

#include "../failure.hpp"
#include "../run/progress.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/domain.hpp"
#include "catena/pick/name.hpp"
#include "catena/plan/sentences.hpp"
#include "catena/plan/step.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

namespace catena::tool {
namespace {

// Values that the host executor multiplies and quantizes in a second, on one core of a server.
constexpr double by_matvec_per_s = 6e7, by_matmul_per_s = 3e8, quantized_per_s = 2.5e6;

bool may_serve(const row& r, format weights) {
    return r.computes.kind() != skeleton::row && r.computes.product().weights.has(weights);
}

/// The rows that are asked for. Throws failure where there is none.
std::vector<int> rows_of(const bench_request& asked) {
    const table& t = asked.rows;
    const std::string pattern = "*" + asked.pattern + "*";
    std::vector<int> rows;
    for (int i = 0; i < t.row_count; ++i)
        if (may_serve(t.rows[i], asked.shape.weights) &&
            fnmatch(pattern.c_str(), row_name(t, i).c_str(), 0) == 0)
            rows.push_back(i);
    if (rows.empty())
        throw failure(
            fmt::format("no instance of {} for {} matches '{}': catena instances --arch "
                        "{} lists the names",
                        t.target->name, name(asked.shape.weights), asked.pattern, t.target->name));
    return rows;
}

bool makes_activation(const row& r) { return placement_of(r.policy) != norm_placement::producer; }

/// The row steps of a table and one of its groups, so that a plan has no other choice. Beside one
/// that makes its activation stand those that do not: a plan weighs it against them.
class table_of_one {
  public:
    table_of_one(const table& all, int group) : table_(all) {
        const bool makes = makes_activation(all.rows[group]);
        for (int i = 0; i < all.row_count; ++i) {
            const row& r = all.rows[i];
            const bool beside = makes && !makes_activation(r);
            if (i != group && r.computes.kind() != skeleton::row && !beside) continue;
            if (i == group) at_ = static_cast<int>(rows_.size());
            rows_.push_back(r);
            kernels_.push_back(all.kernels == nullptr ? nullptr : all.kernels[i]);
        }
        table_.rows = rows_.data();
        table_.row_count = static_cast<int>(rows_.size());
        if (all.kernels != nullptr) table_.kernels = kernels_.data();
        table_.measured_count = table_.engine_count = table_.verdict_count =
            0;  // they name rows of the whole table
    }
    const table& rows() const { return table_; }
    int at() const { return at_; }

  private:
    table table_;
    std::vector<row> rows_;
    std::vector<const void*> kernels_;
    int at_ = 0;
};

/// The step that computes all of the shape, or -1: then `why` says what is in the way.
int step_of(const plan& p, int row, std::string& why) {
    int at = -1;
    for (std::size_t i = 0; i < p.steps().size(); ++i)
        if (p.steps()[i].row == row) at = static_cast<int>(i);
    if (at >= 0 && p.covered(p.steps()[static_cast<std::size_t>(at)]).size() ==
                       static_cast<std::size_t>(p.size()))
        return at;
    why = at >= 0 ? "it leaves a part of the epilogue to the engine"
          : makes_activation(p.rows().rows[row])
              ? "it quantizes the activation itself, and a launch that does so is quicker here"
              : "it computes something else";
    for (const left_over& l : p.left())
        if (l.what.why == reason::no_row && l.nearest.why != limit::computes)
            why = sentence(l.nearest);
        else if (at < 0 && l.what.why != reason::no_row)
            why = sentence(l, p.rows());
    return -1;
}

candidate tried(const bench_request& asked, const json::graph& g, int row) {
    const table_of_one only(asked.rows, row);
    candidate c;
    c.instance = row_name(only.rows(), only.at());
    const plan without_memory = planner{only.rows()}.plan(g.view());
    if (step_of(without_memory, only.at(), c.why_not) < 0) return c;
    const std::unique_ptr<machine> on = asked.make_machine();
    const placement where{g, *on};
    const plan p = planner{only.rows()}.plan(where.view());
    const int at = step_of(p, only.at(), c.why_not);
    if (at < 0) return c;
    const step& s = p.steps()[static_cast<std::size_t>(at)];
    c.bytes = s.bytes;
    c.predicted_us = s.predicted_us;
    c.attainable_us = attainable_us(s.what, only.rows().limits());
    checker check{p, where, *on, asked.check};
    for (int i = 0; i <= at; ++i) c.result = check.run(i);
    c.broke_device = on->broken();
    if (c.result.ok()) c.measured = on->time(only.rows(), s);
    return c;
}

}  // namespace

double host_seconds(const bench_request& asked) {
    const matmul_shape& s = asked.shape;
    const auto k = static_cast<double>(s.k);
    double seconds = 0;
    for (const int i : rows_of(asked)) {
        const policy& n = asked.rows.rows[i].policy;
        const bool matmul = asked.rows.rows[i].computes.kind() == skeleton::matmul;
        if (matmul ? s.columns < min_tiled_columns : s.columns >= min_matmul_columns) continue;
        const double columns = static_cast<double>(s.columns);
        const double products = matmul
                                    ? 3.0 * tile_rows(n.matmul()) * n.matmul().columns
                                    : (3.0 + asked.check.random_rows) * n.matvec().rows * columns;
        seconds += k * (products / (matmul ? by_matmul_per_s : by_matvec_per_s)) +
                   k * columns / quantized_per_s;
    }
    return seconds;
}

std::vector<candidate> candidates_of(const bench_request& asked) {
    const table& t = asked.rows;
    const json::graph g = graph_of(asked.shape);
    const std::vector<int> rows = rows_of(asked);
    std::string picked;
    const plan whole = planner{t}.plan(g.view());
    for (const step& s : whole.steps())
        if (s.what.kind() != skeleton::row) picked = row_name(t, s.row);

    std::vector<candidate> out;
    progress_line progress;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        progress.show(static_cast<int>(i), static_cast<int>(rows.size()), row_name(t, rows[i]));
        out.push_back(tried(asked, g, rows[i]));
        out.back().picked = out.back().instance == picked;
        if (out.back().broke_device) break;
    }
    const auto rank = [](const candidate& c) { return !c.serves() ? 2 : c.result.ok() ? 0 : 1; };
    std::stable_sort(out.begin(), out.end(), [&](const candidate& a, const candidate& b) {
        return rank(a) != rank(b) ? rank(a) < rank(b) : a.us() < b.us();
    });
    if (out.front().serves()) return out;
    const char* const absent = absence_of(asked.shape.weights, asked.shape.columns, *t.target);
    throw failure(fmt::format(
        "no instance of {} serves {}: {}; catena coverage --arch {} shows what is served",
        t.target->name, text(asked.shape), absent != nullptr ? absent : out.front().why_not,
        t.target->name));
}

}  // namespace catena::tool
