// Every row of every table that has a host kernel (tests/instances/sets.cpp says which must), on
// the host executor, a test per arch.
#include "host_machine.hpp"
#include "sampled.hpp"
#include "sweep.hpp"
#include "tables.hpp"

#include "catena_test/catch.hpp"

using namespace catena;

namespace {

void sweep_arch(const char* arch) {
    const table t = instances::on_host(instances::table_named(arch));
    REQUIRE(t.state.ok());
    REQUIRE(t.row_count > 0);
    for (int i = 0; i < t.row_count; ++i) {
        const row& r = t.rows[i];
        const std::string name = row_name(t, i);
        INFO(name);
        if (!catena_test::runs(t, i) || catena_test::tested_on(r) != arch) continue;
        catena_test::sweep(catena_test::on_host(r.computes, r.policy, t.kernels[i], name), nullptr,
                           catena_test::sampled);
    }
}

}  // namespace

TEST_CASE("Every row of the host's table stands every case", "[host]") { sweep_arch("host"); }
TEST_CASE("Every row of sm_75's table stands every case", "[sm_75]") { sweep_arch("sm_75"); }
TEST_CASE("Every row of sm_80's table stands every case", "[sm_80]") { sweep_arch("sm_80"); }
TEST_CASE("Every row of sm_86's table stands every case", "[sm_86]") { sweep_arch("sm_86"); }
TEST_CASE("Every row of sm_89's table stands every case", "[sm_89]") { sweep_arch("sm_89"); }
TEST_CASE("Every row of sm_90's table stands every case", "[sm_90]") { sweep_arch("sm_90"); }
TEST_CASE("Every row of sm_100's table stands every case", "[sm_100]") { sweep_arch("sm_100"); }
TEST_CASE("Every row of sm_120's table stands every case", "[sm_120]") { sweep_arch("sm_120"); }
