// GPU architectures as values: the limits that constraints read and the rates that the cost model
// reads. Limits: CUDA C++ Programming Guide 13.0, table "Technical Specifications per Compute
// Capability". Rates are those of one representative GPU (arch/gpu.hpp has others); a measured set
// replaces them where there is one.
#pragma once

#include "catena/config.hpp"

#include <cstddef>

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

namespace detail {

/// Copies a text into a field. What does not fit is left out.
template <std::size_t Size>
constexpr void set_text(char (&to)[Size], const char* text) {
    std::size_t i = 0;
    for (; text[i] != '\0' && i + 1 < Size; ++i) to[i] = text[i];
    while (i < Size) to[i++] = '\0';
}

/// The limits and the instructions that compute capabilities of the registry have alike.
constexpr arch limits_of(const char* name, int compute_capability) {
    arch a{};
    a.name = name;
    a.compute_capability = compute_capability;
    a.max_threads_per_block = 1024;
    a.registers_per_sm = 65536;
    a.max_registers_per_thread = 255;
    a.async_copy = compute_capability >= 80;
    a.bulk_copy = a.dependent_launch = compute_capability >= 90;
    return a;
}

constexpr arch sm_75() {
    arch a = limits_of("sm_75", 75);
    a.max_threads_per_sm = 1024;
    a.max_blocks_per_sm = 16;
    a.shared_per_sm = 65536;
    a.shared_per_block = 65536;
    a.shared_unit = 256;
    a.shared_reserved = 0;
    set_text(a.gpu, "RTX 2080 Ti");
    a.sms = 68;
    a.bytes_per_us = 616e3;
    a.node_us = 2.0;
    a.cycles_per_us = 1545;
    return a;
}

constexpr arch sm_80() {
    arch a = limits_of("sm_80", 80);
    a.max_threads_per_sm = 2048;
    a.max_blocks_per_sm = 32;
    a.shared_per_sm = 167936;
    a.shared_per_block = 166912;
    set_text(a.gpu, "A100 SXM");
    a.sms = 108;
    a.bytes_per_us = 2039e3;
    a.node_us = 1.5;
    a.cycles_per_us = 1410;
    return a;
}

constexpr arch sm_86() {
    arch a = limits_of("sm_86", 86);
    a.max_threads_per_sm = 1536;
    a.max_blocks_per_sm = 16;
    a.shared_per_sm = 102400;
    a.shared_per_block = 101376;
    set_text(a.gpu, "RTX 3090");
    a.sms = 82;
    a.bytes_per_us = 936e3;
    a.node_us = 1.5;
    a.cycles_per_us = 1695;
    return a;
}

constexpr arch sm_89() {
    arch a = limits_of("sm_89", 89);
    a.max_threads_per_sm = 1536;
    a.max_blocks_per_sm = 24;
    a.shared_per_sm = 102400;
    a.shared_per_block = 101376;
    set_text(a.gpu, "RTX 4090");
    a.sms = 128;
    a.bytes_per_us = 1008e3;
    a.node_us = 1.3;
    a.cycles_per_us = 2520;
    return a;
}

constexpr arch sm_90() {
    arch a = limits_of("sm_90", 90);
    a.max_threads_per_sm = 2048;
    a.max_blocks_per_sm = 32;
    a.shared_per_sm = 233472;
    a.shared_per_block = 232448;
    a.wgmma = true;
    a.cluster_blocks = 8;
    set_text(a.gpu, "H100 SXM");
    a.sms = 132;
    a.bytes_per_us = 3000e3;
    a.node_us = 1.2;
    a.cycles_per_us = 1980;
    return a;
}

constexpr arch sm_100() {
    arch a = limits_of("sm_100", 100);
    a.max_threads_per_sm = 2048;
    a.max_blocks_per_sm = 32;
    a.shared_per_sm = 233472;
    a.shared_per_block = 232448;
    a.cluster_blocks = 8;
    set_text(a.gpu, "B200");
    a.sms = 148;
    a.bytes_per_us = 7700e3;
    a.node_us = 1.2;
    a.cycles_per_us = 1965;
    return a;
}

constexpr arch sm_120() {
    arch a = limits_of("sm_120", 120);
    a.max_threads_per_sm = 1536;
    a.max_blocks_per_sm = 24;
    a.shared_per_sm = 102400;
    a.shared_per_block = 101376;
    set_text(a.gpu, "RTX 5090");
    a.sms = 170;
    a.bytes_per_us = 1792e3;
    a.node_us = 1.2;
    a.cycles_per_us = 2407;
    return a;
}

/// The host executor runs the kernels of sm_90.
constexpr arch host() {
    arch a = sm_90();
    a.name = "host";
    a.compute_capability = 0;
    set_text(a.gpu, "host");
    a.sms = 1;
    a.bytes_per_us = 1e4;
    a.node_us = 1.0;
    return a;
}

}  // namespace detail

/// cmake/catena_archs.cmake reads the names of the sets where limits_of is called.
inline constexpr arch arch_registry[] = {detail::host(),   detail::sm_75(), detail::sm_80(),
                                         detail::sm_86(),  detail::sm_89(), detail::sm_90(),
                                         detail::sm_100(), detail::sm_120()};

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

/// Has an entry every figure, and do its limits agree?
constexpr bool complete(const arch& a) {
    return a.max_threads_per_sm >= a.max_threads_per_block && a.max_blocks_per_sm > 0 &&
           a.shared_per_block > 0 && a.shared_per_block + a.shared_reserved <= a.shared_per_sm &&
           (a.async_copy || !a.bulk_copy) && (a.bulk_copy || !a.wgmma) && a.gpu[0] != '\0' &&
           a.sms > 0 && a.bytes_per_us > 0 && a.node_us > 0;
}
constexpr bool all_complete() {
    for (const arch& row : arch_registry)
        if (!complete(row)) return false;
    return true;
}
static_assert(all_complete(), "an entry of arch_registry lacks a figure, or its limits disagree");

}  // namespace detail

/// The arch called `text`, or null.
constexpr const arch* arch_named(const char* text) {
    for (const arch& row : arch_registry)
        if (same_text(row.name, text)) return &row;
    return nullptr;
}

}  // namespace CATENA_NAMESPACE
