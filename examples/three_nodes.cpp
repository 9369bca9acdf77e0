// Plans a graph of three nodes, x -> RMS_NORM -> MUL(weight) -> MUL_MAT(q4_K), for an H100 and
// prints the plan. Then an engine walks a plan that leaves every node to it.
#include "catena/instances/sm_90.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/runtime.hpp"

#include <cstdio>

bool compute(const catena::plan& plan, void* stream, void* workspace);

int nodes_run = 0;
void run_myself(int node) {
    std::printf("  the engine runs node %d\n", node);
    ++nodes_run;
}
void report(const char* message) { std::printf("  %s\n", message); }

namespace {

enum { x, norm_weight, matrix, norm, scaled, product, tensor_count };

constexpr int k = 4096, rows = 4096;

/// A contiguous tensor in a memory block of its own.
catena::tensor make(catena::op kind, catena::format type, int ne0, int ne1, int buffer) {
    catena::tensor t;
    t.kind = kind;
    t.type = type;
    t.flags = kind == catena::op::none ? 0 : catena::flag_compute;
    t.ne[0] = ne0;
    t.ne[1] = ne1;
    t.nb[0] = catena::info(type).block_bytes;
    t.nb[1] = catena::row_bytes(type, ne0);
    t.nb[2] = t.nb[3] = t.nb[1] * ne1;
    t.buffer = buffer;
    return t;
}

}  // namespace

int main() {
    using catena::format;
    using catena::op;
    catena::tensor tensors[tensor_count];
    tensors[x] = make(op::none, format::f32, k, 1, x);
    tensors[norm_weight] = make(op::none, format::f32, k, 1, norm_weight);
    tensors[matrix] = make(op::none, format::q4_K, k, rows, matrix);
    tensors[norm] = make(op::rms_norm, format::f32, k, 1, norm);
    tensors[scaled] = make(op::mul, format::f32, k, 1, scaled);
    tensors[product] = make(op::mul_mat, format::f32, rows, 1, product);
    tensors[norm_weight].weight = tensors[matrix].weight = true;
    tensors[norm].src[0] = x;
    tensors[scaled].src[0] = norm;
    tensors[scaled].src[1] = norm_weight;
    tensors[product].src[0] = matrix;
    tensors[product].src[1] = scaled;
    tensors[norm].uses = tensors[scaled].uses = 1;
    const int nodes[] = {norm, scaled, product};
    catena::graph_view graph;
    graph.tensors = tensors;
    graph.tensor_count = tensor_count;
    graph.nodes = nodes;
    graph.node_count = 3;

    const catena::plan plan = catena::planner{catena::instances::sm_90()}.plan(graph);
    std::printf("on an H100:\n");
    for (int i = 0; i < plan.size(); ++i)
        std::printf("  node %d: %s\n", i, catena::name(plan.at(i).role));
    std::printf("%s\n", to_string(plan.explain()).c_str());

    std::printf("without instances:\n");
    const catena::plan nothing = catena::planner{catena::table{}}.plan(graph);
    report(nothing.state().message);
    const bool done = compute(nothing, nullptr, nullptr);
    return done && nodes_run == 3 && plan.counters().served == 1 ? 0 : 1;
}
