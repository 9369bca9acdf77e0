// One planner and one plan, used by many threads at once.
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// Runs `f` in many threads at once.
template <class F>
void in_many_threads(F&& f) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(f);
    for (std::thread& t : threads) t.join();
}

std::string roles_of(const plan& p) {
    std::string out;
    for (int i = 0; i < p.size(); ++i)
        out += std::string(name(p.at(i).role)) + std::to_string(p.at(i).step) + " ";
    return out;
}

/// A layer of readers, of which one cannot be served.
struct layer_case {
    graph_builder g;
    id x = g.scaled_norm(g.input(format::f32, {512}));
    id a = g.matmul(format::q4_K, 64, x);
    id b = g.matmul(format::q6_K, 64, x);
    id foreign = g.matmul(format::mxfp4, 64, x);
};

status count_launch(const void*, const launch_config&, const void*, std::size_t,
                    void* stream) noexcept {
    ++*static_cast<std::atomic<int>*>(stream);
    return {};
}

}  // namespace

TEST_CASE("threads that share a planner get the plan that one gets alone", "[threads]") {
    layer_case c;
    options o;
    o.chains_off = "norm.q8, residual, value.q4_q6";  // long enough to live on the heap
    const planner shared(toy_table(), o);
    const graph_view view = c.g.view();
    const std::string alone = roles_of(shared.plan(view));
    std::atomic<int> equal{0};
    in_many_threads([&] {
        for (int i = 0; i < 20; ++i) {
            const plan p = shared.plan(view);
            equal += roles_of(p) == alone && p.counters().served == 2 && summary(p) != "";
        }
    });
    CHECK(equal == 8 * 20);
}

TEST_CASE("threads launch one plan, watched or not", "[threads]") {
    layer_case c;
    static const char code[toy_row_count] = {};
    std::vector<const void*> kernels;
    for (const char& k : code) kernels.push_back(&k);
    table t = toy_table();
    t.kernels = kernels.data();
    t.launch = count_launch;
    const plan p = planner(t).plan(c.g.view());
    alignas(256) static std::byte workspace[4096];
    REQUIRE(p.workspace_bytes() <= 4096);
    std::atomic<int> launches{0}, seen{0}, failed{0};
    observer watch;
    watch.before = [](const launch_event&, void* user) { ++*static_cast<std::atomic<int>*>(user); };
    watch.user = &seen;
    in_many_threads([&] {
        for (int i = 0; i < p.size(); ++i) {
            failed += !p.launch(i, &launches, workspace).ok();
            failed += !p.launch(i, &launches, workspace, &watch).ok();
        }
    });
    const int steps = static_cast<int>(p.steps().size());
    CHECK(failed == 0);
    CHECK(steps == 2);
    CHECK(launches == 2 * 8 * steps);
    CHECK(seen == 8 * steps);
}
