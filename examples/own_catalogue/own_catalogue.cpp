// Plans matrix * layer_norm(2 * x) twice: with Catena's instances alone, and with those of the
// catalogue my_kernels beside them. Runs the second plan on the host executor.
#include "catena/format/codec.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/runtime.hpp"
#include "my_kernels/on_host.hpp"
#include "my_kernels/sm_90.hpp"

#include <cmath>

using namespace catena;

int main() {
    exec::host_device machine;
    std::vector<tensor> t;
    const auto add = [&](op kind, format type, int k, int rows, float value, int a = -1,
                         int b = -1) {
        const std::int64_t row = row_bytes(type, k), all = row * rows;
        const auto memory = a < 0 ? exec::memory::constant : exec::memory::initialized;
        const auto data = machine.allocate<std::byte>("tensor", all, memory);
        std::vector<float> values(k * rows, value);
        if (t.empty())
            for (int i = 0; i < k; i += 2) values[i] = -value;  // x: -1, 1, -1, ...
        std::ranges::copy(encode_row(type, values), data);
        t.push_back(
            {.kind = kind, .type = type, .flags = flag_compute, .weight = a < 0 && !t.empty()});
        tensor& v = t.back();
        v.ne[0] = k, v.ne[1] = rows, v.src[0] = a, v.src[1] = b, v.uses = 1, v.data = data;
        v.nb[0] = info(type).block_bytes, v.nb[1] = row, v.nb[2] = v.nb[3] = all;
        v.buffer = static_cast<int>(t.size());
    };
    add(op::none, format::f32, 512, 1, 1), add(op::none, format::f32, 512, 1, 3);  // x, weight
    add(op::none, format::f32, 512, 1, 0.5),
        add(op::none, format::q4_K, 512, 96, 1);  // bias, matrix
    add(op::scale, format::f32, 512, 1, 0, 0), add(op::norm, format::f32, 512, 1, 0, 4);
    add(op::mul, format::f32, 512, 1, 0, 5, 1), add(op::add, format::f32, 512, 1, 0, 6, 2);
    add(op::mul_mat, format::f32, 96, 1, 0, 3, 7);
    const float two = 2;
    std::memcpy(t[4].params, &two, sizeof two);
    const int nodes[] = {4, 5, 6, 7, 8};
    const graph_view graph = {t.data(), 9, nodes, 5};

    const table own = instances::on_host(instances::sm_90());
    const joined both = {own, my_kernels::on_host(my_kernels::sm_90())};
    const plan before = planner{own}.plan(graph), after = planner{both.rows()}.plan(graph);
    void* scratch = machine.allocate<int>("", after.workspace_bytes(), exec::memory::initialized);
    for (int i = 0; i < after.size(); ++i)
        if (after.at(i).role == role::launch && !after.launch(i, &machine, scratch).ok()) return 1;
    const auto left = [](const plan& p) {
        int nodes = 0;
        for (int i = 0; i < p.size(); ++i) nodes += p.at(i).role == role::engine;
        return nodes;
    };
    const float result = *(float*)t[8].data;  // 512 * bias: the rest cancels out
    std::printf("5 nodes: %d left to the engine without %s, %d with it; result %g\n", left(before),
                after.explain().chains[0].name.c_str(), left(after), result);
    return std::fabs(result - 256) < 2.56 && left(after) == 0 ? 0 : 1;  // 1 %: x is quantized
}
