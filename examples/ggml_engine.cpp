// An engine on ggml with Catena in it. ggml's CPU backend runs the nodes that a plan leaves to the
// engine; the host executor takes the place of the GPU and runs the steps of an sm_90 plan. In a
// backend of a GPU only the machine differs: it is a cudaStream_t, with memory of that GPU.
#include "catena/engine/ggml/backend_planner.hpp"
#include "catena/exec/host.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/explain.hpp"
#include "catena/runtime.hpp"

#include <ggml-alloc.h>
#include <ggml-cpp.h>
#include <ggml-cpu.h>

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

/// What the engine has without Catena: a way to run one node.
class cpu {
  public:
    void run(ggml_tensor* node) {
        ggml_graph_clear(one_);
        ggml_graph_add_node(one_, node);
        run(one_);
    }
    void run(ggml_cgraph* graph) { ggml_backend_graph_compute(backend_.get(), graph); }

  private:
    ggml_backend_ptr backend_{ggml_backend_cpu_init()};
    ggml_context_ptr context_{ggml_init({ggml_graph_overhead(), nullptr, true})};
    ggml_cgraph* one_ = ggml_new_graph(context_.get());
};

/// What the engine has for Catena.
class engine {
  public:
    /// The machine of this example must know all memory that kernels may touch. A GPU needs no such
    /// thing.
    void declare(const char* name, ggml_backend_buffer_t buffer, catena::exec::memory kind) {
        machine_.add(name, ggml_backend_buffer_get_base(buffer),
                     ggml_backend_buffer_get_size(buffer), kind);
    }

    bool compute(ggml_cgraph* graph) {
        catena::ggml::knowledge known;
        known.whole_graph = true;  // nobody outside reads a value that is not flagged OUTPUT
        catena::status state;
        const catena::plan* found = planner_.before_walk({graph, 0, known}, state);
        if (found == nullptr) return report(state);
        const catena::plan& plan = *found;
        void* workspace = nullptr;  // a plan may need none
        if (plan.workspace_bytes() > 0)
            workspace = machine_.allocate<std::byte>(
                "workspace", static_cast<std::size_t>(plan.workspace_bytes()),
                catena::exec::memory::uninitialized);
        for (int i = 0; i < plan.size(); ++i) {
            if (plan.at(i).role == catena::role::engine) cpu_.run(ggml_graph_node(graph, i));
            if (plan.at(i).role != catena::role::launch) continue;
            if (const catena::status s = plan.launch(i, &machine_, workspace); !s.ok())
                return report(s);
        }
        const catena::explanation what = plan.explain();
        std::printf("%d nodes: %d steps of Catena, %d launches left to the engine\n", plan.size(),
                    what.launches, what.engine_launches);
        for (const catena::explained_step& step : what.steps)
            std::printf("  %zu nodes by %s\n", step.nodes.size(), step.instance.c_str());
        return true;
    }

  private:
    cpu cpu_;
    catena::exec::host_device machine_;
    catena::ggml::backend_planner planner_{catena::instances::on_host(catena::instances::sm_90())};

    static bool report(const catena::status& s) {
        std::fprintf(stderr, "%s\n", s.message);
        return false;
    }
};

constexpr int hidden = 512, ffn = 256;

/// A feed-forward layer: gate and up read one norm, down reads their SwiGLU.
struct layer {
    ggml_context_ptr weights{ggml_init({8 * ggml_tensor_overhead(), nullptr, true})};
    ggml_tensor* norm = ggml_new_tensor_1d(weights.get(), GGML_TYPE_F32, hidden);
    ggml_tensor* gate = ggml_new_tensor_2d(weights.get(), GGML_TYPE_Q4_K, hidden, ffn);
    ggml_tensor* up = ggml_new_tensor_2d(weights.get(), GGML_TYPE_Q4_K, hidden, ffn);
    ggml_tensor* down = ggml_new_tensor_2d(weights.get(), GGML_TYPE_Q6_K, ffn, hidden);
    ggml_backend_buffer_ptr buffer{
        ggml_backend_alloc_ctx_tensors_from_buft(weights.get(), ggml_backend_cpu_buffer_type())};

    layer() {
        for (ggml_tensor* t : {norm, gate, up, down}) fill(t);
        ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    }

    static void fill(ggml_tensor* t) {
        std::vector<float> values(static_cast<std::size_t>(ggml_nelements(t)));
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::sin(static_cast<float>(i * i % 9973)) / 8;
        std::vector<char> bytes(ggml_nbytes(t));
        ggml_quantize_chunk(t->type, values.data(), bytes.data(), 0, ggml_nrows(t), t->ne[0],
                            nullptr);
        ggml_backend_tensor_set(t, bytes.data(), 0, bytes.size());
    }

    ggml_tensor* build(ggml_context* c, ggml_tensor* x) const {
        ggml_tensor* n = ggml_mul(c, ggml_rms_norm(c, x, 1e-6f), norm);
        ggml_tensor* h = ggml_swiglu_split(c, ggml_mul_mat(c, gate, n), ggml_mul_mat(c, up, n));
        return ggml_add(c, ggml_mul_mat(c, down, h), x);
    }
};

/// The graph of one token, allocated: its input, then what the nodes write.
struct token {
    ggml_context_ptr context{
        ggml_init({32 * ggml_tensor_overhead() + ggml_graph_overhead(), nullptr, true})};
    ggml_cgraph* graph = ggml_new_graph(context.get());
    ggml_tensor* x = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, hidden);
    ggml_gallocr_ptr memory{ggml_gallocr_new(ggml_backend_cpu_buffer_type())};
    ggml_tensor* y;

    explicit token(const layer& l) : y(l.build(context.get(), x)) {
        ggml_set_input(x);
        ggml_set_output(y);
        ggml_build_forward_expand(graph, y);
        ggml_gallocr_alloc_graph(memory.get(), graph);
        layer::fill(x);
    }

    std::vector<float> result() const {
        std::vector<float> out(hidden);
        ggml_backend_tensor_get(y, out.data(), 0, ggml_nbytes(y));
        return out;
    }
};

}  // namespace

int main() {
    const layer l;
    const token plain(l);
    cpu().run(plain.graph);

    const token planned(l);
    engine e;
    e.declare("weights", l.buffer.get(), catena::exec::memory::constant);
    e.declare("values", planned.y->buffer, catena::exec::memory::initialized);
    if (!e.compute(planned.graph)) return 1;

    double error = 0, size = 0;
    const std::vector<float> expected = plain.result(), found = planned.result();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        error += std::pow(double{expected[i]} - found[i], 2);
        size += std::pow(double{expected[i]}, 2);
    }
    std::printf("error against ggml alone: NMSE %.1e\n", error / size);
    return error / size <= 5e-4 ? 0 : 1;
}
