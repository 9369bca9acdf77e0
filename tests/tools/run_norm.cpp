// Steps that make the norm of their activation themselves are run and compared, too.
#include "run/check.hpp"

#include "catena/exec/host.hpp"
#include "catena/exec/host/launch.hpp"
#include "catena/kernel/layout.hpp"
#include "catena/kernel/matvec.hpp"
#include "catena/plan/step.hpp"

#include "catena_test/catch.hpp"
#include "small_graph.hpp"
#include "tables.hpp"

#include <nlohmann/json.hpp>

#include <utility>
#include <vector>

using namespace catena;
using namespace catena::tool;

namespace {

constexpr format_set q4 = format_set::of(format::q4_K);

constexpr matvec_policy two_columns = {.threads = 64,
                                       .rows = 2,
                                       .columns = 2,
                                       .piece = 1024,
                                       .stages = 2,
                                       .activation = activation_source::shared,
                                       .placement = norm_placement::deferred};

void right(exec::host& x, const void* args) {
    kernel::matvec_body<exec::host, two_columns, q4>(x, *static_cast<const matvec_args*>(args));
}

void with_another_eps(exec::host& x, const void* args) {
    auto a = *static_cast<const matvec_args*>(args);
    a.eps = 0.1f;
    right(x, &a);
}

/// What the only step of the small graph is found to be, run by this kernel.
step_result result_of(host_kernel kernel) {
    const json::graph g = json::parse(catena_test::small_graph().dump(), "small.json");
    const auto on = host_machine(1);
    const tool::placement where{g, *on};
    table t = on->equip(table_for("sm_90"));
    std::vector<row> rows(t.rows, t.rows + t.row_count);
    std::vector<const void*> kernels(t.kernels, t.kernels + t.row_count);
    row normed;
    normed.computes = product_computation{.kind = skeleton::matvec,
                                          .stages = stage_kind::rms_norm | stage_kind::mul_weight,
                                          .activation = format::q8_1,
                                          .weights = q4,
                                          .epilogue = {}};
    normed.policy = two_columns;
    normed.order = order_of(normed.policy);
    rows.push_back(normed);
    kernels.push_back(reinterpret_cast<const void*>(kernel));
    arch dear = *t.target;
    dear.node_us = 1e6;
    t.rows = rows.data();
    t.row_count = static_cast<int>(rows.size());
    t.kernels = kernels.data();
    t.device = dear;
    const plan p = planner{t}.plan(where.view());
    REQUIRE(p.steps().size() == 1);
    REQUIRE(p.steps()[0].row == t.row_count - 1);
    return checker{p, where, *on, {}}.run(0);
}

}  // namespace

TEST_CASE("a step that makes its norm itself agrees with the norm's reference", "[run]") {
    const step_result r = result_of(&right);
    INFO(r.fault);
    CHECK(r.ok());
    REQUIRE(r.comparisons.size() == 2);
    CHECK(r.comparisons[0].of == "product, same activation");
}

TEST_CASE("a step that makes another norm is found", "[run]") {
    const step_result r = result_of(&with_another_eps);
    CHECK(r.fault == "");
    CHECK_FALSE(r.ok());
}
