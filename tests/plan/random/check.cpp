#include "catena/plan/counters.hpp"
#include "catena/plan/step.hpp"

#include "check.hpp"

#include "engine.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace catena_test {
namespace {

using bytes = std::vector<std::byte>;

/// What the engine's own order makes.
struct oracle {
    std::vector<bytes> made;  ///< per node, right after it ran
    std::vector<bytes> kept;  ///< per tensor that is wanted in the end
    std::string fault;

    explicit oracle(random_graph& g) {
        g.reset();
        const catena::graph_view view = g.engine();
        for (int i = 0; i < view.size(); ++i) {
            run_node(view, i);
            made.push_back(runs(view.node(i)) ? g.bytes_of(view.nodes[i]) : bytes{});
            if (view.node(i).type == format::f32 && has_nan(made.back()) && fault.empty())
                fault = "node " + std::to_string(i) + ": the engine itself makes a NaN";
        }
        kept = at_the_end(g);
    }

    static std::vector<bytes> at_the_end(const random_graph& g) {
        std::vector<bytes> out;
        for (std::size_t t = 0; t < g.wanted.size(); ++t)
            out.push_back(g.wanted[t] ? g.bytes_of(static_cast<id>(t)) : bytes{});
        return out;
    }

  private:
    static bool has_nan(const bytes& b) {
        for (std::size_t i = 0; i + 4 <= b.size(); i += 4) {
            float x;
            std::memcpy(&x, &b[i], 4);
            if (std::isnan(x)) return true;
        }
        return false;
    }
};

/// Runs a graph by plans of its slices, one after the other.
class planned_run {
  public:
    planned_run(random_graph& g, const oracle& expected, const catena::planner& planner, tally& met)
        : g_(g), expected_(expected), planner_(planner), met_(met), machine_(g.permissions()) {
        g.reset();
    }

    std::string fault;

    void slice(int first, int last, bool bare) {
        const random_graph::slice part = g_.cut(first, last, bare);
        const catena::graph_view view = part.view();
        const catena::plan plan = planner_.plan(view);
        if (!plan.state().ok()) return blame(first, plan.state().message);
        look_at(view, plan, first);
        std::vector<std::byte> memory(static_cast<std::size_t>(plan.workspace_bytes()) + 256,
                                      std::byte{0xff});
        std::byte* workspace =
            memory.data() + (256 - reinterpret_cast<std::uintptr_t>(memory.data()) % 256) % 256;
        if (plan.workspace_bytes() > 0)
            machine_.add(workspace, plan.workspace_bytes(), region_kind::written);
        std::size_t next = 0;
        for (int i = 0; i < plan.size() && fault.empty() && !given_up; ++i) {
            const catena::role role = plan.at(i).role;
            if (role == catena::role::engine) {
                run_node(g_.engine(), first + i);
                compare(first + i);
            }
            if (role == catena::role::launch) launch(plan, i, workspace, first, next);
        }
        if (next != plan.steps().size() && fault.empty() && !given_up)
            blame(first, "a step of the plan is never launched");
        machine_.remove(workspace);
        if (!fault.empty()) fault += described(view, plan, first);
    }

    void finish() {
        const std::vector<bytes> now = oracle::at_the_end(g_);
        for (std::size_t t = 0; t < now.size() && fault.empty() && !given_up; ++t)
            if (now[t] != expected_.kept[t])
                fault = "tensor " + std::to_string(t) + ": wanted in the end, and not there";
    }

    bool given_up = false;

  private:
    random_graph& g_;
    const oracle& expected_;
    const catena::planner& planner_;
    tally& met_;
    machine machine_;

    void blame(int node, const std::string& what) {
        if (fault.empty()) fault = "node " + std::to_string(node) + ": " + what;
    }

    /// A step that recalls or scans keeps the states elsewhere that the engine leaves behind the
    /// values.
    void compare(int node) {
        const catena::tensor& t = g_.engine().node(node);
        if (!runs(t)) return;
        bytes found = g_.bytes_of(g_.nodes[static_cast<std::size_t>(node)]);
        bytes wanted = expected_.made[static_cast<std::size_t>(node)];
        const bool recalls = t.kind == catena::op::gated_delta_net;
        if (recalls || t.kind == catena::op::ssm_scan) {
            const catena::tensor& like = g_.engine().at(t.src[recalls ? 2 : 1]);
            const std::size_t values = 4 * static_cast<std::size_t>(elements(like));
            found.resize(values), wanted.resize(values);
        }
        if (found != wanted) blame(node, "its result differs from the engine's");
    }

    void launch(const catena::plan& plan, int i, void* workspace, int first, std::size_t& next) {
        if (const catena::status s = plan.launch(i, &machine_, workspace); !s.ok()) {
            const bool hidden = std::any_of(g_.told.begin(), g_.told.end(),
                                            [](const auto& t) { return t.data == nullptr; });
            given_up = hidden;
            met_.given_up += hidden;
            if (!hidden) blame(first + i, s.message);
            return;
        }
        if (!machine_.fault.empty()) blame(first + i, machine_.fault);
        for (; next < plan.steps().size() && plan.steps()[next].launch_at == i; ++next)
            for (const std::int32_t n : plan.covered(plan.steps()[next]))
                if (!plan.at(n).elided) compare(first + n);
    }

    /// What no run can show.
    void look_at(const catena::graph_view& view, const catena::plan& plan, int first) {
        met_.given += plan.counters().left[static_cast<int>(catena::reason::engine_faster)];
        for (std::size_t i = 0; i < plan.steps().size(); ++i) {
            const catena::step& s = plan.steps()[i];
            if (s.what.kind() == catena::skeleton::row) {
                const catena::row_args a = plan.args(static_cast<int>(i), nullptr).row;
                met_.scaled += a.x_scale != 1;
                met_.scaled_norms += a.norm_scale != 1;
                met_.scaled_joins += a.sum_factor != nullptr;
            }
            ++met_.steps;
            met_.heads += has_heads(stages_of(s.what));
            met_.tiled += s.what.kind() == catena::skeleton::matmul &&
                          s.what.product().columns < catena::min_matmul_columns;
            met_.convolved += convolves(stages_of(s.what));
            met_.attended += attends(stages_of(s.what));
            met_.recalled += recalls(stages_of(s.what));
            if (scans(stages_of(s.what))) {
                ++met_.scanned;
                met_.scan_nodes += s.node_count;
            }
            met_.turned += s.what.kind() != catena::skeleton::row &&
                           has_heads(s.what.product().needs.epilogue);
            const bool routes = catena::routes(stages_of(s.what));
            met_.routes += routes && s.what.kind() == catena::skeleton::row;
            met_.routed += routes && s.what.kind() != catena::skeleton::row;
            met_.norms += makes_norm(s.what);
            if (s.what.kind() != catena::skeleton::row) {
                met_.begun += s.what.product().begins_norm;
                met_.ended += s.what.product().ends_norm;
                met_.gated += gates_inside(s.what.product());
                met_.gated_norms += gates_inside(s.what.product()) && has_norm(stages_of(s.what));
            }
            met_.combined += stages_of(s.what).has(catena::stage_kind::combine);
            met_.sums += combined(s.what);
            met_.joins += stages_of(s.what).has(catena::stage_kind::join_residual);
            met_.again += stages_of(s.what).has(catena::stage_kind::next_norm);
            met_.quantizes += quantizes_inside(s.what);
            if (plan.covered(s).size() > 1 && s.what.kind() != catena::skeleton::row)
                met_.members += static_cast<int>(plan.covered(s).size());
            for (const std::int32_t n : plan.covered(s)) {
                const catena::tensor& t = view.node(n);
                met_.moved += n != s.launch_at;
                met_.copies += t.kind == catena::op::cont;
                if ((t.flags & catena::flag_compute) == 0)
                    blame(first + n, "a step computes what is not to be computed");
                if (t.stream != view.node(s.launch_at).stream)
                    blame(first + n, "its step is on another stream");
                if (!plan.at(n).elided) continue;
                ++met_.elided;
                if (t.uses == catena::unknown_uses)
                    blame(first + n, "it is elided, and nobody knows who reads it");
            }
        }
    }

    static std::string described(const catena::graph_view& view, const catena::plan& plan,
                                 int first) {
        return "\nnodes from " + std::to_string(first) + ":\n" + describe(view) + describe(plan);
    }
};

}  // namespace

namespace {

/// Plans of the whole graph, and of slices of it.
std::string run_plans(random_graph& g, const oracle& expected, const catena::planner& planner,
                      tally& met) {
    const int count = static_cast<int>(g.nodes.size());
    for (const bool whole : {true, false}) {
        std::vector<int> cuts{0, count};
        for (int n = whole ? 0 : 1 + g.below(3); n > 0; --n) cuts.push_back(g.below(count + 1));
        std::sort(cuts.begin(), cuts.end());
        planned_run run(g, expected, planner, met);
        const bool bare = g.one_in(2);
        for (std::size_t c = 1; c < cuts.size() && run.fault.empty() && !run.given_up; ++c)
            if (cuts[c] > cuts[c - 1]) run.slice(cuts[c - 1], cuts[c], bare && !whole);
        run.finish();
        if (!run.fault.empty())
            return run.fault + (whole ? "" : "\n(as slices)") + "\nwhole graph:\n" +
                   describe(g.engine());
    }
    return "";
}

/// The same graph in the order that is made before allocation: every node makes what it made.
std::string run_optimized(unsigned seed, const random_graph& before, const oracle& made,
                          const catena::planner& planner, tally& met) {
    random_graph g(seed, true);
    if (!g.ordered.state.ok()) return g.ordered.state.message;
    const oracle expected(g);
    const std::string shown =
        "\n(optimized) before:\n" + describe(before.engine()) + "after:\n" + describe(g.engine());
    if (!expected.fault.empty()) return expected.fault + shown;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        const auto was = std::find(before.nodes.begin(), before.nodes.end(), g.nodes[i]);
        if (expected.made[i] != made.made[static_cast<std::size_t>(was - before.nodes.begin())])
            return "node " + std::to_string(i) + ": it makes something else in the new order" +
                   shown;
    }
    if (!g.allocated) return "";
    if (planner.plan(g.planner()).workspace_bytes() > g.ordered.workspace_bound)
        return "the workspace exceeds its bound" + shown;
    const std::string fault = run_plans(g, expected, planner, met);
    return fault.empty() ? "" : fault + "\n(optimized)";
}

}  // namespace

std::string check_graph(unsigned seed, const catena::table& rows, bool tuned, tally& met) {
    random_graph g(seed);
    ++met.graphs;
    const oracle expected(g);
    if (!expected.fault.empty()) return expected.fault + "\n" + describe(g.engine());
    catena::options asked;
    if (g.one_in(20)) asked.chains_off = rows.chains[g.below(rows.chain_count)].name;
    tuned_table own(rows, g.random);
    for (int rounds = tuned ? 2 : 0; rounds > 0; --rounds)
        own.learn(catena::planner(own.get(), asked).plan(g.planner()));
    const catena::planner planner(own.get(), asked);
    if (!g.allocated) {  // nothing can run; the plan must hold together
        const catena::plan plan = planner.plan(g.planner());
        return plan.state().ok() ? "" : plan.state().message;
    }
    if (std::string fault = run_plans(g, expected, planner, met); !fault.empty()) return fault;
    return g.one_in(4) ? run_optimized(seed, g, expected, planner, met) : "";
}

}  // namespace catena_test
