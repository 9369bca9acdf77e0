// GPU architectures as values: the limits that constraints read and the rates that the cost model
// reads. Limits: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
// Capability". Rates are those of one representative GPU (arch/gpu.hpp has others); a measured set
// replaces them where there is one.
#pragma once

#include "catena/config.hpp"

namespace CATENA_NAMESPACE {
/// A GPU architecture: its limits, and the rates of one GPU that has it.
struct arch {
    const char* name;        ///< "sm_90"; "host" for the host executor
    int compute_capability;  ///< 90 for sm_90; 0 for the host
    int max_threads_per_block;
    int max_threads_per_sm;
    int max_blocks_per_sm;
    int registers_per_sm;
    int max_registers_per_thread;
    int shared_per_sm;      ///< bytes
    int shared_per_block;   ///< bytes a block may use after opting in
    bool async_copy;        ///< cp.async (sm_80)
    bool bulk_copy;         ///< cp.async.bulk and mbarriers with a transaction count (sm_90)
    bool dependent_launch;  ///< programmatic dependent launch (sm_90)
    bool wgmma;             ///< wgmma.mma_async (sm_90 alone, compiled as sm_90a)
    char gpu[64];           ///< GPU whose rates follow, or a device by the name that CUDA gives it
    int sms;
    double bytes_per_us;          ///< read bandwidth
    double node_us;               ///< an empty node of a CUDA graph
    int cluster_blocks = 1;       ///< the most blocks of a thread block cluster (sm_90)
    double cycles_per_us = 1980;  ///< boosted clock of an SM
    int shared_unit = 128;        ///< bytes: a block gets a multiple of this
    int shared_reserved = 1024;   ///< bytes that the driver takes for each block
};

/// Registers are dealt to warps in these units, and warps to the quarters of an SM, each with a
/// quarter of its registers. Shared memory is dealt to blocks. Source: cuda_occupancy.h of CUDA
/// 13.0, which says the same of every compute capability from 7.5 to 12.0, but for the units of
/// shared memory before 8.0.
inline constexpr int register_unit = 256, sm_quarters = 4;

// clang-format off
inline constexpr arch arch_registry[] = {
    // name, compute capability; threads of a block and an SM; blocks of an SM; registers of an SM
    // and a thread; shared memory of an SM and a block; cp.async, bulk copies, dependent launch, wgmma;
    // the GPU: SMs, bytes per us, us of a node, blocks of a cluster, cycles per us; units of shared
    // memory
    {"host",     0, 1024, 2048, 32, 65536, 255, 233472, 232448, true,  true,  true,  true,
     "host",          1,    1e4, 1.0, 8, 1980},
    {"sm_75",   75, 1024, 1024, 16, 65536, 255,  65536,  65536, false, false, false, false,
     "RTX 2080 Ti",  68,  616e3, 2.0, 1, 1545, 256, 0},
    {"sm_80",   80, 1024, 2048, 32, 65536, 255, 167936, 166912, true,  false, false, false,
     "A100 SXM",    108, 2039e3, 1.5, 1, 1410},
    {"sm_86",   86, 1024, 1536, 16, 65536, 255, 102400, 101376, true,  false, false, false,
     "RTX 3090",     82,  936e3, 1.5, 1, 1695},
    {"sm_89",   89, 1024, 1536, 24, 65536, 255, 102400, 101376, true,  false, false, false,
     "RTX 4090",    128, 1008e3, 1.3, 1, 2520},
    {"sm_90",   90, 1024, 2048, 32, 65536, 255, 233472, 232448, true,  true,  true,  true,
     "H100 SXM",    132, 3000e3, 1.2, 8, 1980},
    {"sm_100", 100, 1024, 2048, 32, 65536, 255, 233472, 232448, true,  true,  true,  false,
     "B200",        148, 7700e3, 1.2, 8, 1965},
    {"sm_120", 120, 1024, 1536, 24, 65536, 255, 102400, 101376, true,  true,  true,  false,
     "RTX 5090",    170, 1792e3, 1.2, 1, 2407},
};
// clang-format on

/// Does ptxas make two mma of f16 and conversions of an mma.sync of fp8? (CUDA 13.0)
constexpr bool fp8_by_halves(const arch& a) {
    return a.compute_capability == 90 || a.compute_capability == 100;
}

/// Whether two texts are the same, letter by letter.
constexpr bool same_text(const char* a, const char* b) {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
}

namespace detail {

/// Could a GPU have these figures? Most of those that stand in a wrong field give numbers that no
/// GPU has; two of about the same size are not told apart.
constexpr bool plausible(const arch& a) {
    return a.compute_capability < 1000 && a.max_threads_per_block == 1024 &&
           a.max_threads_per_sm >= a.max_threads_per_block && a.max_blocks_per_sm <= 32 &&
           a.registers_per_sm == 65536 && a.max_registers_per_thread == 255 &&
           a.shared_per_block <= a.shared_per_sm && a.shared_per_block >= 48 * 1024 &&
           (a.async_copy || !a.bulk_copy) && (a.bulk_copy || !a.wgmma) && a.sms > 0 &&
           a.sms < 1000 && a.bytes_per_us >= 1e4 && a.node_us > 0 && a.node_us < 10 &&
           (a.cluster_blocks == 1 || a.cluster_blocks == 8) && a.cycles_per_us > 1000 &&
           a.cycles_per_us < 4000 && a.shared_unit >= 128 && a.shared_unit <= 256 &&
           (a.shared_reserved == 0 || a.shared_reserved == 1024);
}
constexpr bool all_plausible() {
    for (const arch& row : arch_registry)
        if (!plausible(row)) return false;
    return true;
}
static_assert(all_plausible(), "a figure of arch_registry stands in the wrong place");

}  // namespace detail

/// The arch called `text`, or null.
constexpr const arch* arch_named(const char* text) {
    for (const arch& row : arch_registry)
        if (same_text(row.name, text)) return &row;
    return nullptr;
}

}  // namespace CATENA_NAMESPACE
