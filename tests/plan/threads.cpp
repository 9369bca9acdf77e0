// One table, one planner and one plan, used by many threads at once.
#include "catena/plan/log.hpp"
#include "catena/runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/graph_builder.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/many_threads.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

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

/// What a stream was asked to launch. The arguments are a row's or a matvec's.
struct call {
    const void* kernel;
    std::vector<std::byte> args;

    template <class Args>
    Args args_as() const {
        Args out;
        // Catch2 2 checks in one thread alone, and many compare calls.
        if (args.size() != sizeof(out)) std::abort();
        std::memcpy(&out, args.data(), sizeof(out));
        return out;
    }
    /// What the cases below ask for. Bytes between the fields are nobody's, so they may differ.
    auto asked() const {
        std::vector<const void*> addresses = {kernel};
        std::vector<std::int64_t> sizes;
        if (args.size() == sizeof(row_args)) {
            const auto a = args_as<row_args>();
            addresses.insert(addresses.end(), {a.x, a.weight, a.q8_1, a.f32});
            sizes = {a.k, a.rows, a.quant_k};
        } else {
            const auto a = args_as<matvec_args>();
            addresses.push_back(a.x);
            sizes = {a.k, a.columns, a.bands, a.members};
            for (int i = 0; i < a.members; ++i) {
                addresses.insert(addresses.end(), {a.member[i].weight, a.member[i].dst});
                sizes.push_back(a.member[i].rows);
            }
        }
        return std::pair(addresses, sizes);
    }
    bool operator==(const call& other) const { return asked() == other.asked(); }
};

/// A stream: its launches, in their order.
struct recorder {
    std::vector<call> calls;
};

status record(const void* kernel, const launch_config&, const void* args, std::size_t bytes,
              void* stream) noexcept {
    const auto* first = static_cast<const std::byte*>(args);
    static_cast<recorder*>(stream)->calls.push_back({kernel, {first, first + bytes}});
    return {};
}

table recording_table() {
    static const char code[toy_row_count] = {};
    static const std::vector<const void*> kernels = [] {
        std::vector<const void*> out;
        for (const char& k : code) out.push_back(&k);
        return out;
    }();
    table t = toy_table();
    t.kernels = kernels.data();
    t.launch = record;
    return t;
}

alignas(256) std::byte workspace[4096], other_workspace[4096];

/// Launches all of the plan; how many launches failed.
int launch_all(const plan& p, recorder& stream) {
    int failed = 0;
    for (int i = 0; i < p.size(); ++i) failed += !p.launch(i, &stream, workspace).ok();
    return failed;
}

/// What the launches of a plan are when no other thread is there.
std::vector<call> launches_of(const plan& p) {
    recorder stream;
    REQUIRE(p.workspace_bytes() <= 4096);
    REQUIRE(launch_all(p, stream) == 0);
    return stream.calls;
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
    CHECK(equal == thread_count * 20);
}

TEST_CASE("threads launch one plan, each on a stream of its own, watched or not", "[threads]") {
    layer_case c;
    const plan p = planner(recording_table()).plan(c.g.view());
    const auto alone = launches_of(p);
    CHECK(alone.size() == 2);
    std::atomic<int> equal{0}, seen{0}, failed{0};
    observer watch;
    watch.before = [](const launch_event&, void* user) { ++*static_cast<std::atomic<int>*>(user); };
    watch.user = &seen;
    in_many_threads([&] {
        recorder plain, watched;
        for (int i = 0; i < p.size(); ++i) {  // the two streams in turns
            failed += !p.launch(i, &plain, workspace).ok();
            failed += !p.launch(i, &watched, workspace, &watch).ok();
        }
        equal += (plain.calls == alone) + (watched.calls == alone);
    });
    CHECK(failed == 0);
    CHECK(equal == 2 * thread_count);
    CHECK(seen == thread_count * static_cast<int>(alone.size()));
}

TEST_CASE("streams of one plan have workspaces of their own", "[threads]") {
    layer_case c;
    const plan p = planner(recording_table()).plan(c.g.view());
    recorder streams[2];
    for (int i = 0; i < p.size(); ++i) {
        REQUIRE(p.launch(i, &streams[0], workspace).ok());
        REQUIRE(p.launch(i, &streams[1], other_workspace).ok());
    }
    REQUIRE(streams[0].calls.size() == 2);
    REQUIRE(streams[1].calls.size() == 2);
    const auto args_of = [](const recorder& stream) {
        return std::pair(stream.calls[0].args_as<row_args>(),
                         stream.calls[1].args_as<matvec_args>());
    };
    const auto [norm, product] = args_of(streams[0]);
    const auto [other_norm, other_product] = args_of(streams[1]);
    CHECK(norm.q8_1 == workspace);
    CHECK(product.x == workspace);
    CHECK(other_norm.q8_1 == other_workspace);
    CHECK(other_product.x == other_workspace);
    CHECK(norm.x == other_norm.x);
}

TEST_CASE("threads plan graphs of their own with one table, and launch what they planned",
          "[threads]") {
    const table shared = recording_table();
    std::atomic<int> next{0}, equal{0}, failed{0};
    std::vector<std::vector<call>> alone;
    std::vector<graph_builder> graphs(thread_count);
    for (int i = 0; i < thread_count; ++i) {
        graph_builder& g = graphs[static_cast<std::size_t>(i)];
        g.matmul(format::q4_K, 32 + 8 * i, g.scaled_norm(g.input(format::f32, {512})));
        alone.push_back(launches_of(planner(shared).plan(g.view())));
    }
    in_many_threads([&] {
        const auto own = static_cast<std::size_t>(next++);
        for (int i = 0; i < 20; ++i) {
            recorder stream;
            failed += launch_all(planner(shared).plan(graphs[own].view()), stream);
            equal += stream.calls == alone[own];
        }
    });
    CHECK(failed == 0);
    CHECK(equal == thread_count * 20);
}

TEST_CASE("a plan is destroyed by another thread than made it, while others are made",
          "[threads]") {
    layer_case c;
    const planner shared(recording_table());
    const graph_view view = c.g.view();
    const auto alone = launches_of(shared.plan(view));
    std::mutex guard;
    std::vector<plan> handed_on(4);
    std::atomic<int> next{0}, equal{0}, unmade{0};
    in_many_threads([&] {
        for (int i = 0; i < 20; ++i) {
            plan made = shared.plan(view);
            {
                const std::lock_guard<std::mutex> alone_here(guard);
                std::swap(made, handed_on[static_cast<std::size_t>(next++) % handed_on.size()]);
            }
            recorder stream;  // `made` is of another thread now, and ends here
            unmade += made.size() == 0;
            equal += launch_all(made, stream) == 0 && stream.calls == alone;
        }
    });
    CHECK(unmade == static_cast<int>(handed_on.size()));
    CHECK(equal == thread_count * 20 - unmade);
}
