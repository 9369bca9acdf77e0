#include "model.hpp"

#include "code.hpp"
#include "timed_shape.hpp"

#include "catena/pick/constraints.hpp"
#include "catena/pick/cost.hpp"
#include "catena/pick/pick.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

namespace catena::tune {

namespace {

using generator::tuned_candidate;
using generator::tuned_problem;

struct sum {
    double logs = 0, squares = 0, furthest = 0;
    int count = 0;

    void add(double log) {
        logs += log, squares += log * log, ++count;
        if (std::abs(log) > std::abs(furthest)) furthest = log;
    }
    double typical() const { return std::exp(logs / count); }
    double deviation() const {
        const double mean = logs / count;
        return std::exp(std::sqrt(std::max(0.0, squares / count - mean * mean)));
    }
};

/// The sums of one kind of launch.
struct kind_sums {
    sum all, near;
    double lost = 0;
    int problems = 0;

    model_error error(const std::string& of) const {
        return {of,
                all.count,
                all.typical(),
                all.deviation(),
                near.deviation(),
                std::exp(all.furthest),
                problems,
                lost / problems};
    }
};

/// The kinds of a launch, from the most general to the most special.
std::vector<std::string> kinds_of(const problem& what) {
    if (what.kind() == skeleton::row) return {"row steps"};
    if (what.kind() == skeleton::matmul) return {"matmuls"};
    const product_problem& p = what.product();
    std::vector<std::string> out = {"matvecs"};
    if (p.expert)
        out.push_back("experts");
    else
        out.push_back(p.columns == 1 ? "one column" : "2 to 8 columns");
    if (has_float_weights(p.needs.weights)) out.push_back("routers, of float weights");
    if (p.needs.weights.has(format::mxfp4)) out.push_back("mxfp4");
    if (makes_norm(p)) out.push_back("norm inside");
    return out;
}

constexpr const char* kind_names[] = {"row steps",      "matvecs",     "one column",
                                      "2 to 8 columns", "experts",     "routers, of float weights",
                                      "mxfp4",          "norm inside", "matmuls"};

/// Do two problems have the same matrices or rows, whatever the columns?
bool same_shape(const problem& a, const problem& b) {
    if (a.kind() != b.kind()) return false;
    if (a.kind() == skeleton::row)
        return a.row().k == b.row().k && a.row().needs.stages == b.row().needs.stages;
    const product_problem &x = a.product(), &y = b.product();
    if (x.k != y.k || x.member_count != y.member_count) return false;
    for (int i = 0; i < x.member_count; ++i)
        if (x.member[i].type != y.member[i].type || x.member[i].rows != y.member[i].rows)
            return false;
    return true;
}

/// The part that each problem of a record belongs to.
std::vector<int> parts_of(const generator::tuning& t) {
    std::vector<const problem*> shapes;
    std::vector<int> out;
    for (const tuned_problem& p : t.problems) {
        const auto at = std::find_if(shapes.begin(), shapes.end(), [&](const problem* known) {
            return same_shape(*known, p.what);
        });
        out.push_back(static_cast<int>(at - shapes.begin()) % model_check::parts);
        if (at == shapes.end()) shapes.push_back(&p.what);
    }
    return out;
}

using constant = double cost_constants::*;
constexpr constant matvec_constants[] = {
    &cost_constants::unhidden,          &cost_constants::stalled,
    &cost_constants::plain_slice_us,    &cost_constants::async_slice_us,
    &cost_constants::bulk_slice_us,     &cost_constants::plain_chunk_us,
    &cost_constants::column_us,         &cost_constants::async_chunk_us,
    &cost_constants::global_step_us,    &cost_constants::float_step_us,
    &cost_constants::read_by_all_bytes, &cost_constants::crowding};
constexpr constant row_constants[] = {
    &cost_constants::row_launch_us, &cost_constants::wave_us,      &cost_constants::block_start_us,
    &cost_constants::sum_us,        &cost_constants::warp_sum_us,  &cost_constants::quantize_us,
    &cost_constants::gate_us,       &cost_constants::late_load_us, &cost_constants::element_us,
    &cost_constants::warp_quad_us};

/// Changes one constant after the other, by smaller and smaller factors, as long as that helps.
template <std::size_t N, class Misfit>
cost_constants descended(cost_constants c, const constant (&of)[N], const Misfit& misfit) {
    double least = misfit(c);
    for (const double factor : {1.4, 1.15, 1.05, 1.02}) {
        bool better = true;
        for (int round = 0; better && round < 6; ++round) {
            better = false;
            for (const constant which : of)
                for (const double by : {factor, 1 / factor}) {
                    cost_constants other = c;
                    other.*which *= by;
                    const double now = misfit(other);
                    if (now >= least) continue;
                    c = other, least = now, better = true;
                    break;
                }
        }
    }
    return c;
}

}  // namespace

model_check::model_check(const generator::tuning& t, const arch& a,
                         const std::vector<row>& recorded)
    : record_(t), arch_(a), part_of_(parts_of(t)) {
    for (std::size_t i = 0; i < t.problems.size(); ++i)
        for (const tuned_candidate& c : t.problems[i].candidates) {
            if (c.samples == 0) continue;
            measured_candidate m = {.what = {.computes = t.problems[i].computes,
                                             .policy = c.policy,
                                             .order = order_of(c.policy),
                                             .registers = c.registers,
                                             .evidence = {}},
                                    .asked = &t.problems[i].what,
                                    .of_problem = static_cast<int>(i),
                                    .median_us = c.median_us};
            if (constraint(m.what, *m.asked, a).why != limit::none) continue;
            m.shape = c.shape.resident > 0 ? c.shape : generator::timed_shape(m.what, *m.asked, a);
            if (m.shape.resident < 1) continue;
            m.what.code = code_like(m.what, recorded);  // a tuner's launches go by no counts
            candidates_.push_back(m);
        }
}

double model_check::us(const measured_candidate& m, const cost_constants& c) const {
    return predicted_us(m.what, *m.asked, arch_, m.shape, c);
}

/// Far measurements count less than their square.
double model_check::misfit(const cost_constants& c, skeleton kind, int without) const {
    constexpr double usual = 0.15;
    double out = 0;
    for (const measured_candidate& m : candidates_) {
        if (m.asked->kind() != kind || part_of_[static_cast<std::size_t>(m.of_problem)] == without)
            continue;
        const double log = std::log(us(m, c) / m.median_us) / usual;
        out += std::sqrt(1 + log * log) - 1;
    }
    return out;
}

cost_constants model_check::fitted_without(int part) const {
    const cost_constants of_rows =
        descended(with_cold_columns(as_recorded()), row_constants,
                  [&](const cost_constants& c) { return misfit(c, skeleton::row, part); });
    return descended(of_rows, matvec_constants,
                     [&](const cost_constants& c) { return misfit(c, skeleton::matvec, part); });
}

std::vector<double> model_check::predicted(const cost_constants& c) const {
    std::vector<double> out;
    for (const measured_candidate& m : candidates_) out.push_back(us(m, c));
    return out;
}

std::vector<double> model_check::predicted_held_back() const {
    std::vector<cost_constants> fitted;
    for (int part = 0; part < parts; ++part) fitted.push_back(fitted_without(part));
    std::vector<double> out;
    for (const measured_candidate& m : candidates_) {
        const int part = part_of_[static_cast<std::size_t>(m.of_problem)];
        out.push_back(us(m, fitted[static_cast<std::size_t>(part)]));
    }
    return out;
}

displaced_medians model_check::displaced(const std::vector<double>& predicted) const {
    displaced_medians out;
    for (std::size_t left_out = 0; left_out < candidates_.size(); ++left_out) {
        const measured_candidate& other = candidates_[left_out];
        std::optional<std::size_t> first;
        for (std::size_t i = 0; i < candidates_.size(); ++i)
            if (i != left_out && candidates_[i].of_problem == other.of_problem &&
                (!first || candidates_[i].median_us < candidates_[*first].median_us))
                first = i;
        if (!first) continue;
        const double median_us = candidates_[*first].median_us;
        if (!detail::displaces(predicted[left_out], median_us, predicted[*first])) continue;
        if (other.median_us < 0.99 * median_us) ++out.faster;
        if (other.median_us > 1.01 * median_us) ++out.slower;
    }
    return out;
}

std::vector<model_error> model_check::errors(const std::vector<double>& predicted) const {
    std::vector<std::pair<std::string, kind_sums>> kinds;
    for (const char* name : kind_names) kinds.push_back({name, {}});
    kind_sums all;
    for (std::size_t first = 0, end = 0; first < candidates_.size(); first = end) {
        double best_us = 0;
        std::size_t liked = first;
        for (end = first; end < candidates_.size() &&
                          candidates_[end].of_problem == candidates_[first].of_problem;
             ++end) {
            if (best_us == 0 || candidates_[end].median_us < best_us)
                best_us = candidates_[end].median_us;
            if (predicted[end] < predicted[liked]) liked = end;
        }
        std::vector<kind_sums*> of = {&all};
        const auto names = kinds_of(*candidates_[first].asked);
        for (auto& [name, sums] : kinds)
            if (std::find(names.begin(), names.end(), name) != names.end()) of.push_back(&sums);
        for (kind_sums* s : of) {
            s->lost += 1 - best_us / candidates_[liked].median_us, ++s->problems;
            for (std::size_t i = first; i < end; ++i) {
                const double log = std::log(predicted[i] / candidates_[i].median_us);
                s->all.add(log);
                if (candidates_[i].median_us <= 1.5 * best_us) s->near.add(log);
            }
        }
    }
    std::vector<model_error> out;
    for (const auto& [of, s] : kinds)
        if (s.problems > 0) out.push_back(s.error(of));
    if (all.problems > 0) out.push_back(all.error("all"));
    return out;
}

std::string text(const std::vector<model_error>& today, const std::vector<model_error>& held,
                 const std::string& file) {
    if (today.empty())
        return file + ": nothing was measured there, so the error of the cost model is not known\n";
    const auto table = [](const std::vector<model_error>& errors) {
        std::string out =
            "     count  typical  deviation  near the best   worst  problems  lost by its picks  "
            "of\n";
        for (const model_error& e : errors) {
            char line[200];
            std::snprintf(line, sizeof line, "%10d %8.2f %9.2fx %13.2fx %7.2f %9d %17.1f%%  ",
                          e.measurements, e.typical, e.deviation, e.near, e.worst, e.problems,
                          100 * e.lost);
            out += line + e.of + "\n";
        }
        return out;
    };
    return "predicted over measured, " + file + "\n" + table(today) +
           "the same of problems that were held back, each predicted with constants that are "
           "fitted "
           "to others\n" +
           table(held);
}

}  // namespace catena::tune
