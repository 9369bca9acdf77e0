// The op of docs/worked-op.md, through every stage: its chain, its place in a graph, a proved plan,
// and its kernel on the host executor beside the reference in double.
#include "catena/launch/row.hpp"
#include "catena/catena.hpp"
#include "catena/instances/host_instance.hpp"
#include "catena/planning.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"
#include "expect.hpp"

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
    options o;
    o.verify = true;
    const plan p = planner(own_table(), o).plan(g.view());
    expect(p.state().ok(), std::string("the plan: ") + p.state().message);
    expect(p.counters().proved == 1, "the plan is not proved");
    expect(p.steps().size() == 2, "the plan has " + std::to_string(p.steps().size()) + " steps");
    for (const id t : {value, divided})
        expect(p.at(g.position(t)).step == 0, "a node of the op is not in the first step");
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
    const auto put = [&machine](const std::vector<double>& values) {
        float* to = machine.allocate<float>("operand", static_cast<std::int64_t>(values.size()),
                                            exec::memory::initialized);
        for (const double v : values) *to++ = static_cast<float>(v);
        return to - values.size();
    };
    row_args a;
    a.k = k, a.rows = a.n1 = tokens;
    a.function = gate_function::silu;
    a.x = put(in.x);
    a.gate = put(in[operand::gate]);
    a.smoothing = put(in[operand::smoothing]);
    a.f32 = put(in.x);
    a.x_at = a.gate_at = a.f32_at = {.nb1 = 4 * k};
    const status said = launch_row(own_table(), computes.stages, a, &machine);
    expect(said.ok(), said.message);
    const std::vector<double> wanted = chain::reference(chains[0], in).value;
    double largest = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        largest = std::fmax(largest, std::fabs(wanted[i] - double{a.f32[i]}));
    expect(wanted.size() == in.x.size() && largest < 1e-6,
           "the kernel is " + std::to_string(largest) + " off the reference");
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
