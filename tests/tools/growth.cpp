// What explain takes of memory, and how that grows with a graph: bytes are counted, not time.
#include "report.hpp"
#include "tables.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

/// Bytes that operator new gave out: now, at most, and all together.
struct {
    std::size_t live = 0, peak = 0, total = 0;
} bytes;

}  // namespace

void* operator new(std::size_t size) {
    void* p = std::malloc(size);
    if (p == nullptr) throw std::bad_alloc{};
    const std::size_t got = malloc_usable_size(p);
    bytes.live += got;
    bytes.total += got;
    bytes.peak = std::max(bytes.peak, bytes.live);
    return p;
}
void operator delete(void* p) noexcept {
    bytes.live -= malloc_usable_size(p);
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

using namespace catena;
using namespace catena::tool;
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

std::size_t allocated(const json::graph& g) {
    const std::size_t before = bytes.total;
    as_text(make_report(g, table_for("sm_90")), false);
    return bytes.total - before;
}

}  // namespace

TEST_CASE("explain takes a few kB for each step", "[growth]") {
    const bool same_shapes = GENERATE(true, false);
    const json::graph g = deep(1000, same_shapes);
    const table t = table_for("sm_90");
    bytes.peak = bytes.live;
    const std::size_t before = bytes.live;
    const report r = make_report(g, t);
    const std::size_t kept = bytes.live - before, steps = r.plan.steps.size();
    as_text(r, false);
    CHECK(steps >= 1000);
    CHECK(kept / steps < 5000);
    CHECK((bytes.peak - before) / steps < 16000);  // while it is planned
}

TEST_CASE("explain allocates in proportion to the readers of one value", "[growth]") {
    const auto grows = [](int offset) {
        const std::size_t few = allocated(wide(500, offset));
        const std::size_t many = allocated(wide(4000, offset));
        return static_cast<double>(many) / static_cast<double>(few);
    };
    CHECK(grows(0) < 12);  // for 8 times as many
    CHECK(grows(1) < 12);  // no row reads weights at odd addresses
}
