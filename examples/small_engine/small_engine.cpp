// matrix * (rms_norm(x) * weight), planned for an H100 and run on the CPU by the host executor.
#include "catena/format/codec.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/runtime.hpp"
using namespace catena;

int main() {
    exec::host_device machine;  // on a GPU: a CUDA stream, and memory of that GPU
    std::vector<tensor> t;
    const auto add = [&](op kind, format type, int k, int rows, int a = -1, int b = -1) {
        const std::int64_t row = row_bytes(type, k), all = row * rows;
        const auto memory = a < 0 ? exec::memory::constant : exec::memory::initialized;
        const auto data = machine.allocate<std::byte>("tensor", all, memory);
        std::ranges::copy(encode_row(type, std::vector(k * rows, 1.f)), data);
        t.push_back({.kind = kind, .type = type, .flags = flag_compute, .weight = rows > 1});
        tensor& v = t.back();
        v.ne[0] = k, v.ne[1] = rows, v.src[0] = a, v.src[1] = b, v.uses = 1, v.data = data;
        v.nb[0] = info(type).block_bytes, v.nb[1] = row, v.nb[2] = v.nb[3] = all;
        v.buffer = static_cast<int>(t.size());  // each has its own: nothing shares memory
    };
    add(op::none, format::f32, 512, 1), add(op::none, format::f32, 512, 1);  // x, weight
    add(op::none, format::q4_K, 512, 96), add(op::rms_norm, format::f32, 512, 1, 0);
    add(op::mul, format::f32, 512, 1, 3, 1), add(op::mul_mat, format::f32, 96, 1, 2, 4);
    const int nodes[] = {3, 4, 5};
    const plan p = planner{instances::on_host(instances::sm_90())}.plan({t.data(), 6, nodes, 3});
    void* scratch = machine.allocate<int>("", p.workspace_bytes(), exec::memory::initialized);
    for (int i = 0; i < p.size(); ++i)  // role::engine: run the node; role::covered: do nothing
        if (p.at(i).role == role::launch && !p.launch(i, &machine, scratch).ok()) return 1;
    std::printf("3 nodes, %d launches, result %g\n", p.counters().steps, *(float*)t[5].data);
}
