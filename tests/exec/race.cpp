// Races: two threads, at least one write, and nothing that orders them. Every kernel here is wrong
// in one way and stands next to its corrected twin.
#include "launch.hpp"

#include <cstdint>

using namespace catena_test;
using catena::launch_config;
using catena::real;

namespace {

constexpr launch_config two_warps{.threads = 64, .shared_bytes = 256};
constexpr launch_config one_warp{.threads = 32, .shared_bytes = 256};

}  // namespace

TEST_CASE("reading what another warp writes without a barrier is a race") {
    const auto body = [](bool synced) {
        return [=](host& x) {
            auto* s = x.shared<int>(64);
            x.store(s + x.thread(), 0);
            x.sync();
            x.store(s + x.thread(), x.thread());
            if (synced) x.sync();
            x.load(s + 63 - x.thread());
        };
    };
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
        host_device device(seed);
        const finding f = caught(device, fault::race, two_warps, body(false));
        CHECK(says(f, "at shared array 0 (256 bytes) + " + std::to_string(f.offset)));
        CHECK(says(f, "unordered: put a sync between"));
        passes(device, two_warps, body(true));
    }
}

TEST_CASE("the finding of a race names both threads") {
    host_device device;
    const finding f = caught(device, fault::race, two_warps, [](host& x) {
        auto* s = x.shared<int>(1);
        if (x.thread() == 7 || x.thread() == 40) x.store(s, 1);
    });
    CHECK(f.thread == 40);
    CHECK(says(f, "block 0, thread 40 (race.cpp:"));
    CHECK(says(f, "which thread 7 also writes"));
}

TEST_CASE("writing what others read without a barrier is a race, however many read") {
    const auto body = [](bool synced) {
        return [=](host& x) {
            auto* s = x.shared<int>(1);
            if (x.thread() == 0) x.store(s, 1);
            x.sync();
            x.load(s);
            if (synced) x.sync();
            if (x.thread() == 63) x.store(s, 2);
        };
    };
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
        host_device device(seed);
        caught(device, fault::race, two_warps, body(false));
        passes(device, two_warps, body(true));
    }
}

TEST_CASE("within a warp sync_warp orders, a shuffle does not") {
    const auto body = [](int how) {
        return [=](host& x) {
            auto* s = x.shared<int>(32);
            x.store(s + x.lane(), 0);
            x.sync();
            x.store(s + x.lane(), 1);
            if (how == 1) x.shuffle_xor(1, 1);
            if (how == 2) x.sync_warp();
            x.load(s + (x.lane() ^ 1));
        };
    };
    host_device device;
    CHECK(says(caught(device, fault::race, one_warp, body(0)), "in one warp a sync_warp"));
    caught(device, fault::race, one_warp, body(1));
    passes(device, one_warp, body(2));
}

TEST_CASE("sync_warp does not order two warps") {
    host_device device;
    caught(device, fault::race, two_warps, [](host& x) {
        auto* s = x.shared<int>(1);
        if (x.thread() == 0) x.store(s, 1);
        x.sync_warp();
        if (x.thread() == 32) x.store(s, 1);
    });
}

TEST_CASE("neighboring bytes of one word are no race, the same byte is") {
    const auto body = [](int step) {
        return [=](host& x) {
            auto* s = x.shared<std::uint8_t>(256);
            x.store(s + x.thread() * step, std::uint8_t{1});
            x.load(s + x.thread() * step);
            x.store(s + x.thread() * step, std::uint8_t{2});
        };
    };
    host_device device;
    CHECK(says(caught(device, fault::race, two_warps, body(0)), "writes 1 byte at"));
    passes(device, two_warps, body(1));
    passes(device, two_warps, body(3));
}

TEST_CASE("a word races with a byte of it") {
    host_device device;
    const finding f = caught(device, fault::race, two_warps, [](host& x) {
        auto* s = x.shared<unsigned>(1);
        if (x.thread() == 0) x.store(reinterpret_cast<std::uint8_t*>(s) + 2, std::uint8_t{1});
        if (x.thread() == 1) x.store(s, 0u);
    });
    CHECK(f.offset == 2);
}

TEST_CASE("global memory races within a block too") {
    host_device device;
    auto* y = device.allocate<float>("y", 64, memory::initialized);
    const auto body = [=](bool synced) {
        return [=](host& x) {
            const real v = x.load(y + (x.thread() + 1) % 64);
            if (synced) x.sync();
            x.store(y + x.thread(), v);
        };
    };
    const finding f = caught(device, fault::race, two_warps, body(false));
    CHECK(f.range == "y (256 bytes)");
    CHECK(f.address == address(y) + static_cast<std::uintptr_t>(f.offset));
    passes(device, two_warps, body(true));
}

TEST_CASE("two blocks that write the same global bytes race, whatever they wait for") {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
        host_device device(seed);
        auto* y = device.allocate<int>("y", 64, memory::uninitialized);
        const auto body = [=](bool apart) {
            return [=](host& x) {
                x.sync();
                x.store(y + x.thread() + (apart ? 32 * x.block() : 0), 1);
                x.sync();
            };
        };
        const launch_config config{.blocks = 2, .threads = 32};
        const finding f = caught(device, fault::race, config, body(false));
        CHECK(says(f, "which block " + std::to_string(1 - f.block) + ", thread " +
                          std::to_string(f.thread) + " also writes"));
        CHECK(says(f, "give each its own bytes"));
        passes(device, config, body(true));
    }
}

TEST_CASE("a block that reads what another writes races, in either order") {
    for (const int writer : {0, 1}) {
        host_device device;
        auto* y = device.allocate<int>("y", 1, memory::initialized);
        const finding f = caught(device, fault::race, {.blocks = 2, .threads = 32}, [=](host& x) {
            if (x.thread() != 0) return;
            if (x.block() == writer)
                x.store(y, 1);
            else
                x.load(y);
        });
        CHECK(f.block == 1);
        CHECK(says(f, writer == 0 ? "reads 4 bytes at y" : "writes 4 bytes at y"));
        CHECK(says(f, writer == 0 ? "which block 0, thread 0 also writes"
                                  : "which block 0, thread 0 also reads"));
    }
}

TEST_CASE("launches are ordered: the next may read and write what the last one wrote") {
    host_device device;
    auto* y = device.allocate<int>("y", 32, memory::uninitialized);
    passes(device, one_warp, [=](host& x) { x.store(y + x.thread(), 1); });
    passes(device, one_warp, [=](host& x) { x.load(y + 31 - x.thread()); });
    passes(device, one_warp, [=](host& x) { x.store(y + 31 - x.thread(), 1); });
}
