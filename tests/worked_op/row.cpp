// The op of docs/worked-op.md, through every stage: its chain, its place in a graph, a proved plan,
// and its kernel on the host executor beside the reference in double.
#include "catena/launch/row.hpp"
#include "catena/catena.hpp"
#include "catena/instances/host_instance.hpp"
#include "catena_test/invented.hpp"
#include "worked.hpp"

#include <cmath>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

constexpr auto smoothed = [] {
    using namespace catena::chain;
    return entry<"smoothed_glu">(glu | smooth | emit<format::f32> | quantize<format::q8_1> |
                                 group<mul_mat<format::q4_K>>);
}();
constexpr lowered_chain chains[] = {chain::lower(smoothed)};

constexpr row_computation computes = {.stages = stage_kind::glu | stage_kind::smooth,
                                      .emits = plain_and_q8_1};
constexpr row rows[] = {row_of(computes, kept_row), row_of(matvec_of(q4), wide_matvec)};
constexpr instances::host_instance kernel = instances::host_instance_of<computes, kept_row, void>();

table own_table() {
    static const void* const kernels[] = {reinterpret_cast<const void*>(kernel.run), nullptr};
    table t;
    t.target = &toy_arch;
    t.rows = rows, t.row_count = 2;
    t.chains = chains, t.chain_count = 1;
    t.kernels = kernels;
    t.launch = launch_host;
    return t;
}

constexpr int k = 512, tokens = 3;

void plan_it() {
    graph_builder g;
    const id value = g.glu(g.input(format::f32, {k, tokens}), g.input(format::f32, {k, tokens}));
    const id divided = g.same_shape(op::div, value, {value, g.weight(format::f32, {k})});
    g.matmul(format::q4_K, 64, divided);
    expect_plan(own_table(), g, {value, divided}, 0);
}

void run_it() {
    chain::inputs in;
    in.k = k, in.rows = tokens;
    in.gated_by.function = gate_function::silu;
    for (int i = 0; i < k * tokens; ++i) {
        in.x.push_back(std::sin(0.1f * static_cast<float>(i)));
        in[operand::gate].push_back(std::cos(0.3f * static_cast<float>(i)));
    }
    for (int i = 0; i < k; ++i) in[operand::smoothing].push_back(0.5f + static_cast<float>(i % 7));

    exec::host_device machine;
    row_args a;
    a.k = k, a.rows = a.n1 = tokens;
    a.function = gate_function::silu;
    a.x = put(machine, in.x);
    a.gate = put(machine, in[operand::gate]);
    a.smoothing = put(machine, in[operand::smoothing]);
    a.f32 = put(machine, in.x);
    a.x_at = a.gate_at = a.f32_at = {.nb1 = 4 * k};
    const status said = launch_row(own_table(), computes.stages, a, &machine);
    expect(said.ok(), said.message);
    expect_near(chain::reference(chains[0], in).value, a.f32, 1e-6);
}

}  // namespace

int main() {
    expect(std::string(chains[0].signature) ==
               "glu | smooth | emit<f32> | quantize<q8_1> | group<mul_mat<q4_K>>",
           std::string("the chain is called ") + chains[0].signature);
    plan_it();
    run_it();
    return wrong;
}
