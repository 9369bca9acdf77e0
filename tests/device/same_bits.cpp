// Every compiled row of the sm_90 set on a GPU, against the reference and against the host
// executor.
#include "cuda_machine.hpp"
#include "host_machine.hpp"
#include "sweep.hpp"

#include "catena/instances/host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <cstdlib>
#include <memory>

namespace {

using namespace catena;
using namespace catena_test;

/// Without a GPU the tests say so and are reported as skipped, unless CATENA_NEEDS_DEVICE is set.
bool device_is_there() {
    cudaDeviceProp gpu{};
    if (cudaGetDeviceProperties(&gpu, 0) == cudaSuccess && gpu.major == 9) return true;
    if (std::getenv("CATENA_NEEDS_DEVICE") != nullptr)
        FAIL("device 0 is not of compute capability 9.0");
    WARN("skipped: no GPU of compute capability 9.0 as device 0");
    return false;
}

std::unique_ptr<machine> make_cuda() { return std::make_unique<cuda_machine>(); }
std::unique_ptr<machine> make_host() { return std::make_unique<host_machine>(1); }

instance on_device(const table& t, int i) {
    return {t.rows[i].computes, t.rows[i].numbers, t.kernels[i], make_cuda};
}

/// A section for each row: one that fails ends itself, and the others are run.
void sweep_kind(skeleton kind, std::size_t every = 1) {
    if (!device_is_there()) return;
    const table t = instances::sm_90();
    for (int i = 0; i < t.row_count; ++i) {
        if (t.rows[i].computes.kind != kind) continue;
        DYNAMIC_SECTION(row_name(t, i)) { sweep(on_device(t, i), nullptr, every); }
    }
}

}  // namespace

TEST_CASE("on a GPU every row of the row skeleton stands its cases", "[row]") {
    sweep_kind(skeleton::row);
}
TEST_CASE("on a GPU every matvec stands its cases", "[matvec]") { sweep_kind(skeleton::matvec); }
TEST_CASE("on a GPU every matmul stands its cases", "[matmul]") { sweep_kind(skeleton::matmul); }

// For compute-sanitizer, under which all would take hours.
constexpr std::size_t sample = 8;
TEST_CASE("on a GPU every row of the row skeleton stands an eighth of its cases", "[.row-sample]") {
    sweep_kind(skeleton::row, sample);
}
TEST_CASE("on a GPU every matvec stands an eighth of its cases", "[.matvec-sample]") {
    sweep_kind(skeleton::matvec, sample);
}
TEST_CASE("on a GPU every matmul stands an eighth of its cases", "[.matmul-sample]") {
    sweep_kind(skeleton::matmul, sample);
}

TEST_CASE("every row whose bits are not the device's writes the same bytes on a GPU and on the host",
          "[bits]") {
    if (!device_is_there()) return;
    const table t = instances::sm_90();
    const table host = instances::on_host(t);
    for (int i = 0; i < t.row_count; ++i) {
        if (bits_of_device(t.rows[i].computes)) continue;  // held to the reference above
        const instance peer{t.rows[i].computes, t.rows[i].numbers, host.kernels[i], make_host};
        DYNAMIC_SECTION(row_name(t, i)) { sweep(on_device(t, i), &peer); }
    }
}
