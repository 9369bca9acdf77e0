// Clusters: blocks that run at the same time, meet, and store in the first one's shared memory.
#include "launch.hpp"

#include <cstdint>
#include <vector>

using namespace catena_test;
using catena::from_int;
using catena::real;

namespace {

/// Every thread of a cluster gives the first block a number, which adds them up.
void add_up(host& x, int* sums) {
    auto* all = x.shared<float>(x.cluster_blocks() * x.threads());
    x.cluster_sync();
    x.store_first(all + x.cluster_rank() * x.threads() + x.thread(), from_int(x.block()));
    x.cluster_sync();
    if (x.cluster_rank() != 0 || x.thread() != 0) return;
    real sum{0};
    for (int i = 0; i < x.cluster_blocks() * x.threads(); ++i) sum = sum + x.load(all + i);
    x.store(sums + x.cluster(), to_int(sum));
}

constexpr catena::launch_config two_of_four = {
    .blocks = 8, .threads = 32, .shared_bytes = 4 * 32 * 4, .cluster = 4};

}  // namespace

TEST_CASE("the first block of a cluster reads what its others store there") {
    for (const std::uint64_t seed : {0, 1, 2}) {
        host_device device(seed);
        auto* sums = device.allocate<int>("sums", 2, memory::uninitialized);
        passes(device, two_of_four, [=](host& x) { add_up(x, sums); });
        CHECK(sums[0] == 32 * (0 + 1 + 2 + 3));
        CHECK(sums[1] == 32 * (4 + 5 + 6 + 7));
    }
}

TEST_CASE("without clusters a block is its own first one") {
    host_device device;
    auto* sums = device.allocate<int>("sums", 2, memory::uninitialized);
    passes(device, {.blocks = 2, .threads = 32, .shared_bytes = 128},
           [=](host& x) { add_up(x, sums); });
    CHECK(sums[0] == 0);
    CHECK(sums[1] == 32);
}

TEST_CASE("blocks alone bring their cluster along, once") {
    host_device device;
    auto* sums = device.allocate<int>("sums", 2, memory::uninitialized);
    device.run_only({6, 4, 6});
    passes(device, two_of_four, [=](host& x) { add_up(x, sums); });
    CHECK(sums[1] == 32 * (4 + 5 + 6 + 7));
}

TEST_CASE("a store in a first block that may not run yet is caught") {
    host_device device;
    const finding f = caught(device, fault::divergence, two_of_four, [](host& x) {
        auto* all = x.shared<float>(4);
        x.store_first(all + x.cluster_rank(), real{1});
        x.cluster_sync();
    });
    CHECK(says(f, "call cluster_meet first"));
}

TEST_CASE(
    "what was stored in a first block is read after the next sync, not before, nor after a "
    "meeting") {
    for (const bool syncs : {true, false}) {
        host_device device;
        const auto body = [=](host& x) {
            auto* all = x.shared<float>(4 * 32);
            x.cluster_meet();
            x.store_first(all + x.cluster_rank() * 32 + x.thread(), real{1});
            if (syncs)
                x.cluster_sync();
            else
                x.cluster_meet();
            if (x.cluster_rank() == 0) x.load(all + 32 + x.thread());
            if (!syncs) x.cluster_sync();
        };
        if (syncs)
            passes(device, two_of_four, body);
        else
            CHECK(says(caught(device, fault::uninitialized, two_of_four, body),
                       "nobody has written"));
    }
}

TEST_CASE("two blocks that store in the same place are caught") {
    host_device device;
    const finding f = caught(device, fault::race, two_of_four, [](host& x) {
        auto* all = x.shared<float>(32);
        x.cluster_sync();
        x.store_first(all + x.thread(), real{1});
        x.cluster_sync();
    });
    CHECK(says(f, "give each its own bytes"));
}

TEST_CASE("a first block that stores where another one does is caught") {
    host_device device;
    const finding f = caught(device, fault::race, two_of_four, [](host& x) {
        auto* all = x.shared<float>(32 + 4);
        x.cluster_sync();
        if (x.cluster_rank() % 2 == 0 && x.thread() == x.cluster_rank())
            x.store_first(all, real{1});
        x.cluster_sync();
    });
    CHECK(says(f, "also writes"));
}

TEST_CASE("a meeting of a cluster that orders nothing leaves a race one") {
    for (const bool orders : {true, false}) {
        host_device device;
        const auto body = [=](host& x) {
            auto* word = x.shared<int>(1);
            if (x.thread() == 0) x.store(word, 1);
            if (orders)
                x.cluster_sync();
            else
                x.cluster_meet();
            x.load(word);
        };
        if (orders)
            passes(device, two_of_four, body);
        else
            CHECK(says(caught(device, fault::race, two_of_four, body), "sync"));
    }
}

TEST_CASE("blocks of a cluster that meet in different ways are caught") {
    host_device device;
    const finding f = caught(device, fault::divergence, two_of_four, [](host& x) {
        if (x.cluster_rank() == 1)
            x.cluster_meet();
        else
            x.cluster_sync();
    });
    CHECK(says(f, "meetings of its cluster"));
}

TEST_CASE("blocks of a cluster that meet in different numbers are caught") {
    host_device device;
    for (const bool syncs : {true, false}) {
        const finding f = caught(device, fault::divergence, two_of_four, [=](host& x) {
            x.cluster_sync();
            if (x.cluster_rank() != 1) return;
            if (syncs)
                x.cluster_sync();
            else
                x.cluster_meet();
        });
        CHECK(says(f, "meetings of its cluster"));
    }
}

TEST_CASE("a grid that is no whole clusters is refused") {
    host_device device;
    const catena::status done =
        launch(device, {.blocks = 6, .threads = 32, .cluster = 4}, [](host&) {});
    CHECK(done.code == catena::status_code::invalid_argument);
}
