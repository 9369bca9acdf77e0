#include "engine.hpp"

#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/step.hpp"

#include <ggml-alloc.h>
#include <ggml-cpu.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
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
            if (catena::recalls(catena::stages_of(s.what))) {
                ++out_.recalls;
                out_.recalled_nodes += s.node_count;
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

namespace {

/// The f32 values of a tensor's bytes.
std::vector<std::byte> as_f32(const ggml_tensor* t, const std::vector<std::byte>& bytes) {
    if (t->type == GGML_TYPE_F32) return bytes;
    std::vector<std::byte> out(sizeof(float) * static_cast<std::size_t>(ggml_nelements(t)));
    ggml_get_type_traits(t->type)->to_float(bytes.data(), reinterpret_cast<float*>(out.data()),
                                            ggml_nelements(t));
    return out;
}

std::string scientific(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", x);
    return text;
}

bool is_gelu(const ggml_tensor* t) {
    return (t->op == GGML_OP_UNARY && ggml_get_unary_op(t) == GGML_UNARY_OP_GELU) ||
           (t->op == GGML_OP_GLU && ggml_get_glu_op(t) == GGML_GLU_OP_GEGLU);
}

/// What a node with a GELU makes of its sources. ggml-cpu looks GELU up in a table of f16 numbers,
/// which is no yardstick for f32.
std::vector<std::byte> exact_gelu(const ggml_tensor* t) {
    const bool halves = t->op == GGML_OP_GLU && t->src[1] == nullptr;
    std::vector<float> out;
    const auto at = [](const ggml_tensor* of, std::int64_t row, std::int64_t i) {
        const std::int64_t last = of->ne[1], middle = of->ne[2];
        const auto offset = static_cast<std::size_t>(row % last) * of->nb[1] +
                            static_cast<std::size_t>(row / last % middle) * of->nb[2] +
                            static_cast<std::size_t>(row / last / middle) * of->nb[3];
        return double{
            reinterpret_cast<const float*>(static_cast<const char*>(of->data) + offset)[i]};
    };
    for (std::int64_t row = 0; row < ggml_nrows(t); ++row)
        for (std::int64_t i = 0; i < t->ne[0]; ++i) {
            const double x = at(t->src[0], row, i);
            const double y =
                0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
            const double times = t->op != GGML_OP_GLU ? 1
                                 : halves             ? at(t->src[0], row, i + t->ne[0])
                                                      : at(t->src[1], row, i);
            out.push_back(static_cast<float>(y * times));
        }
    std::vector<std::byte> bytes(out.size() * sizeof(float));
    std::memcpy(bytes.data(), out.data(), bytes.size());
    return bytes;
}

/// What an ARGSORT sorts, in the order of its result: ggml-cpu leaves the order of equal numbers
/// open. Empty if a number comes up twice.
std::vector<std::byte> sorted_numbers(const ggml_tensor* t, const std::vector<std::byte>& order) {
    std::vector<std::int32_t> ids(order.size() / sizeof(std::int32_t));
    std::memcpy(ids.data(), order.data(), order.size());
    const std::vector<std::byte> numbers = bytes_of(t->src[0]);
    const auto k = static_cast<std::size_t>(t->ne[0]);
    std::vector<std::byte> out;
    std::vector<bool> seen(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::size_t of = i / k * k + static_cast<std::uint32_t>(ids[i]);
        if (static_cast<std::uint32_t>(ids[i]) >= k || seen[of]) return {};
        seen[of] = true;
        const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(of * sizeof(float));
        out.insert(out.end(), first, first + sizeof(float));
    }
    return out;
}

/// The bytes of a node's result that a step makes. A GATED_DELTA_NET has its next state behind its
/// values; a step has that where a CPY leaves it.
std::size_t bytes_of_step(const ggml_tensor* t) {
    return t->op == GGML_OP_GATED_DELTA_NET
               ? sizeof(float) * static_cast<std::size_t>(ggml_nelements(t->src[2]))
               : ggml_nbytes(t);
}

/// How far a row step's result may be from ggml's: of a cache, by values that round the other way.
double allowed_of(ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q4_0:
            return 1e-3;
        case GGML_TYPE_Q8_0:
            return 1e-5;
        case GGML_TYPE_BF16:
        case GGML_TYPE_F16:
            return 1e-6;
        default:
            return 1e-7;
    }
}

}  // namespace

verdict judge(built& reference, const outcome& seen) {
    const ggml_backend_buffer_ptr buffer(ggml_backend_alloc_ctx_tensors_from_buft(
        reference.nodes_context(), ggml_backend_cpu_buffer_type()));
    ggml_backend_buffer_clear(buffer.get(), 0);
    reference.write_inputs();
    cpu oracle;
    verdict out;
    std::map<const ggml_tensor*, int> unwritten;  // matmuls behind a value that was never written
    for (int i = 0; i < reference.size(); ++i) {
        ggml_tensor* node = reference.node(i);
        oracle.compute(node);
        std::vector<std::byte> found = seen.produced[static_cast<std::size_t>(i)];
        int matmuls = is_matmul(node) ? 1 : 0;
        for (const ggml_tensor* s : node->src)
            if (const auto known = unwritten.find(s); known != unwritten.end())
                matmuls += known->second;
        if (found.empty()) unwritten[node] = matmuls;  // a view that names such a value too
        if (!computes(node)) continue;
        const bool by_step = seen.by_step[static_cast<std::size_t>(i)];
        const std::string what =
            "node " + std::to_string(i) + ", " + ggml_op_name(node->op) + " " + node->name;
        if (found.empty()) {
            if (!by_step && out.wrong.empty()) out.wrong = what + ": nobody computed it";
            continue;
        }
        std::vector<std::byte> expected =
            by_step && is_gelu(node) ? exact_gelu(node) : bytes_of(node);
        if (by_step) {
            found.resize(bytes_of_step(node));
            expected.resize(found.size());
        }
        ++(by_step ? out.step_nodes : out.engine_nodes);
        const bool numbers = by_step && node->type != GGML_TYPE_I32;
        const bool any_order = by_step && node->op == GGML_OP_ARGSORT && node->ne[0] > 16 &&
                               sorted_numbers(node, expected) == sorted_numbers(node, found);
        const double error = expected == found || any_order ? 0
                             : numbers ? nmse(as_f32(node, expected), as_f32(node, found))
                                       : 1;
        const bool by_matmul = seen.by_matmul[static_cast<std::size_t>(i)];
        const double allowed = !by_step    ? 0
                               : by_matmul ? 5e-4 * std::max(matmuls, 1)
                                           : allowed_of(node->type);
        if (!(error <= allowed) && out.wrong.empty())
            out.wrong = what + (by_step ? " of a step: NMSE " + scientific(error)
                                        : " of the engine: other bytes");
        ggml_backend_tensor_set(node, found.data(), 0, found.size());
    }
    const void* state = ggml_backend_buffer_get_base(reference.state());
    if (out.wrong.empty() && std::memcmp(state, seen.state.data(), seen.state.size()) != 0)
        out.wrong = "what lasts beyond the graph has other bytes at the end";
    return out;
}

std::vector<std::byte> computed_by_ggml(built& g, int node) {
    ggml_gallocr_ptr allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
    ggml_gallocr_alloc_graph(allocator.get(), g.cgraph());
    g.write_inputs();
    cpu().compute(g.cgraph());
    return bytes_of(g.node(node));
}

}  // namespace catena_test
