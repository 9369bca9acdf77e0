// How many blocks an SM holds. The numbers are those of NVIDIA's occupancy calculator; where there
// is its header, tests/instances/occupancy.cpp asks it.
#include "catena/pick/config.hpp"
#include "catena/pick/pick.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

using namespace catena;
using namespace catena_test;

namespace {

const arch& sm(const char* name) { return *arch_named(name); }

int blocks(const char* name, int threads, int registers, std::int64_t shared = 0) {
    row r = row_of(norm_row, row_policy{.threads = threads});
    r.registers = registers;
    return blocks_per_sm(r, sm(name), shared);
}

}  // namespace

TEST_CASE("A warp takes registers in units of 8 a thread, of its quarter of an SM", "[occupancy]") {
    CHECK(blocks("sm_90", 128, 64) == 8);
    CHECK(blocks("sm_90", 128, 80) == 6);
    CHECK(blocks("sm_90", 128, 81) == 5);  // of 65536 registers, 6 x 128 x 85 would be there
    CHECK(blocks("sm_90", 128, 85) == 5);
    CHECK(blocks("sm_90", 64, 168) == 6);
    CHECK(blocks("sm_90", 96, 168) == 4);
    CHECK(blocks("sm_90", 256, 255) == 1);
    CHECK(blocks("sm_90", 512, 128) == 1);
    CHECK(blocks("sm_90", 512, 129) == 0);
    CHECK(blocks("sm_90", 96, 72) == 9);
    CHECK(blocks("sm_75", 96, 72) == 9);
    CHECK(blocks("sm_89", 1024, 40) == 1);
    CHECK(blocks("sm_75", 1024, 64) == 1);
}

TEST_CASE("A block takes shared memory in units, and the driver's share since 8.0", "[occupancy]") {
    CHECK(blocks("sm_90", 32, 32, 6 * 1024) == 32);
    CHECK(blocks("sm_90", 32, 32, 6 * 1024 + 129) == 31);
    CHECK(blocks("sm_89", 32, 32, 49 * 1024) == 2);
    CHECK(blocks("sm_89", 32, 32, 49 * 1024 + 1) == 1);
    CHECK(blocks("sm_75", 32, 32, 32 * 1024) == 2);
    CHECK(blocks("sm_75", 32, 32, 16 * 1024 + 1) == 3);
    CHECK(blocks("sm_75", 32, 32, 64 * 1024) == 1);
}

TEST_CASE("Launch bounds leave registers in the same units", "[occupancy]") {
    CHECK(registers_left(128, 4, sm("sm_90")) == 128);
    CHECK(registers_left(128, 6, sm("sm_90")) == 80);
    CHECK(registers_left(128, 5, sm("sm_90")) == 96);
    CHECK(registers_left(96, 1, sm("sm_90")) == 255);
    for (const int threads : {32, 64, 96, 128, 256, 512})
        for (int promised = 1; promised * threads <= 2048; ++promised) {
            const int most = registers_left(threads, promised, sm("sm_90"));
            INFO(threads << " threads, " << promised << " blocks, " << most << " registers");
            CHECK(blocks_by_registers(most, threads, sm("sm_90")) >= promised);
            if (most < 255) CHECK(blocks_by_registers(most + 1, threads, sm("sm_90")) < promised);
        }
}

TEST_CASE("A row of which an SM holds no block is not picked", "[occupancy]") {
    table t = toy_table();
    REQUIRE(pick(norm_problem(512), t).row >= 0);
    t.device = t.limits();
    t.device->shared_per_sm = 64;
    const picked best = pick(norm_problem(512), t);
    CHECK(best.row < 0);
    CHECK(best.nearest.why == limit::registers);
}
