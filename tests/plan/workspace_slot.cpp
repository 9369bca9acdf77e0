// Activations that share a slot of the workspace: each must stay there until its last reader has
// been launched, wherever the step that makes the next one is launched.
#include "cases.hpp"
#include "random/allocate.hpp"
#include "replay_workspace.hpp"

#include "catena/instances/all.hpp"

using namespace catena;
using namespace catena_test;

namespace {

/// Experts whose weights die early. The result of a matmul takes their memory, so the row step that
/// adds up the experts and norms the sum must be launched at the MUL by these weights.
struct early_sum_case {
    graph_builder g;
    id a = g.other({g.input(format::f32, {256})});
    id p = g.matmul(format::q4_K, 256, a);
    id all = g.node(op::other, format::f32, {256, 2}, {a});
    id residual = g.other({a});
    id weights = g.node(op::other, format::f32, {1, 2}, {a});
    id weighted = g.mul(all, weights);
    id q = g.matmul(format::q4_K, 256, a);
    id sum = g.add(g.view(weighted, {256}, 0), g.view(weighted, {256}, 1024));
    id joined = g.add(sum, residual);
    id y = g.scaled_norm(joined);
    id z = g.matmul(format::q4_K, 256, y);

    early_sum_case() {
        std::mt19937 random;
        allocate_all(g, {p, q, z}, {}, {fit::best}, random);
    }
};

}  // namespace

TEST_CASE("an activation stays in its slot while a later one is made early", "[slots]") {
    const char* arch = GENERATE("sm_75", "sm_90", "sm_120");
    INFO(arch);
    early_sum_case c;
    REQUIRE(c.g[c.q].offset == c.g[c.weights].offset);
    checked_plan(c.g, instances::table_named(arch));
}
