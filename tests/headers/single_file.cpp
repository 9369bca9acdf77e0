// An engine in C++17 that has nothing of Catena but catena_runtime.hpp and the instances of sm_90.
#define CATENA_DEFINE_PLANNER
#include "catena_runtime.hpp"

#include <cstdio>
#include <vector>

namespace {

int launched = 0, run = 0;
const void* launched_with = nullptr;

catena::status count_launch(const void*, const catena::launch_config& config, const void* args,
                            std::size_t bytes, void*) noexcept {
    if (config.blocks > 0 && bytes > 0) ++launched;
    launched_with = args;
    return {};
}

bool compute(const catena::plan& plan, void* workspace) {
    for (int i = 0; i < plan.size(); ++i) {
        if (plan.at(i).role == catena::role::engine) ++run;
        if (plan.at(i).role != catena::role::launch) continue;
        if (const catena::status s = plan.launch(i, nullptr, workspace); !s.ok()) {
            std::printf("%s\n", s.message);
            return false;
        }
    }
    return true;
}

enum { x, norm_weight, matrix, norm, scaled, product, tensor_count };

alignas(256) unsigned char memory[1 << 20];

/// A tensor of [512] f32, or of [512, 96] q4_K.
catena::tensor tensor_of(catena::op kind, catena::format type, int place) {
    catena::tensor t;
    t.kind = kind;
    t.type = type;
    t.flags = kind == catena::op::none ? 0 : catena::flag_compute;
    t.weight = place == norm_weight || place == matrix;
    t.ne[0] = place == product ? 96 : 512;
    t.ne[1] = place == matrix ? 96 : 1;
    t.nb[0] = catena::info(type).block_bytes;
    t.nb[1] = catena::row_bytes(type, t.ne[0]);
    t.nb[2] = t.nb[3] = t.nb[1] * t.ne[1];
    t.buffer = place;
    t.data = memory + (place << 16);
    t.uses = 1;
    return t;
}

}  // namespace

int main() {
    using catena::format;
    using catena::op;
    std::vector<catena::tensor> tensors(tensor_count);
    for (const int place : {x, norm_weight})
        tensors[place] = tensor_of(op::none, format::f32, place);
    tensors[matrix] = tensor_of(op::none, format::q4_K, matrix);
    tensors[norm] = tensor_of(op::rms_norm, format::f32, norm);
    tensors[scaled] = tensor_of(op::mul, format::f32, scaled);
    tensors[product] = tensor_of(op::mul_mat, format::f32, product);
    tensors[norm].src[0] = x;
    tensors[scaled].src[0] = norm;
    tensors[scaled].src[1] = norm_weight;
    tensors[product].src[0] = matrix;
    tensors[product].src[1] = scaled;
    const int nodes[] = {norm, scaled, product};
    catena::graph_view graph;
    graph.tensors = tensors.data();
    graph.tensor_count = tensor_count;
    graph.nodes = nodes;
    graph.node_count = 3;

    catena::table rows = catena::instances::sm_90();
    const std::vector<const void*> kernels(static_cast<std::size_t>(rows.row_count), memory);
    rows.kernels = kernels.data();
    rows.launch = count_launch;
    const catena::plan plan = catena::planner{rows}.plan(graph);
    if (!plan.state().ok()) std::printf("%s\n", plan.state().message);
    const bool proved = catena::verify(graph, plan).proved;
    const bool done = compute(plan, memory + (tensor_count << 16));
    std::printf("%d launched, %d left to the engine, %s\n", launched, run,
                proved ? "proved" : "not proved");
    return done && proved && launched > 0 && launched_with != nullptr && run == 0 ? 0 : 1;
}
