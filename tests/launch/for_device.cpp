// The table for a device: of the set that runs there, with what CUDA says of the device itself. The
// set of sm_90 is the test's own here.
#define CATENA_HAS_KERNELS 1
#define CATENA_HAS_SM_90 1
#include "catena/instances/for_device.hpp"
#include "catena/pick/join.hpp"
#include "catena/pick/pick.hpp"

#include "runtime.hpp"

#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"
#include "catena_test/problems.hpp"

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

table set_of(const char* arch) {
    static const char code[toy_row_count] = {};
    static const void* kernels[toy_row_count];
    for (int i = 0; i < toy_row_count; ++i) kernels[i] = code + i;
    table t = toy_table();
    t.target = arch_named(arch);
    t.kernels = kernels;
    t.launch = launch_cuda;
    return t;
}

}  // namespace

catena::table catena::instances::sm_90() { return set_of("sm_90"); }

namespace {

/// A GPU that no list has: an sm_90 with 100 SMs.
struct stranger : fresh_runtime {
    stranger() {
        runtime.name = "NVIDIA H90 PCIe";
        for (const auto& [what, value] : std::initializer_list<std::pair<cudaDeviceAttr, int>>{
                 {cudaDevAttrComputeCapabilityMajor, 9},
                 {cudaDevAttrComputeCapabilityMinor, 0},
                 {cudaDevAttrMultiProcessorCount, 100},
                 {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 200'000},
                 {cudaDevAttrClockRate, 1'500'000},
                 {cudaDevAttrMemoryClockRate, 1'000'000},
                 {cudaDevAttrGlobalMemoryBusWidth, 4096}})
            runtime.attributes[what] = value;
    }
};

std::uint32_t blocks_on(const table& t, int rows) {
    return pick(matvec_problem(4096, {{.type = format::q4_K, .rows = rows}}), t).config.blocks;
}

}  // namespace

TEST_CASE_METHOD(stranger, "a device's own figures are planned with", "[device]") {
    const table t = instances::for_device(4);
    REQUIRE(t.state.ok());
    const arch& here = t.limits();
    CHECK(std::string(here.name) == "sm_90");
    CHECK(std::string(here.gpu) == "NVIDIA H90 PCIe");
    CHECK(here.sms == 100);
    CHECK(here.cycles_per_us == 1500);
    CHECK(here.bytes_per_us == Approx(1024e3 * 3000 / 3350));  // reads get the share of an H100
    CHECK(here.shared_per_sm == 200'000);
    CHECK(here.shared_per_block == most_shared);
    CHECK(here.max_threads_per_sm == 2048);  // CUDA did not say: the arch's
    CHECK(here.node_us == t.target->node_us);
    CHECK(t.target == arch_named("sm_90"));

    CHECK(t.prepare == prepare_cuda);
    CHECK(t.device_number == 4);
    CHECK(runtime.device == 0);
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(stranger, "bands fill the SMs that the device has", "[device]") {
    const table t = instances::for_device(0);
    table of_arch = t;
    of_arch.device.reset();
    const int resident = 16, rows = 132 * resident * 4;  // four rows are the least of a block
    CHECK(blocks_on(of_arch, rows) == 132 * resident);
    CHECK(blocks_on(t, rows) <= 100 * resident);
    runtime.attributes[cudaDevAttrMultiProcessorCount] = 16;  // a seventh of it (MIG)
    CHECK(instances::for_device(0).limits().sms == 16);
}

TEST_CASE_METHOD(stranger, "a device that says nothing has the figures of its arch", "[device]") {
    runtime.attributes = {{cudaDevAttrComputeCapabilityMajor, 9},
                          {cudaDevAttrComputeCapabilityMinor, 0}};
    runtime.name = "";
    const table t = instances::for_device(0);
    CHECK(t.limits().sms == 132);
    CHECK(t.limits().bytes_per_us == 3000e3);
    CHECK(t.limits().cycles_per_us == 1980);
    CHECK(std::string(t.limits().gpu) == "H100 SXM");
    CHECK(runtime.last == cudaSuccess);
}

TEST_CASE_METHOD(stranger, "an older set has the limits of the newer GPU, and that GPU's figures",
                 "[device]") {
    runtime.attributes[cudaDevAttrComputeCapabilityMajor] = 12;
    const table t = instances::for_device(0);
    CHECK(std::string(t.state.message) ==
          "device 0 is sm_120, which has no set here: sm_90 serves");
    CHECK(std::string(t.target->name) == "sm_90");
    CHECK(std::string(t.limits().name) == "sm_120");
    CHECK(t.limits().max_threads_per_sm == 1536);
    CHECK(t.limits().sms == 100);
    CHECK(t.limits().bytes_per_us == Approx(1024e3));
}

TEST_CASE_METHOD(two_gpus, "each GPU of a machine has its own set and its own figures",
                 "[device]") {
    const auto of = [](int device) {
        return instances::for_device(device, {set_of("sm_80"), set_of("sm_90"), set_of("sm_120")});
    };
    const table first = of(0), second = of(1);
    CHECK(std::string(first.target->name) == "sm_90");
    CHECK(std::string(first.limits().gpu) == "NVIDIA H100 PCIe");
    CHECK(first.limits().sms == 114);
    CHECK(first.device_number == 0);
    CHECK(std::string(second.target->name) == "sm_80");
    CHECK(std::string(second.state.message) ==
          "device 1 is sm_86, which has no set here: sm_80 serves");
    CHECK(std::string(second.limits().gpu) == "NVIDIA GeForce RTX 3090");
    CHECK(second.limits().sms == 82);
    CHECK(second.limits().max_threads_per_sm == 1536);
    CHECK(second.device_number == 1);
    CHECK(runtime.device == 0);

    // An engine joins its own set of a device with Catena's set of that device.
    const joined both = {first, instances::for_device(0)};
    CHECK(both.rows().row_count == 2 * toy_row_count);
    CHECK(both.rows().device_number == 0);
}

TEST_CASE_METHOD(two_gpus, "a GPU that no set serves is told, and which sets there are",
                 "[device]") {
    CHECK(std::string(instances::for_device(1).state.message) ==
          "no instances run on CUDA device 1 (sm_86): there are sm_90; link sm_86, with kernels "
          "compiled for sm_86 (CATENA_CUDA_ARCHS)");
    CHECK(std::string(instances::for_device(1, {}).state.message).find("there are none;") !=
          std::string::npos);
}

namespace {

bool on_tegra(int capability) {
    return capability == 87 || capability == 88 || capability == 110;  // of 8.8 nothing is known
}

/// Does a GPU load a piece of code, such as 90a-real or 75-virtual? NVIDIA's rule.
bool loads(int capability, const std::string& code) {
    const int of = std::stoi(code);
    if (code.find("-virtual") != std::string::npos) return of <= capability;
    if (of == capability) return true;
    return of / 10 == capability / 10 && of < capability && code.find("a-") == std::string::npos &&
           !on_tegra(of) && !on_tegra(capability);
}

/// Does it load what a set is compiled to for `built_for`; for 0 in a build for all GPUs?
bool loads_set(int capability, const char* set, int built_for) {
    for (const served_gpu& g : served_registry) {
        if (std::string(g.set) != set) continue;
        if (built_for != 0 && g.compute_capability != built_for) continue;
        std::istringstream codes(g.code);
        for (std::string code; std::getline(codes, code, ';');)
            if (loads(capability, code)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE_METHOD(fresh_runtime, "a GPU runs the set that its build compiles for it", "[device]") {
    std::vector<table> sets;
    static const char code[std::size(arch_registry)] = {};
    static const void* kernels[std::size(arch_registry)];
    for (std::size_t i = 1; i < std::size(arch_registry); ++i) {
        sets.push_back(set_of(arch_registry[i].name));
        kernels[i] = code + i;
        sets.back().kernels = kernels + i;
    }
    for (const served_gpu& g : served_registry)
        for (const int built_for : {0, g.compute_capability}) {
            runtime.attributes[cudaDevAttrComputeCapabilityMajor] = g.compute_capability / 10;
            runtime.attributes[cudaDevAttrComputeCapabilityMinor] = g.compute_capability % 10;
            runtime.no_image.clear();
            for (const table& t : sets)
                if (!loads_set(g.compute_capability, t.target->name, built_for))
                    runtime.no_image.insert(t.kernels[0]);
            INFO(g.compute_capability << " in a build for " << built_for);
            const table t = instances::detail::for_device(0, sets.data(), sets.size());
            REQUIRE(t.target != nullptr);
            CHECK(std::string(t.target->name) == g.set);
        }
}

TEST_CASE("a GPU is known by its number, and one without a set has a neighbor", "[device]") {
    CHECK(capability_named("sm_121a") == 121);
    CHECK(capability_named("90") == 90);
    CHECK(capability_named("120f") == 120);
    for (const char* none : {"host", "native", "sm_", "sm_9", "90x", "sm_12345", ""})
        CHECK(capability_named(none) == 0);
    CHECK(served(87) != nullptr);
    CHECK(served(101) == nullptr);
    CHECK(nearest_served(101).compute_capability == 100);
    CHECK(nearest_served(70).compute_capability == 75);
    CHECK(with_limits(*arch_named("sm_86"), 87).shared_per_sm == 167936);
    CHECK(with_limits(*arch_named("sm_100"), 110).max_threads_per_sm == 1536);
}

TEST_CASE_METHOD(two_gpus, "medians of another GPU of the arch are left out, and this is said",
                 "[device]") {
    std::vector<row> rows(toy_rows, toy_rows + toy_row_count);
    rows[1].evidence = {.kind = provenance_kind::measured, .gpu = "NVIDIA H100 PCIe"};
    const measurement medians[] = {{7, 1, 2.f, 0}};
    table own = set_of("sm_90");
    own.rows = rows.data();
    own.measured = medians, own.measured_count = 1;
    CHECK(instances::for_device(0, {own}).measured_count == 1);
    CHECK(std::string(instances::for_device(0, {own}).state.message).empty());

    runtime.of_device[0].name = "NVIDIA H100 80GB HBM3";
    const table other = instances::for_device(0, {own});
    CHECK(other.state.ok());
    CHECK(other.measured_count == 0);
    CHECK(std::string(other.state.message) ==
          "the medians of sm_90 are of another GPU (NVIDIA H100 PCIe), so the cost model decides: "
          "tune on NVIDIA H100 80GB HBM3");

    runtime.of_device[0].attributes[cudaDevAttrComputeCapabilityMajor] = 12;
    CHECK(std::string(instances::for_device(0, {own}).state.message)
              .find("sm_90 serves; the medians of sm_90 are of another GPU") != std::string::npos);

    rows[1].evidence = {};
    CHECK(std::string(instances::for_device(0, {own}).state.message)
              .find("the medians of sm_90 are of another GPU (not named)") != std::string::npos);
}
