// What the cost model assumes, with the GPU at hand's figures where CUDA reports them: a line of
// JSON for each constant that the other probes measure. Bounds are those that the model
// states (docs/tuning.md); where it states none they are 10 % to both sides.
#include "registered.hpp"
#include "warp_code.hpp"

#include "catena/launch/device.cuh"
#include "catena/pick/cost.hpp"

#include <cstdio>

namespace catena::probe {

namespace {

constexpr double tolerance = 0.1;

struct bounds {
    double low, high;
};
constexpr bounds about(double value) { return {value * (1 - tolerance), value * (1 + tolerance)}; }

void print(const char* name, const char* unit, double value, bounds b) {
    std::printf(
        "{\"constant\": \"%s\", \"unit\": \"%s\", \"value\": %g, \"low\": %g, \"high\": %g}\n",
        name, unit, value, b.low, b.high);
}

void print_model() {
    using namespace catena::detail;
    const arch a = of_device(*arch_named("sm_90"), 0);
    std::printf("{\"gpu\": \"%s\", \"sms\": %d, \"cycles_per_us\": %g}\n", a.gpu, a.sms,
                a.cycles_per_us);
    print("bytes_per_us", "bytes/us", a.bytes_per_us, about(a.bytes_per_us));
    print("cold_share", "of the bandwidth", 1, {1 - tolerance, 1});  // the model has no ramp
    print("node_us", "us", a.node_us, about(a.node_us));
    print("memory_latency_us", "us", memory_latency_us, {0.3, 0.7});
    print("loaded_latency_us", "us", loaded_latency_us, {0.8, 1.5});
    print("l2_speedup", "times", l2_speedup, about(l2_speedup));
    const auto stall = [](const char* name, evidence::sass_kind kind) {
        const double cycles = evidence::latency_of(kind);
        print(name, "cycles", cycles, {0.8 * cycles, 1.2 * cycles});
    };
    stall("shared_cycles", evidence::sass_kind::memory);
    stall("shared_16_cycles", evidence::sass_kind::load16);
    stall("mma_cycles", evidence::sass_kind::mma);
    print("cluster_us", "us", cluster_us, about(cluster_us));
}

const registered here{"model", "What the cost model assumes of this GPU", print_model};

}  // namespace

}  // namespace catena::probe
