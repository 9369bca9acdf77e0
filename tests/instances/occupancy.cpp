// How many blocks an SM holds, as NVIDIA's own calculator says (cuda_occupancy.h of the toolkit).
#include "catena/instances/all.hpp"
#include "catena/pick/config.hpp"

#include "catena_test/catch.hpp"

#include <cuda_occupancy.h>

#include <cstdint>

using namespace catena;

namespace {

cudaOccDeviceProp device_of(const arch& a) {
    cudaOccDeviceProp d;
    d.computeMajor = a.compute_capability / 10;
    d.computeMinor = a.compute_capability % 10;
    d.maxThreadsPerBlock = a.max_threads_per_block;
    d.maxThreadsPerMultiprocessor = a.max_threads_per_sm;
    d.regsPerBlock = d.regsPerMultiprocessor = a.registers_per_sm;
    d.warpSize = warp_size;
    d.sharedMemPerBlock = 48 * 1024;
    d.sharedMemPerMultiprocessor = static_cast<std::size_t>(a.shared_per_sm);
    d.sharedMemPerBlockOptin = static_cast<std::size_t>(a.shared_per_block);
    d.reservedSharedMemPerBlock = static_cast<std::size_t>(a.shared_reserved);
    d.numSms = a.sms;
    return d;
}

/// With all the shared memory that an SM can have.
int calculated(const arch& a, int registers, int threads, std::int64_t shared) {
    const cudaOccDeviceProp d = device_of(a);
    cudaOccFuncAttributes f;
    f.maxThreadsPerBlock = a.max_threads_per_block;
    f.numRegs = registers;
    f.sharedSizeBytes = 0;
    f.partitionedGCConfig = PARTITIONED_GC_OFF;
    f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    f.maxDynamicSharedSizeBytes = static_cast<std::size_t>(a.shared_per_block);
    f.numBlockBarriers = 1;
    cudaOccDeviceState s;
    s.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result{};
    REQUIRE(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &d, &f, &s, threads,
                                                    static_cast<std::size_t>(shared)) ==
            CUDA_OCC_SUCCESS);
    return result.activeBlocksPerMultiprocessor;
}

}  // namespace

TEST_CASE("NVIDIA's calculator counts as many blocks, whatever a block takes", "[occupancy]") {
    int many = 0;
    for (const arch& a : arch_registry) {
        if (a.compute_capability == 0) continue;
        for (int threads = 32; threads <= 1024; threads += 32)
            for (int registers = 16; registers <= 255; registers += 3)
                for (const std::int64_t shared : {0, 1, 5000, 9000, 9216, 20000, 40000, 60000}) {
                    row r;
                    r.registers = registers;
                    r.policy = row_policy{.threads = threads};
                    INFO(a.name << ", " << threads << " threads of " << registers << " registers, "
                                << shared << " bytes");
                    const int blocks = blocks_per_sm(r, a, shared);
                    many += blocks > 1;
                    if (blocks != calculated(a, registers, threads, shared))
                        CHECK(blocks == calculated(a, registers, threads, shared));
                }
    }
    CHECK(many > 10000);
}

TEST_CASE("It holds no fewer of a compiled row than its launch bounds promise", "[occupancy]") {
    int rows = 0;
    for (const arch& a : arch_registry) {
        const table t = instances::table_named(a.name);
        for (int i = 0; i < t.row_count; ++i) {
            const row& r = t.rows[i];
            if (r.registers == 0) continue;
            ++rows;
            CHECK(calculated(a, r.registers, r.policy.threads(), 0) >= r.policy.min_blocks());
        }
    }
    CHECK(rows > 300);
}
