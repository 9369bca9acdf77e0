// Every compiled row of the sm_90 set on a GPU, against the reference and, but for the rows whose
// bits are the device's, byte for byte against the host executor.
#include "cuda_machine.hpp"
#include "host_machine.hpp"
#include "sweep.hpp"

#include "expand.hpp"

#include "catena/instances/host.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/pick/name.hpp"
#include "catena_test/catch.hpp"

#include <cstdlib>
#include <limits>
#include <map>
#include <memory>

namespace {

using namespace catena;
using namespace catena_test;

/// Without a GPU the tests say so and are reported as skipped, unless CATENA_NEEDS_DEVICE is set.
bool device_is_there() {
    if (!cuda_machine::broken().empty())
        FAIL("not run, for a kernel above broke the GPU's context: " << cuda_machine::broken());
    cudaDeviceProp gpu{};
    const cudaError_t asked = cudaGetDeviceProperties(&gpu, 0);
    if (asked == cudaSuccess && gpu.major == 9) return true;
    if (std::getenv("CATENA_NEEDS_DEVICE") != nullptr)
        FAIL("device 0 is not of compute capability 9.0: "
             << (asked == cudaSuccess ? gpu.name : cudaGetErrorString(asked)));
    WARN("skipped: no GPU of compute capability 9.0 as device 0");
    return false;
}

std::unique_ptr<machine> make_cuda() { return std::make_unique<cuda_machine>(); }
std::unique_ptr<machine> make_host() { return std::make_unique<host_machine>(1); }

/// A section for each file of kernels, which -c names, and in it one for each row: a row that fails
/// ends itself, and the others are run.
template <class Test>
void for_each_row(Test test) {
    if (!device_is_there()) return;
    const table t = instances::sm_90();
    std::map<std::string, std::vector<int>> files;
    for (int i = 0; i < t.row_count; ++i) files[generator::family(t.rows[i].computes)].push_back(i);
    for (const auto& [file, rows] : files) DYNAMIC_SECTION(file) {
            for (const int i : rows) DYNAMIC_SECTION(row_name(t, i)) {
                    test(i, {t.rows[i].computes, t.rows[i].policy, t.kernels[i], make_cuda});
                }
        }
}

}  // namespace

TEST_CASE("on a GPU every row stands its cases and writes the host's bytes", "[rows]") {
    const table host = instances::on_host(instances::sm_90());
    for_each_row([&](int i, const instance& on) {
        const instance peer{on.computes, on.policy, host.kernels[i], make_host};
        sweep(on, bits_of_device(on.computes) ? nullptr : &peer);
    });
}

// For compute-sanitizer, under which all would take hours.
TEST_CASE("on a GPU every row stands an eighth of its cases", "[.sample]") {
    for_each_row([](int, const instance& on) { sweep(on, nullptr, 8); });
}

// That every row waits is seen only if the GPU overlaps kernels; it may not do so every time.
TEST_CASE("on a GPU a launch that does not wait is caught", "[wait]") {
    if (!device_is_there()) return;
    constexpr float right = 2;
    const auto copied = [&](const void* kernel) {
        cuda_machine on;
        const copied_float args{
            static_cast<const float*>(on.put("from", contents::data, to_bytes(std::vector{right}))),
            static_cast<float*>(on.blank("to", sizeof(float)))};
        REQUIRE(on.launch(kernel, {.threads = 1, .dependent = true}, &args, sizeof args) == "");
        return from_bytes<float>(on.read(args.to, sizeof(float)))[0];
    };
    const auto is_caught = [&](const void* kernel) {
        for (int i = 0; i < 100; ++i)
            if (copied(kernel) != right) return true;
        return false;
    };
    CHECK_FALSE(is_caught(copies_after_waiting));
    CHECK(is_caught(reads_before_waiting));
    CHECK(is_caught(writes_before_waiting));
}
