// Plans leaky(matrix * tanh(matrix * bounded(rms_norm(x) * weight))) with ops of one's own, proves
// the plan, and runs it on the host executor.
#include "catena/format/codec.hpp"
#include "catena/plan/verify.hpp"
#include "catena/runtime.hpp"
#include "my_ops/on_host.hpp"
#include "my_ops/sm_90.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

using namespace catena;

int main() {
    exec::host_device machine;
    std::vector<tensor> t;
    const auto add = [&](op kind, format type, int k, int rows, std::vector<int> src,
                         std::vector<float> with) {
        const std::int64_t row = row_bytes(type, k), all = row * rows;
        const auto memory = src.empty() ? exec::memory::constant : exec::memory::initialized;
        const auto data = machine.allocate<std::byte>("tensor", all, memory);
        if (src.empty()) {  // a leaf of two numbers in turns
            std::vector<float> values(k * rows, with[0]);
            for (std::size_t i = 1; i < values.size(); i += 2) values[i] = with[1];
            std::ranges::copy(encode_row(type, values), data);
        }
        t.push_back({.kind = kind,
                     .type = type,
                     .flags = flag_compute,
                     .weight = src.empty() && !t.empty()});
        tensor& v = t.back();
        std::copy(src.begin(), src.end(), v.src);
        if (!src.empty())
            std::ranges::transform(with, v.params, std::bit_cast<std::int32_t, float>);
        v.ne[0] = k, v.ne[1] = rows, v.uses = 1, v.data = data;
        v.nb[0] = info(type).block_bytes, v.nb[1] = row, v.nb[2] = v.nb[3] = all;
        v.buffer = static_cast<int>(t.size());
    };
    add(op::none, format::f32, 256, 1, {}, {1, -1}), add(op::none, format::f32, 256, 1, {}, {3, 3});
    add(op::none, format::q4_K, 256, 256, {}, {1 / 256.f, 1 / 256.f});
    add(op::none, format::q4_K, 256, 64, {}, {-1 / 64.f, -1 / 64.f});
    add(op::rms_norm, format::f32, 256, 1, {0}, {0}), add(op::mul, format::f32, 256, 1, {4, 1}, {});
    add(op::clamp, format::f32, 256, 1, {5}, {-1, 2});  // 2, -1, 2, -1, ...
    add(op::mul_mat, format::f32, 256, 1, {2, 6}, {}), add(op::unary, format::f32, 256, 1, {7}, {});
    add(op::mul_mat, format::f32, 64, 1, {3, 8}, {}),
        add(op::other, format::f32, 64, 1, {9}, {0.1f});
    t[8].sub = sub_op::tanh, t[10].op_name = "LEAKY_RELU";
    const int nodes[] = {4, 5, 6, 7, 8, 9, 10};
    const graph_view graph = {t.data(), 11, nodes, 7};

    const plan made = planner{my_ops::on_host(my_ops::sm_90())}.plan(graph);
    const verification proof = verify(graph, made);
    void* scratch = machine.allocate<int>("", made.workspace_bytes(), exec::memory::initialized);
    int launches = 0;
    for (int i = 0; i < made.size(); ++i)
        if (made.at(i).role == role::launch && ++launches)
            if (!made.launch(i, &machine, scratch).ok()) return 1;
    const float result = *(float*)t[10].data;
    const double wanted = -0.1 * 256 / 64 * std::tanh(0.5);
    std::printf("7 nodes in %d launches, proved: %s; result %g, wanted %g\n", launches,
                proof.proved ? "yes" : proof.state.message, result, wanted);
    return proof.proved && launches == 3 && std::fabs(result - wanted) < 0.01 ? 0 : 1;
}
