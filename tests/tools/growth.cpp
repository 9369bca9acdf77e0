// What explain takes of memory, and how that grows with a graph: bytes are counted, not time.
#include "report.hpp"
#include "tables.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/counted_memory.hpp"
#include "catena_test/graph_builder.hpp"

using namespace catena;
using namespace catena::tool;
using catena_test::allocated;
using catena_test::graph_builder;
using catena_test::id;

namespace {

json::graph named(graph_builder& b) {
    b.view();  // counts uses
    json::graph g;
    g.file = g.model = g.case_name = "made up";
    g.tensors = b.tensors;
    g.nodes = b.nodes;
    return g;
}

/// Layers of a norm and two matmuls, of which each may have a shape of its own.
json::graph deep(int layers, bool same_shapes) {
    graph_builder b;
    id x = b.input(format::f32, {256});
    for (int i = 1; i <= layers; ++i) {
        const id value = b.scaled_norm(x);
        b.matmul(format::q4_K, same_shapes ? 512 : 256 + 32 * i, value);
        x = b.matmul(format::q4_K, 256, value);
    }
    return named(b);
}

/// One value and its readers, whose results are added up one after the other. `offset`: of each
/// weight in memory, in bytes.
json::graph wide(int readers, int offset) {
    graph_builder b;
    const id value = b.scaled_norm(b.input(format::f32, {256}));
    id sum = b.matmul(format::q4_K, 256, value);
    for (int i = 1; i < readers; ++i) sum = b.add(sum, b.matmul(format::q4_K, 256, value));
    for (tensor& t : b.tensors)
        if (t.type == format::q4_K) t.data = static_cast<char*>(t.data) + offset;
    return named(b);
}

std::size_t bytes_to_explain(const json::graph& g) {
    const std::size_t before = allocated.total;
    as_text(make_report(g, table_for("sm_90")), false);
    return allocated.total - before;
}

}  // namespace

TEST_CASE("explain takes a few kB for each step", "[growth]") {
    const bool same_shapes = GENERATE(true, false);
    const json::graph g = deep(1000, same_shapes);
    const table t = table_for("sm_90");
    allocated.peak = allocated.live;
    const std::size_t before = allocated.live;
    const report r = make_report(g, t);
    const std::size_t kept = allocated.live - before, steps = r.plan.steps.size();
    as_text(r, false);
    CHECK(steps >= 1000);
    CHECK(kept / steps < 5000);
    CHECK((allocated.peak - before) / steps < 16000);  // while it is planned
}

TEST_CASE("explain allocates in proportion to the readers of one value", "[growth]") {
    const auto grows = [](int offset) {
        const std::size_t few = bytes_to_explain(wide(500, offset));
        const std::size_t many = bytes_to_explain(wide(4000, offset));
        return static_cast<double>(many) / static_cast<double>(few);
    };
    CHECK(grows(0) < 12);  // for 8 times as many
    CHECK(grows(1) < 12);  // no row reads weights at odd addresses
}
