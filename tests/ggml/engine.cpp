#include "engine.hpp"

#include "cpu.hpp"

#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/step.hpp"

#include <ggml-alloc.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace catena_test {
namespace {

/// Edges of the whole graph, as an engine knows them that cuts its graphs.
std::map<const ggml_tensor*, int> count_uses(const built& g) {
    std::map<const ggml_tensor*, int> uses;
    for (int i = 0; i < g.size(); ++i)
        for (const ggml_tensor* s : g.node(i)->src)
            if (s != nullptr) ++uses[s];
    return uses;
}

/// What stays the same while the slices of a graph run one after the other.
class engine {
  public:
    engine(built& g, const mode& how) : graph_(g), how_(how), uses_(count_uses(g)) {
        for (int i = 0; i < g.size(); ++i) original_.push_back(i);
        allocator_.reset(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
        if (!how.optimize || !reorder()) ggml_gallocr_alloc_graph(allocator_.get(), g.cgraph());
        out_.memory = ggml_gallocr_get_buffer_size(allocator_.get(), 0);
        g.write_inputs();
        declare("weights", g.weights(), catena::exec::memory::constant);
        declare("inputs and caches", g.state(), catena::exec::memory::initialized);
        declare_values();
        out_.produced.resize(static_cast<std::size_t>(g.size()));
        out_.by_step.resize(out_.produced.size());
        out_.by_matmul.resize(out_.produced.size());
    }

    outcome run() {
        const int length = how_.slice > 0 ? how_.slice : graph_.size();
        if (how_.cut > 0) {
            run_slice(0, how_.cut);
            if (out_.failure.empty()) run_slice(how_.cut, graph_.size());
        } else {
            for (int first = 0; first < graph_.size() && out_.failure.empty(); first += length)
                run_slice(first, std::min(first + length, graph_.size()));
        }
        if (out_.failure.empty()) look_at_outputs();
        out_.state.resize(ggml_backend_buffer_get_size(graph_.state()));
        std::memcpy(out_.state.data(), ggml_backend_buffer_get_base(graph_.state()),
                    out_.state.size());
        return std::move(out_);
    }

  private:
    built& graph_;
    const mode& how_;
    std::map<const ggml_tensor*, int> uses_;
    std::vector<int> original_;  // per position: the node of the graph as it was built
    ggml_context_ptr readers_;   // what keeps tensors alive in ggml-alloc's eyes
    ggml_gallocr_ptr allocator_;
    cpu cpu_;
    catena::exec::host_device device_{7};
    catena::ggml::view_builder builder_;
    catena::planner planner_{table_of(how_), how_.options};
    outcome out_;

    static catena::table table_of(const mode& how) {
        catena::table t = catena::instances::on_host(catena::instances::sm_90());
        static const catena::arch dear = [&] {
            catena::arch a = *t.target;
            a.node_us = 1e6;
            return a;
        }();
        if (how.dear_launches) t.target = &dear;
        return t;
    }

    ggml_tensor* node(int position) const {
        return graph_.node(original_[static_cast<std::size_t>(position)]);
    }

    catena::status view(int first, int last) {
        catena::ggml::knowledge known;
        if (how_.tells_uses) known.uses = uses_of;
        known.user = this;
        std::vector<ggml_tensor*> nodes;
        for (int i = first; i < last; ++i) nodes.push_back(node(i));
        return builder_.build(nodes.data(), last - first, known);
    }

    /// Allocates the graph in the order that catena::optimize gives it. ggml-alloc frees a tensor
    /// behind its last reader: one that must live on gets another, which reads one number of it.
    bool reorder() {
        if (!view(0, graph_.size()).ok()) return false;
        const catena::ordering o = catena::optimize(builder_.view());
        if (!o.state.ok()) return false;
        out_.workspace_bound = o.workspace_bound;
        original_.assign(o.order.begin(), o.order.end());
        const std::size_t tensors = 2 * o.keep.size() + 1;
        readers_.reset(
            ggml_init({tensors * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true}));
        ggml_cgraph* order = ggml_new_graph(readers_.get());
        for (int i = 0; i < graph_.size(); ++i)  // ggml-alloc has room for the leaves that it knows
            for (ggml_tensor* s : node(i)->src)
                if (s != nullptr && s->op == GGML_OP_NONE) ggml_build_forward_expand(order, s);
        for (int i = 0; i < graph_.size(); ++i) {
            ggml_graph_add_node(order, node(i));
            for (const catena::keep_alive& k : o.keep) {
                if (k.until != i) continue;
                auto* kept = const_cast<ggml_tensor*>(builder_.source(k.tensor));
                ggml_tensor* one = ggml_view_1d(readers_.get(), kept, 1, 0);
                ggml_graph_add_node(order, one);
                ggml_graph_add_node(order, ggml_cont(readers_.get(), one));
            }
        }
        return ggml_gallocr_alloc_graph(allocator_.get(), order);
    }

    void declare(const char* name, ggml_backend_buffer_t buffer, catena::exec::memory kind) {
        device_.add(name, ggml_backend_buffer_get_base(buffer),
                    ggml_backend_buffer_get_size(buffer), kind);
    }

    /// The allocator's buffer is reached through any of its tensors.
    void declare_values() {
        for (int i = 0; i < graph_.size(); ++i) {
            const ggml_tensor* t = graph_.node(i);
            if (t->view_src != nullptr || t->buffer == nullptr) continue;
            return declare("values", t->buffer, catena::exec::memory::initialized);
        }
    }

    static int uses_of(const ggml_tensor* t, void* self) {
        const auto& uses = static_cast<engine*>(self)->uses_;
        const auto found = uses.find(t);
        return found == uses.end() ? 0 : found->second;
    }

    void run_slice(int first, int last) {
        if (const catena::status s = view(first, last); !s.ok()) return fail(first, s);
        catena::graph_view shown = builder_.view();
        shown.engine = how_.engine;
        const catena::plan plan = planner_.plan(shown);
        if (!plan.state().ok()) return fail(first, plan.state());

        out_.workspace = std::max(out_.workspace, plan.workspace_bytes());
        void* workspace = nullptr;
        if (plan.workspace_bytes() > 0)
            workspace = device_.allocate<std::byte>(
                "workspace", static_cast<std::size_t>(plan.workspace_bytes()),
                catena::exec::memory::uninitialized);
        for (int i = 0; i < plan.size(); ++i) {
            switch (plan.at(i).role) {
                case catena::role::engine:
                    cpu_.compute(node(first + i));
                    if (computes(node(first + i))) keep(first + i);
                    break;
                case catena::role::launch:
                    if (const catena::status s = plan.launch(i, &device_, workspace); !s.ok())
                        return fail(first + i, s);
                    break;
                case catena::role::covered:
                    break;
            }
            keep_steps_at(plan, i, first);
        }
        out_.steps += static_cast<int>(plan.steps().size());
    }

    void keep_steps_at(const catena::plan& plan, int position, int first) {
        for (const catena::step& s : plan.steps()) {
            if (s.launch_at != position) continue;
            const bool matmuls = s.what.kind() != catena::skeleton::row;
            out_.launches += matmuls;
            out_.row_steps += !matmuls;
            const bool convolves = catena::convolves(catena::stages_of(s.what));
            const auto covered = plan.covered(s);
            out_.convolutions += convolves;
            out_.states_picked +=
                convolves && std::any_of(covered.begin(), covered.end(), [&](std::int32_t i) {
                    return node(first + i)->op == GGML_OP_GET_ROWS;
                });
            if (catena::attends(catena::stages_of(s.what))) {
                ++out_.attended;
                out_.attended_nodes += s.node_count;
            }
            if (catena::recalls(catena::stages_of(s.what))) {
                ++out_.recalls;
                out_.recalled_nodes += s.node_count;
            }
            if (catena::scans(catena::stages_of(s.what))) {
                ++out_.scans;
                out_.scanned_nodes += s.node_count;
            }
            out_.norms_inside += matmuls && catena::has_norm(s.what.product().needs.stages);
            const bool gates = matmuls && catena::gates_inside(s.what.product());
            out_.gates_inside += gates;
            out_.gated_norms += gates && catena::has_norm(s.what.product().needs.stages);
            const catena::epilogue_set parts =
                matmuls ? s.what.product().needs.epilogue : catena::epilogue_set{};
            out_.two_sums += parts.has(catena::epilogue_part::bias) &&
                             parts.has(catena::epilogue_part::residual);
            for (const std::int32_t i : plan.covered(s)) {
                ++out_.covered;
                out_.matmuls += is_matmul(node(first + i));
                if (plan.at(i).elided)
                    ++out_.elided;
                else
                    keep(first + i);
                const auto built =
                    static_cast<std::size_t>(original_[static_cast<std::size_t>(first + i)]);
                out_.by_step[built] = true;
                out_.by_matmul[built] = matmuls;
            }
        }
    }

    void keep(int position) {
        const int built = original_[static_cast<std::size_t>(position)];
        out_.produced[static_cast<std::size_t>(built)] = bytes_of(graph_.node(built));
    }

    void look_at_outputs() {
        for (int i = 0; i < graph_.size(); ++i) {
            const ggml_tensor* t = graph_.node(i);
            const std::vector<std::byte>& made = out_.produced[static_cast<std::size_t>(i)];
            const bool is_output = (t->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 && computes(t);
            if (is_output && made != bytes_of(t))
                out_.failure = "node " + std::to_string(i) + ": an output was overwritten";
        }
    }

    void fail(int node, const catena::status& s) {
        out_.failure = "node " + std::to_string(node) + ": " + s.message;
        if (!device_.findings().empty()) out_.failure += " | " + device_.findings().back().message;
    }
};

}  // namespace

outcome run(built& g, const mode& how) { return engine(g, how).run(); }

}  // namespace catena_test
