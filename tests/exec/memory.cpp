// What the host executor finds in single accesses: bounds, initialization, alignment, constants.
// Every kernel here is wrong in one way and stands next to its corrected twin.
#include "launch.hpp"

#include <sys/mman.h>

#include <cfenv>
#include <cstdint>
#include <stdexcept>
#include <vector>

using namespace catena_test;
using catena::real;

TEST_CASE("a read past the end of global memory is caught") {
    host_device device;
    auto* x = device.allocate<float>("x", 100, memory::initialized);
    const auto body = [=](int n) {
        return [=](host& x_) {
            for (int i = x_.thread(); i < n; i += x_.threads()) x_.load(x + i);
        };
    };
    const finding f = caught(device, fault::out_of_bounds, {.blocks = 2, .threads = 64}, body(101));
    CHECK(f.thread == 36);
    CHECK(f.block == 0);
    CHECK(f.address == address(x + 100));
    CHECK(f.offset == 400);
    CHECK(says(f, "thread 36 (memory.cpp:"));
    CHECK(says(f, "reads 4 bytes at x (400 bytes) + 400 (0x"));
    CHECK(says(f, "outside all declared memory: check the index against the size"));
    passes(device, {.blocks = 2, .threads = 64}, body(100));
    const auto prefetches = [=](host& x_) { x_.prefetch(x + 100); };
    CHECK(caught(device, fault::out_of_bounds, {.threads = 32}, prefetches).offset == 400);
}

TEST_CASE("a write before the start of global memory is caught") {
    host_device device;
    auto* y = device.allocate<float>("y", 64, memory::uninitialized);
    const auto body = [=](int shift) {
        return [=](host& x) { x.store(y + x.thread() - shift, real{1}); };
    };
    const finding f = caught(device, fault::out_of_bounds, {.threads = 64}, body(1));
    CHECK(f.thread == 0);
    CHECK(f.offset == -4);
    CHECK(says(f, "writes 4 bytes at y (256 bytes) - 4"));
    passes(device, {.threads = 64}, body(0));
}

TEST_CASE("an access that only ends outside is caught") {
    host_device device;
    auto* x = device.allocate<unsigned char>("x", 24, memory::initialized);
    const finding f =
        caught(device, fault::out_of_bounds, {.threads = 32}, [=](host& h) { h.load16(x + 16); });
    CHECK(f.offset == 16);
    CHECK(says(f, "reads 16 bytes at x (24 bytes) + 16"));
    passes(device, {.threads = 32}, [=](host& h) { h.load16(x); });
}

TEST_CASE("an access to memory that nobody declared is caught") {
    host_device device;
    float undeclared = 1;
    const finding f = caught(device, fault::out_of_bounds, {.threads = 32},
                             [p = &undeclared](host& x) { x.load(p); });
    CHECK(f.address == address(&undeclared));
    CHECK(says(f, "outside all declared memory"));
    device.add("v", &undeclared, sizeof undeclared, memory::constant);
    passes(device, {.threads = 32}, [p = &undeclared](host& x) { x.load(p); });
}

TEST_CASE("an access between two shared arrays is caught even when another array follows") {
    host_device device;
    const auto body = [](int n) {
        return [=](host& x) {
            auto* first = x.shared<float>(32);
            x.shared<float>(32);
            if (x.thread() < n) x.store(first + x.thread(), real{1});
        };
    };
    const finding f =
        caught(device, fault::out_of_bounds, {.threads = 64, .shared_bytes = 256}, body(33));
    CHECK(f.thread == 32);
    CHECK(f.offset == 128);
    CHECK(says(f, "writes 4 bytes at shared array 0 (128 bytes) + 128"));
    passes(device, {.threads = 64, .shared_bytes = 256}, body(32));
}

TEST_CASE("shared memory beyond what the launch gave is refused") {
    host_device device;
    const auto body = [](host& x) { x.shared<float>(33); };
    const finding f =
        caught(device, fault::shared_memory, {.threads = 32, .shared_bytes = 128}, body);
    CHECK(says(f, "needs 132 bytes of shared memory, the launch gave 128"));
    passes(device, {.threads = 32, .shared_bytes = 132}, body);
}

TEST_CASE("more shared arrays than the executor keeps apart are refused") {
    host_device device;
    const auto body = [](int arrays) {
        return [=](host& x) {
            for (int i = 0; i < arrays; ++i) x.shared<float>(1);
        };
    };
    const catena::launch_config config{.threads = 32, .shared_bytes = 65 * 16};
    CHECK(says(caught(device, fault::shared_memory, config, body(65)),
               "asks for more than 64 shared arrays: join some"));
    passes(device, config, body(64));
}

TEST_CASE("threads that ask for different shared arrays are caught") {
    host_device device;
    const auto body = [](int others) {
        return [=](host& x) { x.shared<float>(x.thread() != 5 ? 8 : others); };
    };
    for (const int others : {16, 4}) {
        const finding f = caught(device, fault::shared_memory, {.threads = 32, .shared_bytes = 256},
                                 body(others));
        CHECK(f.thread == 5);
        CHECK(says(f, "asks for a shared array of " + std::to_string(4 * others) +
                          " bytes where another thread or block got 32"));
    }
    passes(device, {.threads = 32, .shared_bytes = 256}, body(8));
}

TEST_CASE("a read of shared memory that nobody wrote is caught, in every block anew") {
    host_device device;
    const auto body = [](bool writes_in_all_blocks) {
        return [=](host& x) {
            auto* s = x.shared<int>(32);
            if (x.block() == 0 || writes_in_all_blocks) x.store(s + x.lane(), 1);
            x.load(s + x.lane());
        };
    };
    const finding f = caught(device, fault::uninitialized,
                             {.blocks = 3, .threads = 32, .shared_bytes = 128}, body(false));
    CHECK(f.block == 1);
    CHECK(f.thread == 0);
    CHECK(says(f, "reads 4 bytes at shared array 0 (128 bytes) + 0"));
    CHECK(says(f, "nobody has written"));
    passes(device, {.blocks = 3, .threads = 32, .shared_bytes = 128}, body(true));
}

TEST_CASE("a read of global memory that nobody wrote is caught, byte by byte") {
    host_device device;
    auto* y = device.allocate<std::uint16_t>("workspace", 64, memory::uninitialized);
    passes(device, {.threads = 32},
           [=](host& x) { x.store(y + 2 * x.thread(), std::uint16_t{1}); });
    passes(device, {.threads = 32}, [=](host& x) { x.load(y + 2 * x.thread()); });
    const finding f = caught(device, fault::uninitialized, {.threads = 32}, [=](host& x) {
        x.load(reinterpret_cast<const unsigned*>(y + 2 * x.thread()));
    });
    CHECK(f.address == address(y + 1));
    CHECK(f.range == "workspace (128 bytes)");

    device.mark(y, 128, true);
    passes(device, {.threads = 32},
           [=](host& x) { x.load(reinterpret_cast<const unsigned*>(y + 2 * x.thread())); });
    device.mark(y + 40, 2, false);
    CHECK(caught(device, fault::uninitialized, {.threads = 32}, [=](host& x) {
              x.load(y + x.thread() + 32);
          }).offset == 80);
    CHECK_THROWS_AS(device.mark(y, 130, true), std::invalid_argument);  // past its end
    auto* w = device.allocate<int>("weight", 1, memory::constant);
    CHECK_THROWS_AS(device.mark(w, 4, false), std::invalid_argument);
}

TEST_CASE("a write to constant memory is caught") {
    host_device device;
    auto* w = device.allocate<int>("weight", 32, memory::constant);
    auto* y = device.allocate<int>("y", 32, memory::uninitialized);
    const auto body = [](int* to) { return [=](host& x) { x.store(to + x.thread(), 1); }; };
    const finding f = caught(device, fault::read_only, {.threads = 32}, body(w));
    CHECK(says(f, "writes 4 bytes at weight (128 bytes) + 0"));
    passes(device, {.threads = 32}, body(y));
}

TEST_CASE("a misaligned access is caught, scalar and vector, shared and global") {
    host_device device;
    auto* x = device.allocate<unsigned char>("x", 256, memory::initialized);
    const auto scalar = [=](int shift) {
        return [=](host& h) { h.load(reinterpret_cast<const int*>(x + shift)); };
    };
    const finding f = caught(device, fault::misaligned, {.threads = 32}, scalar(2));
    CHECK(f.address == address(x + 2));
    CHECK(says(f, "reads 4 bytes at x (256 bytes) + 2"));
    CHECK(says(f, "not a multiple of the size"));
    passes(device, {.threads = 32}, scalar(4));

    const auto vector = [=](int shift) { return [=](host& h) { h.load16(x + shift); }; };
    CHECK(caught(device, fault::misaligned, {.threads = 32}, vector(8)).offset == 8);
    passes(device, {.threads = 32}, vector(16));

    const auto in_shared = [](int shift) {
        return [=](host& h) {
            auto* s = h.shared<unsigned char>(1024);
            h.store16(s + 16 * h.thread() + shift, {});
        };
    };
    const finding g =
        caught(device, fault::misaligned, {.threads = 32, .shared_bytes = 1024}, in_shared(4));
    CHECK(says(g, "writes 16 bytes at shared array 0 (1024 bytes) + 4"));
    passes(device, {.threads = 32, .shared_bytes = 1024}, in_shared(0));
}

TEST_CASE("ranges may be sparse and far larger than memory") {
    constexpr std::size_t bytes = 20ull << 30;
    void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(base != MAP_FAILED);
    for (const memory kind : {memory::constant, memory::initialized}) {
        host_device device;
        device.add("model", base, bytes, kind);
        const auto* x = static_cast<const float*>(base);
        passes(device, {.threads = 32}, [=](host& h) {
            for (std::size_t i = 0; i < 20; ++i) h.load(x + (i << 28) + h.thread());
        });
        CHECK(caught(device, fault::out_of_bounds, {.threads = 32}, [=](host& h) {
                  h.load(x + bytes / 4);
              }).offset == static_cast<std::int64_t>(bytes));
    }
    munmap(base, bytes);
}

TEST_CASE("ranges must not overlap, and one that is removed is unknown again") {
    host_device device;
    float x[16] = {};
    device.add("x", x, sizeof x, memory::initialized);
    CHECK_THROWS_WITH(device.add("again", x + 15, 4, memory::constant),
                      "memory range again overlaps x: declare every allocation once");
    CHECK_THROWS_WITH(device.add("nothing", x, 0, memory::constant),
                      "memory range nothing is empty: give it an address and a size");
    const auto body = [p = &x[0]](host& h) { h.load(p); };
    passes(device, {.threads = 32}, body);
    CHECK(device.remove(x));
    CHECK_FALSE(device.remove(x));
    caught(device, fault::out_of_bounds, {.threads = 32}, body);
}

TEST_CASE("a range may begin where another one ends") {
    float x[16] = {};
    for (const bool upper_first : {true, false}) {
        host_device device;
        device.add("one", upper_first ? x + 8 : x, 32, memory::initialized);
        device.add("other", upper_first ? x : x + 8, 32, memory::initialized);
        passes(device, {.threads = 32}, [p = &x[0]](host& h) {
            h.load(p + 7);
            h.load(p + 8);
        });
    }
}

TEST_CASE("the first finding ends the launch: nothing runs after it") {
    host_device device;
    auto* y = device.allocate<int>("y", 4, memory::initialized);
    caught(device, fault::out_of_bounds, {.blocks = 4, .threads = 32}, [=](host& x) {
        if (x.thread() == 0) x.store(y + x.block(), 1);
        x.sync();
        if (x.block() == 1) x.load(y + 4);
    });
    CHECK(std::vector<int>(y, y + 4) == std::vector<int>{1, 1, 0, 0});
}

TEST_CASE("a launch rounds to nearest, however its caller rounds, who rounds as before") {
    host_device device;
    auto* y = device.allocate<float>("y", 1, memory::initialized);
    std::fesetround(FE_UPWARD);
    const catena::status done = launch(device, {.threads = 32}, [=](host& x) {
        if (x.thread() == 0) x.store(y, catena::real{1} + catena::real{0x1p-30f});
    });
    const int left = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(done.ok());
    CHECK(*y == 1);
    CHECK(left == FE_UPWARD);
}
