// MOE_FFNs on the host executor, and in the graph of a model.
#include "moe_layer.hpp"

#include "catena/engine/json.hpp"
#include "catena/exec/host/launch.hpp"
#include "catena/format/random.hpp"
#include "catena/instances/host.hpp"
#include "catena/match/moe_ffn.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/verify.hpp"

#include <span>

using namespace catena;
using namespace catena_test;

namespace {

/// Memory of a graph on the host executor, with the same numbers in the leaves of each graph.
class host_memory {
  public:
    explicit host_memory(graph_builder& g) {
        std::uint64_t leaves = 0;
        for (tensor& t : g.tensors) {
            if (t.view_src != no_tensor) continue;
            const auto bytes = static_cast<std::size_t>(extent_bytes(t));
            const bool leaf = t.kind == op::none;
            auto* const at = take("tensor", bytes,
                                  t.weight ? exec::memory::constant
                                  : leaf   ? exec::memory::initialized
                                           : exec::memory::uninitialized);
            t.data = at;
            if (!leaf) continue;
            ++leaves;
            if (t.type == format::f32)
                fill_random_values(leaves, 0, std::span(reinterpret_cast<float*>(at), bytes / 4));
            else
                fill_random_blocks(t.type, leaves, 0, std::span(at, bytes));
        }
        for (tensor& t : g.tensors) {
            if (t.view_src == no_tensor) continue;
            const tensor& of = g[t.view_src];
            t.data = static_cast<std::byte*>(of.data) + (t.offset - of.offset);
        }
    }

    std::byte* take(const char* name, std::size_t bytes, exec::memory kind) {
        return device_.allocate<std::byte>(name, bytes, kind);
    }

    /// Computes a plan that covers all, as an engine's loop does.
    void walk(const plan& p) {
        void* const workspace = take("workspace", static_cast<std::size_t>(p.workspace_bytes()),
                                     exec::memory::uninitialized);
        for (int i = 0; i < p.size(); ++i) {
            if (p.at(i).role != role::launch) continue;
            const status launched = p.launch(i, &device_, workspace);
            CHECK(launched.message == std::string());
        }
    }

  private:
    exec::host_device device_{1};
};

std::vector<float> computed(const moe_shape& shape, bool whole) {
    moe_layer c(shape, whole);
    host_memory memory(c);
    graph_view view = c.seen();
    const std::int64_t bytes = scratch_bytes(view);
    CHECK((bytes > 0) == whole);
    if (whole)
        view.scratch =
            memory.take("scratch", static_cast<std::size_t>(bytes), exec::memory::uninitialized);
    const plan p = planner(instances::on_host(instances::sm_90())).plan(view);
    for (int i = 0; i < p.size(); ++i)
        CHECK((p.at(i).role != role::engine || launches_nothing(view.node(i).kind)));
    memory.walk(p);
    const auto* const first = static_cast<const float*>(c[c.sum].data);
    return {first, first + elements(c[c.sum])};
}

/// Gives each result of a file memory of its own, so that no plan depends on what an engine reuses.
void spread(json::graph& g) {
    std::uint64_t end = 0;
    for (const std::int32_t n : g.nodes) {
        tensor& t = g.tensors[static_cast<std::size_t>(n)];
        if (t.view_src == no_tensor) {
            t.buffer = 100;
            t.offset = end;
            end += static_cast<std::uint64_t>(allocated_bytes(t) + 255) / 256 * 256;
            continue;
        }
        const tensor& of = g.tensors[static_cast<std::size_t>(t.view_src)];
        const std::uint64_t inside =
            t.kind == op::view ? static_cast<std::uint32_t>(t.params[0]) : 0;
        if (of.buffer == 100) t.buffer = 100, t.offset = of.offset + inside;
    }
}

/// A file in which each router with its experts is one node, as an engine with MOE_FFN builds it.
json::graph with_moe_ffn(const json::graph& g) {
    json::graph out = g;
    out.nodes.clear();
    std::int32_t router = no_tensor;
    std::vector<std::int32_t> experts;
    for (const std::int32_t n : g.nodes) {
        const tensor& t = g.tensors[static_cast<std::size_t>(n)];
        const std::string name = t.name;
        if (name.rfind("ffn_moe_logits", 0) == 0) router = n, experts.clear();
        if (router != no_tensor && t.kind == op::mul_mat_id) experts.push_back(t.src[0]);
        if (router == no_tensor) out.nodes.push_back(n);
        if (name.rfind("ffn_moe_out", 0) != 0) continue;
        const tensor& logits = g.tensors[static_cast<std::size_t>(router)];
        tensor& whole = out.tensors[static_cast<std::size_t>(n)];
        whole.kind = op::moe_ffn;
        whole.op_name = "MOE_FFN";
        const std::int32_t sources[] = {logits.src[1], logits.src[0], experts[1], experts[0],
                                        experts[2]};
        std::copy(std::begin(sources), std::end(sources), whole.src);
        whole.params[0] = 8;
        out.nodes.push_back(n);
        router = no_tensor;
    }
    for (const std::int32_t n : g.nodes)
        if (std::find(out.nodes.begin(), out.nodes.end(), n) == out.nodes.end())
            out.tensors[static_cast<std::size_t>(n)] = {};
    for (tensor& t : out.tensors) t.uses = 0;
    for (const std::int32_t n : out.nodes)
        for (const std::int32_t s : out.tensors[static_cast<std::size_t>(n)].src)
            if (s != no_tensor) ++out.tensors[static_cast<std::size_t>(s)].uses;
    return out;
}

}  // namespace

TEST_CASE("a MOE_FFN computes the bits of the nodes that it stands for", "[plan][moe_ffn]") {
    each_moe_shape([](const moe_shape& s) {
        const std::vector<float> one = computed(s, true), all = computed(s, false);
        CHECK(one == all);
        CHECK(std::count(one.begin(), one.end(), 0.0f) < 4);
    });
}

TEST_CASE("the layers of Qwen3-30B get the steps that they get node by node", "[plan][moe_ffn]") {
    json::graph file = json::read(CATENA_TEST_DATA "/graphs/qwen3-30b-a3b-q4km.tg1.json.gz");
    spread(file);
    const json::graph one = with_moe_ffn(file);
    REQUIRE(file.nodes.size() - one.nodes.size() == 48 * 31);
    const std::vector<tensor> tensors = with_addresses(one.view());
    graph_view view = one.view();
    view.tensors = tensors.data();
    view.scratch = somewhere;
    const plan p = planned(view);
    check_same_steps(p, planned(file.view()));
    CHECK(p.explain().engine_launches == planned(file.view()).explain().engine_launches);
    CHECK(verify(view, p).proved);
    check_walk(view, p);
    CHECK(scratch_bytes(view) < 600000);
}