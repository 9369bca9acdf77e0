// Barriers and shuffles: what they exchange, what happens when threads do not all come, and the
// order in which threads go on.
#include "launch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

using namespace catena_test;
using catena::from_int;
using catena::real;

TEST_CASE("a shuffle exchanges values of every kind within its warp") {
    host_device device(3);
    auto* y = device.allocate<int>("y", 192, memory::uninitialized);
    passes(device, {.threads = 64}, [=](host& x) {
        const int t = x.thread();
        x.store(y + t, x.shuffle_xor(t, 5));
        x.store(y + 64 + t, static_cast<int>(x.shuffle_xor(static_cast<unsigned>(t), 16)));
        x.store(y + 128 + t, to_int(x.shuffle_xor(from_int(t), 31)));
    });
    for (int t = 0; t < 64; ++t) {
        CHECK(y[t] == (t ^ 5));
        CHECK(y[64 + t] == (t ^ 16));
        CHECK(y[128 + t] == (t ^ 31));
    }
}

TEST_CASE("a lane may take the value of any lane") {
    host_device device(5);
    auto* y = device.allocate<int>("y", 128, memory::uninitialized);
    passes(device, {.threads = 64}, [=](host& x) {
        const int t = x.thread();
        x.store(y + t, x.shuffle(t, (x.lane() * 5 + 3) % 32));
        x.store(y + 64 + t, to_int(x.shuffle(from_int(t), 7)));
    });
    for (int t = 0; t < 64; ++t) {
        CHECK(y[t] == t / 32 * 32 + (t % 32 * 5 + 3) % 32);
        CHECK(y[64 + t] == t / 32 * 32 + 7);
    }
}

TEST_CASE("shuffles in a row do not mix up their values, in any order of threads") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        host_device device(seed);
        auto* y = device.allocate<int>("y", 32, memory::uninitialized);
        passes(device, {.threads = 32}, [=](host& x) {
            int v = x.lane();
            for (int mask = 1; mask < 32; mask *= 2) v += x.shuffle_xor(v, mask);
            x.store(y + x.lane(), v);
        });
        CHECK(std::vector<int>(y, y + 32) == std::vector<int>(32, 31 * 16));
    }
}

TEST_CASE("dp4a adds four products of bytes, which a type says are signed, and wraps") {
    host_device device;
    auto* y = device.allocate<int>("y", 5, memory::uninitialized);
    passes(device, {.threads = 32}, [=](host& x) {
        if (x.thread() != 0) return;
        x.store(y, x.dp4a(0x01020304, 0x05060708, 100));
        x.store(y + 1, x.dp4a(static_cast<int>(0x80808080u), static_cast<int>(0x80808080u), 0));
        x.store(y + 2, x.dp4a(static_cast<int>(0xff7f0080u), 0x7f7f7f01, -1));
        x.store(y + 3, x.dp4a(0x7f7f7f7f, 0x7f7f7f7f, 0x7fffffff));
        x.store(y + 4, x.dp4a(0xff800102u, static_cast<int>(0x80ff7f03u), 1));
    });
    CHECK(y[0] == 100 + 1 * 5 + 2 * 6 + 3 * 7 + 4 * 8);
    CHECK(y[1] == 4 * 128 * 128);
    CHECK(y[2] == -1 - 127 + 127 * 127 - 128);
    CHECK(y[3] == static_cast<int>(0x7fffffffu + 4u * 127u * 127u));
    CHECK(y[4] == 1 + 2 * 3 + 1 * 127 - 128 - 255 * 128);
}

TEST_CASE("a funnel shift takes a word out of two, by a distance modulo 32") {
    host_device device;
    auto* y = device.allocate<unsigned>("y", 8, memory::uninitialized);
    passes(device, {.threads = 32}, [=](host& x) {
        constexpr unsigned distance[] = {0, 8, 31, 40};
        if (x.thread() >= 4) return;
        const unsigned low = 0x44332211u, high = 0x88776655u, by = distance[x.thread()];
        x.store(y + x.thread(), x.funnel(low, high, by));
        x.store(y + 4 + x.thread(), x.funnel_up(low, high, by));
    });
    CHECK(y[0] == 0x44332211u);
    CHECK(y[1] == 0x55443322u);
    CHECK(y[2] == (0x88776655u << 1 | 0x44332211u >> 31));
    CHECK(y[3] == 0x55443322u);
    CHECK(y[4] == 0x88776655u);
    CHECK(y[5] == 0x77665544u);
    CHECK(y[6] == (0x88776655u << 31 | 0x44332211u >> 1));
    CHECK(y[7] == 0x77665544u);
}

TEST_CASE("permute picks four bytes out of two words, or their signs") {
    host_device device;
    auto* y = device.allocate<unsigned>("y", 4, memory::uninitialized);
    passes(device, {.threads = 32}, [=](host& x) {
        constexpr unsigned pick[] = {0x3210, 0x7654, 0x0527, 0xc9f8};
        if (x.thread() < 4)
            x.store(y + x.thread(), x.permute(0x44338211u, 0x88776655u, pick[x.thread()]));
    });
    CHECK(y[0] == 0x44338211u);
    CHECK(y[1] == 0x88776655u);
    CHECK(y[2] == 0x11663388u);
    CHECK(y[3] == 0x00ffff00u);
}

TEST_CASE("a shuffle mask outside the warp is caught") {
    host_device device;
    for (const int mask : {0, 32, -1})
        CHECK(says(
            caught(device, fault::body, {.threads = 32}, [=](host& x) { x.shuffle_xor(1, mask); }),
            "a mask lies between 1 and 31"));
    passes(device, {.threads = 32}, [](host& x) { x.shuffle_xor(1, 31); });
}

TEST_CASE("a shuffle from a lane outside the warp is caught") {
    host_device device;
    for (const int from : {-1, 32})
        CHECK(
            says(caught(device, fault::body, {.threads = 32}, [=](host& x) { x.shuffle(1, from); }),
                 "shuffles from lane " + std::to_string(from) + ": lanes are 0 to 31"));
    passes(device, {.threads = 32}, [](host& x) { x.shuffle(1, 31); });
}

TEST_CASE("a barrier that some threads never reach is caught, with who waits where") {
    host_device device;
    const auto body = [](bool all) {
        return [=](host& x) {
            if (!all && x.thread() >= 48) return;
            x.sync();
        };
    };
    const finding f = caught(device, fault::divergence, {.blocks = 2, .threads = 64}, body(false));
    CHECK(f.block == 0);
    CHECK(f.thread == 0);
    CHECK(says(f, "waits for ever at sync"));
    CHECK(says(f, "16 threads (first 48) returned"));
    CHECK(says(f, "48 threads (first 0) wait at sync (meeting.cpp:"));
    passes(device, {.blocks = 2, .threads = 64}, body(true));
}

TEST_CASE("at a barrier that asks all threads know whether one says yes, time after time") {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        host_device device(seed);
        auto* y = device.allocate<int>("y", 3 * 64, memory::uninitialized);
        passes(device, {.threads = 64}, [=](host& x) {
            for (int i = 0; i < 3; ++i) {
                const bool any = x.sync_any(i != 1 && x.thread() == 40 + i);
                x.store(y + 64 * i + x.thread(), any ? 1 : 0);
            }
        });
        for (int i = 0; i < 3; ++i)
            for (int t = 0; t < 64; ++t) CHECK(y[64 * i + t] == (i == 1 ? 0 : 1));
    }
}

TEST_CASE("a barrier that asks orders memory") {
    host_device device;
    const auto body = [](bool asks) {
        return [=](host& x) {
            float* const s = x.shared<float>(64);
            x.store(s + x.thread(), real{1});
            if (asks) x.sync_any(false);
            x.load(s + (x.thread() + 32) % 64);
        };
    };
    passes(device, {.threads = 64, .shared_bytes = 256}, body(true));
    caught(device, fault::uninitialized, {.threads = 64, .shared_bytes = 256}, body(false));
}

TEST_CASE("two barriers in two branches are not one barrier") {
    host_device device;
    const finding f = caught(device, fault::divergence, {.threads = 64}, [](host& x) {
        if (x.thread() < 32)
            x.sync();
        else
            x.sync();
    });
    CHECK(f.thread == 32);
    CHECK(says(f, "waits at a sync where thread 0 waits at another one (meeting.cpp:"));
}

TEST_CASE("a shuffle in which only a part of the warp takes part is caught") {
    host_device device;
    const auto body = [](bool all) {
        return [=](host& x) {
            if (all || x.lane() != 9) x.shuffle_xor(1, 2);
        };
    };
    const finding f = caught(device, fault::divergence, {.threads = 64}, body(false));
    CHECK(says(f, "2 threads (first 9) returned"));
    CHECK(says(f, "62 threads (first 0) wait at shuffle_xor(2) (meeting.cpp:"));
    passes(device, {.threads = 64}, body(true));
}

TEST_CASE("lanes that meet in different places are caught") {
    host_device device;
    const finding f = caught(device, fault::divergence, {.threads = 32}, [](host& x) {
        if (x.lane() < 16)
            x.sync_warp();
        else
            x.shuffle_xor(1, 1);
    });
    CHECK(f.thread == 16);
    CHECK(says(
        f, "comes to shuffle_xor(1) while thread 0 of its warp waits at sync_warp (meeting.cpp:"));

    const finding g = caught(device, fault::divergence, {.threads = 32},
                             [](host& x) { x.shuffle_xor(1, x.lane() == 3 ? 2 : 1); });
    CHECK(g.thread == 3);

    caught(device, fault::divergence, {.threads = 64}, [](host& x) {
        if (x.warp() == 0)
            x.sync();
        else if (x.lane() == 0)
            x.sync_warp();
        else
            x.sync();
    });
}

TEST_CASE("a finding names what a thread waits at as a kernel calls it") {
    using catena::exec::meeting;
    using catena::exec::spell;
    const int of_f16 = catena::exec::mma_detail(catena::format::f16);
    CHECK(spell(meeting::shuffle_from, 0) == "shuffle");
    CHECK(spell(meeting::mma, 32) == "mma of K 32");
    CHECK(spell(meeting::mma, of_f16) == "mma of f16");
    CHECK(spell(meeting::wgmma, of_f16) == "wgmma of f16");
    CHECK(spell(meeting::wgmma_wait, 1) == "wgmma_wait(1)");
    CHECK(spell(meeting::stream_fill, 2) == "stream fill(2)");
    CHECK(spell(meeting::stream_copy, 0) == "stream copy_own");
    CHECK(spell(meeting::stream_wait, 3) == "stream wait(3)");
    CHECK(spell(meeting::stream_release, 0) == "stream release(0)");
    CHECK(spell(meeting::none, 0) == "nothing");
}

TEST_CASE(
    "more barriers of a warp than races can be told apart by are caught, unless a sync comes") {
    host_device device;
    const auto body = [](bool syncs) {
        return [=](host& x) {
            for (std::uint32_t i = 0; i <= catena::exec::stamps::max_step; ++i) {
                if (syncs && i == 1000) x.sync();
                x.sync_warp();
            }
        };
    };
    CHECK(says(caught(device, fault::body, {.threads = 32}, body(false)),
               "passes its millionth warp barrier since the block's last sync"));
    passes(device, {.threads = 32}, body(true));
}

TEST_CASE("a dependent launch must not touch what may be in use before grid_wait") {
    host_device device;
    const auto* w = device.allocate<float>("weight", 32, memory::constant);
    auto* x_ = device.allocate<float>("x", 32, memory::initialized);
    auto* y = device.allocate<float>("y", 32, memory::initialized);
    const auto body = [=](bool reads_early, bool writes_early) {
        return [=](host& x) {
            const real scale = x.load(w + x.thread());
            x.prefetch(x_ + x.thread());
            if (writes_early) x.store(y + x.thread(), scale);
            if (reads_early) x.load(x_ + x.thread());
            x.grid_wait();
            x.store(y + x.thread(), x.load(x_ + x.thread()) * scale);
        };
    };
    const catena::launch_config dependent{.threads = 32, .dependent = true};
    const finding wrote = caught(device, fault::grid_order, dependent, body(false, true));
    CHECK(says(wrote, "writes 4 bytes at y (128 bytes) + 0"));
    CHECK(says(wrote, "before grid_wait"));
    const finding read = caught(device, fault::grid_order, dependent, body(true, false));
    CHECK(says(read, "reads 4 bytes at x (128 bytes) + 0"));
    passes(device, dependent, body(false, false));
    passes(device, {.threads = 32}, body(true, true));
}

TEST_CASE("one thread may wait for the grid on behalf of those it then meets") {
    host_device device;
    auto* y = device.allocate<int>("y", 64, memory::uninitialized);
    const auto body = [=](bool meets) {
        return [=](host& x) {
            if (x.thread() == 0) x.grid_wait();
            if (meets) x.sync();
            x.store(y + x.thread(), 1);
        };
    };
    const catena::launch_config dependent{.threads = 64, .dependent = true};
    CHECK(caught(device, fault::grid_order, dependent, body(false)).thread == 1);
    passes(device, dependent, body(true));
}

TEST_CASE("a block that never waits for the grid is caught when the launch is dependent") {
    host_device device;
    const auto body = [](bool always) {
        return [=](host& x) {
            if (always || x.block() != 2) x.grid_wait();
        };
    };
    const catena::launch_config dependent{.blocks = 4, .threads = 32, .dependent = true};
    const finding f = caught(device, fault::grid_order, dependent, body(false));
    CHECK(f.block == 2);
    CHECK(says(f, "return without grid_wait in a dependent launch"));
    passes(device, dependent, body(true));
    passes(device, {.blocks = 4, .threads = 32}, body(false));
}

TEST_CASE("a body that throws is caught") {
    host_device device;
    const finding f = caught(device, fault::body, {.threads = 32}, [](host& x) {
        if (x.thread() == 4) throw std::runtime_error("no kernel throws");
    });
    CHECK(f.thread == 4);
    CHECK(says(f, "throws: no kernel throws"));
    caught(device, fault::body, {.threads = 32}, [](host&) { throw 1; });
}

namespace {

/// Blocks and threads in the order in which they get to write, past a barrier.
std::vector<int> order_of(std::uint64_t seed) {
    host_device device(seed);
    std::vector<int> order;
    passes(device, {.blocks = 3, .threads = 64}, [&](host& x) {
        x.sync();
        order.push_back(x.block() * 64 + x.thread());
    });
    return order;
}

}  // namespace

TEST_CASE("the seed decides the order of blocks and threads, seed 0 keeps the natural one") {
    const auto one = order_of(1);
    CHECK(one == order_of(1));
    CHECK(one != order_of(2));
    auto sorted = one;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int> all(192);
    std::iota(all.begin(), all.end(), 0);
    CHECK(sorted == all);
    CHECK(one != all);
    // The last thread to reach a barrier goes on first.
    std::rotate(all.begin(), all.begin() + 63, all.begin() + 64);
    CHECK(std::equal(all.begin(), all.begin() + 64, order_of(0).begin()));
}

TEST_CASE("a correct kernel gives the same bits for every seed") {
    std::vector<float> first;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        host_device device(seed);
        auto* in = device.allocate<float>("in", 1000, memory::initialized);
        auto* out = device.allocate<float>("out", 2, memory::uninitialized);
        for (int i = 0; i < 1000; ++i) in[i] = 1.0f / static_cast<float>(i + 1);
        passes(device, {.blocks = 2, .threads = 96, .shared_bytes = 12}, [=](host& x) {
            auto* s = x.shared<float>(3);
            real sum{0};
            for (int i = x.thread(); i < 1000; i += x.threads()) {
                const real v = x.load(in + i);
                sum = fma(v, v, sum);
            }
            for (int mask = 16; mask > 0; mask /= 2) sum = sum + x.shuffle_xor(sum, mask);
            if (x.lane() == 0) x.store(s + x.warp(), sum);
            x.sync();
            if (x.thread() == 0)
                x.store(out + x.block(), x.load(s) + x.load(s + 1) + x.load(s + 2));
        });
        const std::vector<float> result(out, out + 2);
        if (seed == 0) first = result;
        CHECK(result == first);
        CHECK(std::abs(result[0] - 1.6439345f) < 1e-6f);
    }
}

TEST_CASE("warps take turns, or by a seed one runs ahead until others overtake it") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        host_device device(seed);
        std::vector<int> warps;  // of each meeting, in the order in which they were held
        passes(device, {.threads = 64}, [&](host& x) {
            for (int i = 0; i < 64; ++i) {
                x.shuffle_xor(i, 1);
                if (x.lane() == 0) warps.push_back(x.warp());
            }
        });
        int turns = 0;
        for (std::size_t i = 1; i < warps.size(); ++i) turns += warps[i] != warps[i - 1];
        INFO(turns << " turns by seed " << seed);
        CHECK(warps.size() == 128);
        CHECK((seed == 0 ? turns == 127 : turns > 3 && turns < 64));
    }
}

TEST_CASE("a device runs the blocks that it is asked for") {
    host_device device;
    auto* y = device.allocate<int>("y", 8, memory::initialized);
    const auto body = [=](host& x) {
        if (x.thread() == 0) x.store(y + x.block(), 1);
    };
    device.run_only({6, 1, 9});
    passes(device, {.blocks = 8, .threads = 32}, body);
    CHECK(std::vector<int>(y, y + 8) == std::vector<int>{0, 1, 0, 0, 0, 0, 1, 0});
    device.run_only({});
    passes(device, {.blocks = 8, .threads = 32}, body);
    CHECK(std::vector<int>(y, y + 8) == std::vector<int>(8, 1));
}

TEST_CASE("a launch that cannot be is refused with a sentence") {
    host_device device;
    const auto body = [](host&) {};
    for (const std::uint32_t threads : {0u, 31u, 48u, 1056u}) {
        const catena::status s = launch(device, {.threads = threads}, body);
        CHECK(s.code == catena::status_code::invalid_argument);
        CHECK(std::string(s.message).find("config.threads must be a multiple of 32") !=
              std::string::npos);
    }
    CHECK(catena::launch_host(nullptr, {}, nullptr, 0, &device).code ==
          catena::status_code::no_kernel);
    CHECK(catena::launch_host(nullptr, {}, nullptr, 0, nullptr).code ==
          catena::status_code::invalid_argument);
    CHECK(device.findings().empty());
    passes(device, {.threads = 1024}, body);
}
