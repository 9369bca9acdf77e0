#include "engine.hpp"

#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"

#include <ggml-alloc.h>
#include <ggml-cpu.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace catena_test {
namespace {

/// Runs single nodes, and whole graphs, on one thread.
class cpu {
  public:
    cpu() : backend_(ggml_backend_cpu_init()) {
        ggml_backend_cpu_set_n_threads(backend_.get(), 1);
        context_.reset(ggml_init({ggml_graph_overhead(), nullptr, true}));
        one_ = ggml_new_graph(context_.get());
    }

    void compute(ggml_tensor* node) {
        ggml_graph_clear(one_);
        ggml_graph_add_node(one_, node);
        compute(one_);
    }
    void compute(ggml_cgraph* graph) { ggml_backend_graph_compute(backend_.get(), graph); }

  private:
    ggml_backend_ptr backend_;
    ggml_context_ptr context_;
    ggml_cgraph* one_;
};

bool computes(const ggml_tensor* t) {
    return !ggml_is_empty(t) && t->op != GGML_OP_NONE && t->op != GGML_OP_RESHAPE &&
           t->op != GGML_OP_VIEW && t->op != GGML_OP_PERMUTE && t->op != GGML_OP_TRANSPOSE;
}

bool is_matmul(const ggml_tensor* t) {
    return t->op == GGML_OP_MUL_MAT || t->op == GGML_OP_MUL_MAT_ID;
}

std::vector<std::byte> bytes_of(const ggml_tensor* t) {
    std::vector<std::byte> out(ggml_nbytes(t));
    ggml_backend_tensor_get(t, out.data(), 0, out.size());
    return out;
}

/// Edges of the whole graph, as an engine knows them that cuts its graphs.
std::map<const ggml_tensor*, int> count_uses(const graph& g) {
    std::map<const ggml_tensor*, int> uses;
    for (int i = 0; i < g.size(); ++i)
        for (const ggml_tensor* s : g.node(i)->src)
            if (s != nullptr) ++uses[s];
    return uses;
}

/// What stays the same while the slices of a graph run one after the other.
class engine {
  public:
    engine(const model& m, graph& g, const mode& how) : graph_(g), how_(how), uses_(count_uses(g)) {
        allocator_.reset(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
        ggml_gallocr_alloc_graph(allocator_.get(), g.cgraph());
        declare("weights", m.buffer(), catena::exec::memory::constant);
        declare("inputs and caches", g.state(), catena::exec::memory::initialised);
        declare_values();
        out_.produced.resize(static_cast<std::size_t>(g.size()));
        out_.by_step.resize(out_.produced.size());
    }

    outcome run() {
        const int length = how_.slice > 0 ? how_.slice : graph_.size();
        for (int first = 0; first < graph_.size() && out_.failure.empty(); first += length)
            run_slice(first, std::min(first + length, graph_.size()));
        return std::move(out_);
    }

  private:
    graph& graph_;
    const mode& how_;
    std::map<const ggml_tensor*, int> uses_;
    ggml_gallocr_ptr allocator_;
    cpu cpu_;
    catena::exec::host_device device_{7};
    catena::ggml::view_builder builder_;
    catena::planner planner_{catena::instances::on_host(catena::instances::sm_90()), how_.options};
    outcome out_;

    void declare(const char* name, ggml_backend_buffer_t buffer, catena::exec::memory kind) {
        device_.add(name, ggml_backend_buffer_get_base(buffer),
                    ggml_backend_buffer_get_size(buffer), kind);
    }

    /// The allocator's buffer is reached through any of its tensors.
    void declare_values() {
        for (int i = 0; i < graph_.size(); ++i) {
            const ggml_tensor* t = graph_.node(i);
            if (t->view_src != nullptr || t->buffer == nullptr) continue;
            return declare("values", t->buffer, catena::exec::memory::initialised);
        }
    }

    static int uses_of(const ggml_tensor* t, void* self) {
        const auto& uses = static_cast<engine*>(self)->uses_;
        const auto found = uses.find(t);
        return found == uses.end() ? 0 : found->second;
    }

    void run_slice(int first, int last) {
        catena::ggml::knowledge known;
        if (how_.tells_uses) known.uses = uses_of;
        known.user = this;
        std::vector<ggml_tensor*> nodes;
        for (int i = first; i < last; ++i) nodes.push_back(graph_.node(i));
        if (const catena::status s = builder_.build(nodes.data(), last - first, known); !s.ok())
            return fail(first, s);
        const catena::plan plan = planner_.plan(builder_.view());
        if (!plan.state().ok()) return fail(first, plan.state());

        void* workspace = nullptr;
        if (plan.workspace_bytes() > 0)
            workspace = device_.allocate<std::byte>(
                "workspace", static_cast<std::size_t>(plan.workspace_bytes()),
                catena::exec::memory::uninitialised);
        for (int i = 0; i < plan.size(); ++i) {
            ggml_tensor* node = graph_.node(first + i);
            switch (plan.at(i).role) {
                case catena::role::engine:
                    cpu_.compute(node);
                    if (computes(node)) keep(first + i);
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
            for (const std::int32_t i : plan.covered(s)) {
                const ggml_tensor* node = graph_.node(first + i);
                ++out_.covered;
                out_.matmuls += is_matmul(node);
                if (plan.at(i).elided)
                    ++out_.elided;
                else
                    keep(first + i);
                out_.by_step[static_cast<std::size_t>(first + i)] = true;
            }
        }
    }

    void keep(int node) {
        out_.produced[static_cast<std::size_t>(node)] = bytes_of(graph_.node(node));
    }

    void fail(int node, const catena::status& s) {
        out_.failure = "node " + std::to_string(node) + ": " + s.message;
        if (!device_.findings().empty()) out_.failure += " | " + device_.findings().back().message;
    }
};

}  // namespace

outcome run(const model& m, graph& g, const mode& how) { return engine(m, g, how).run(); }

double nmse(const std::vector<std::byte>& expected, const std::vector<std::byte>& found) {
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i + sizeof(float) <= expected.size(); i += sizeof(float)) {
        float a, b;
        std::memcpy(&a, &expected[i], sizeof(a));
        std::memcpy(&b, &found[i], sizeof(b));
        error += (double{a} - b) * (double{a} - b);
        size += double{a} * a;
    }
    if (error == 0) return 0;
    return size == 0 ? std::numeric_limits<double>::infinity() : error / size;
}

verdict judge(graph& reference, const outcome& seen) {
    const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(
        reference.nodes_context(), ggml_backend_cpu_buffer_type()));
    ggml_backend_buffer_clear(buffer.get(), 0);
    cpu oracle;
    verdict out;
    for (int i = 0; i < reference.size(); ++i) {
        ggml_tensor* node = reference.node(i);
        oracle.compute(node);
        const std::vector<std::byte>& found = seen.produced[static_cast<std::size_t>(i)];
        if (!computes(node)) continue;
        const bool by_step = seen.by_step[static_cast<std::size_t>(i)];
        const std::string what =
            "node " + std::to_string(i) + ", " + ggml_op_name(node->op) + " " + node->name;
        if (found.empty()) {
            if (!by_step && out.wrong.empty()) out.wrong = what + ": nobody computed it";
            continue;
        }
        const std::vector<std::byte> expected = bytes_of(node);
        ++(by_step ? out.step_nodes : out.engine_nodes);
        const double error = by_step ? nmse(expected, found) : expected == found ? 0 : 1;
        const double allowed = !by_step ? 0 : is_matmul(node) ? 5e-4 : 1e-7;
        if (!(error <= allowed) && out.wrong.empty())
            out.wrong = what + (by_step ? " of a step: NMSE " + std::to_string(error)
                                        : " of the engine: other bytes");
        ggml_backend_tensor_set(node, found.data(), 0, found.size());
    }
    return out;
}

std::vector<std::byte> computed_by_ggml(graph& g, int node) {
    ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    ggml_gallocr_alloc_graph(allocator.get(), g.cgraph());
    cpu().compute(g.cgraph());
    return bytes_of(g.node(node));
}

}  // namespace catena_test
