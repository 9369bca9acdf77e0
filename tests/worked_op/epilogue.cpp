// The op of docs/worked-epilogue-op.md, through every stage: its chain, its place in a graph, a
// proved plan, and its kernel on the host executor beside the reference in double.
#include "catena/catena.hpp"
#include "catena/instances/host_instance.hpp"
#include "catena_test/invented.hpp"
#include "worked.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

constexpr auto clamped = [] {
    using namespace catena::chain;
    return entry<"clamped_products">(rms_norm | mul(weight) | emit<format::f32> |
                                     mul_mat<format::f32, format::f16> | epilogue<chain::clamp>);
}();
constexpr lowered_chain chains[] = {chain::lower(clamped)};

constexpr product_computation computes = [] {
    product_computation c = matvec_of_floats;
    c.epilogue = epilogue_set::of(epilogue_part::clamp);
    return c;
}();
constexpr row rows[] = {row_of(norm_row, kept_row), row_of(computes, float_matvec)};
constexpr instances::host_instance kernel =
    instances::host_instance_of<computes, float_matvec, void>();

table own_table() {
    static const void* const kernels[] = {nullptr, reinterpret_cast<const void*>(kernel.run)};
    table t;
    t.target = &toy_arch;
    t.rows = rows, t.row_count = 2;
    t.chains = chains, t.chain_count = 1;
    t.kernels = kernels;
    t.launch = launch_host;
    return t;
}

constexpr int k = 512, results = 24, tokens = 3;
constexpr float low = -0.5f, high = 2;

void plan_it() {
    graph_builder g;
    const id product =
        g.matmul(format::f32, results, g.scaled_norm(g.input(format::f32, {k, tokens})));
    const id kept = g.same_shape(op::clamp, product, {product});
    std::memcpy(&g[kept].params[0], &low, sizeof low);
    std::memcpy(&g[kept].params[1], &high, sizeof high);
    expect_plan(own_table(), g, {product, kept}, 1);
}

std::vector<double> waves(int count, double step) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) out.push_back(std::sin(step * i) / 4);
    return out;
}

void run_it() {
    chain::inputs in;
    in.k = k, in.rows = tokens;
    in.x = waves(k * tokens, 0.7);
    in[operand::weight].assign(k, 1);
    in.eps = 1e-6;
    chain::matrix m;
    m.type = format::f32;
    m.rows = results;
    m.values = waves(k * results, 0.3);
    m.numbers.low = low, m.numbers.high = high;
    in.matrices = {m};
    const chain::outputs wanted = chain::reference(chains[0], in);

    exec::host_device machine;
    product_problem asked;
    asked.needs = computes;
    asked.needs.weights = format_set::of(format::f32);
    asked.k = k, asked.columns = tokens;
    asked.member_count = 1;
    asked.member[0] = {.type = format::f32, .rows = results};
    const launch_shape shape = shape_of_launch(rows[1], asked, toy_arch, 1);

    matvec_args a;
    a.x = put(machine, wanted.value), a.x_bytes = 4 * k;
    a.k = k, a.columns = tokens;
    a.band_rows = shape.band, a.bands = bands_of(asked, shape.band);
    a.members = 1;
    matvec_member& one = a.member[0];
    one.type = format::f32;
    one.rows = results;
    one.weight = put(machine, m.values), one.row_bytes = 4 * k;
    one.weight_bytes = one.expert_bytes = 4 * k * results;
    float* const found = put(machine, wanted.products[0]);
    one.dst = found, one.dst_nb1 = 4 * results;
    one.low = low, one.high = high;
    const table t = own_table();
    const status said =
        t.launch(t.kernels[1], config_of(rows[1], asked, toy_arch, shape), &a, sizeof a, &machine);
    expect(said.ok(), said.message);

    expect_near(wanted.products[0], found, 1e-5);
    const auto kept = std::count_if(wanted.products[0].begin(), wanted.products[0].end(),
                                    [](double v) { return v == double{low} || v == double{high}; });
    expect(kept > 0 && kept < results * tokens, "all products are bounds, or none is");
}

}  // namespace

int main() {
    expect(std::string(chains[0].signature) ==
               "rms_norm | mul(weight) | emit<f32> | mul_mat<f32, f16> | epilogue<clamp>",
           std::string("the chain is called ") + chains[0].signature);
    plan_it();
    run_it();
    return wrong;
}
