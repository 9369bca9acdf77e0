// GPUs by name: what one of them has in place of what its arch's representative has. Bandwidth is
// the peak of the memory, and clocks are boost clocks, as CUDA reports them. `source` names the
// document of NVIDIA's to check a figure with, and `assumed` what that does not state. An H100 SXM
// reported the SMs and the clock that stand here; no other figure was read from a GPU. for_device
// (instances/for_device.hpp) reads those of the GPU at hand.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/arch/served.hpp"

#include <cstddef>
#include <cstdint>

namespace CATENA_NAMESPACE {

/// Figures of a GPU. 0 is unknown: the arch's figure stays.
struct gpu_figures {
    const char* name;  ///< "H200 SXM"
    const char* arch;  ///< name of its instance set
    int sms;
    double l2_mib;             ///< size of L2; no cost depends on it, benchmarks do
    double peak_bytes_per_us;  ///< peak bandwidth of its memory
    double cycles_per_us;      ///< boosted clock of an SM
    const char* source = "";
    const char* assumed = "";
    int compute_capability = 0;  ///< compute capability, if it is not that of the set
};

// clang-format off
inline constexpr gpu_figures gpu_registry[] = {
    {"RTX 2080 Ti",    "sm_75",   68,   5.5,  616e3, 1545, "Turing whitepaper"},
    {"T4",             "sm_75",   40,   4,    320e3, 1590, "Turing whitepaper"},
    {"A100 SXM",       "sm_80",  108,  40,   2039e3, 1410, "A100 datasheet (80 GB), Ampere whitepaper"},
    {"A100 SXM 40GB",  "sm_80",  108,  40,   1555e3, 1410, "Ampere whitepaper"},
    {"A100 PCIe",      "sm_80",  108,  40,   1935e3, 1410, "A100 datasheet (80 GB), Ampere whitepaper"},
    {"A30",            "sm_80",   56,  24,    933e3, 1440, "A30 datasheet", "SMs, L2, clock"},
    {"RTX 3060",       "sm_86",   28,   3,    360e3, 1777, "RTX 3060 specifications", "SMs, L2, bandwidth"},
    {"RTX 3080",       "sm_86",   68,   5,    760e3, 1710, "GA102 whitepaper"},
    {"RTX 3090",       "sm_86",   82,   6,    936e3, 1695, "GA102 whitepaper"},
    {"A10",            "sm_86",   72,   6,    600e3, 1695, "A10 datasheet", "SMs, L2, clock"},
    {"A40",            "sm_86",   84,   6,    696e3, 1740, "GA102 whitepaper"},
    {"RTX A6000",      "sm_86",   84,   6,    768e3, 1800, "GA102 whitepaper"},
    {"Orin",           "sm_86",   16,   4,    204.8e3, 1300, "Jetson AGX Orin technical brief (64 GB)", "", 87},
    {"RTX 4060",       "sm_89",   24,  24,    272e3, 2460, "RTX 4060 specifications", "SMs"},
    {"RTX 4070",       "sm_89",   46,  36,    504e3, 2475, "Ada whitepaper"},
    {"RTX 4080",       "sm_89",   76,  64,    717e3, 2505, "Ada whitepaper"},
    {"RTX 4090",       "sm_89",  128,  72,   1008e3, 2520, "Ada whitepaper"},
    {"L4",             "sm_89",   58,  48,    300e3, 2040, "L4 datasheet", "SMs, L2, clock"},
    {"L20",            "sm_89",   92,  96,    864e3, 2520, "L20 datasheet", "SMs, L2, clock"},
    {"L40",            "sm_89",  142,  96,    864e3, 2490, "L40 datasheet, Ada whitepaper"},
    {"L40S",           "sm_89",  142,  96,    864e3, 2520, "L40S datasheet", "L2, clock"},
    {"RTX 6000 Ada",   "sm_89",  142,  96,    960e3, 2505, "Ada whitepaper"},
    {"H100 SXM",       "sm_90",  132,  50,   3350e3, 1980, "H100 datasheet, Hopper whitepaper", "clock"},
    {"H100 PCIe",      "sm_90",  114,  50,   2000e3, 1755, "H100 datasheet, Hopper whitepaper"},
    {"H100 NVL",       "sm_90",  132,  50,   3900e3, 1785, "H100 datasheet", "SMs, L2, clock"},
    {"H200 SXM",       "sm_90",  132,  50,   4800e3, 1980, "H200 datasheet", "SMs, L2, clock"},
    {"H200 NVL",       "sm_90",  132,  50,   4800e3, 1785, "H200 datasheet", "SMs, L2, clock"},
    {"H20",            "sm_90",   78,  60,   4000e3, 1980, "H20 datasheet", "SMs, L2, clock"},
    {"GH200 96GB",     "sm_90",  132,  50,   4000e3, 1980, "GH200 datasheet", "SMs, L2, clock"},
    {"GH200 144GB",    "sm_90",  132,  50,   4900e3, 1980, "GH200 datasheet", "SMs, L2, clock"},
    {"B200",           "sm_100", 148, 126,   7700e3, 1965, "HGX B200 datasheet", "SMs, L2, clock"},
    {"GB200",          "sm_100", 152, 126,   8000e3, 2062, "GB200 NVL72 datasheet", "SMs, L2, clock"},
    {"B300",           "sm_100", 148, 126,   8000e3, 2032, "HGX B300 datasheet", "SMs, L2, clock", 103},
    {"Thor",           "sm_100",  20,  32,    273e3, 1575, "Jetson T5000 datasheet", "SMs, L2", 110},
    {"RTX 5060",       "sm_120",  30,  32,    448e3, 2497, "RTX 5060 specifications", "SMs, L2"},
    {"RTX 5070",       "sm_120",  48,  48,    672e3, 2512, "RTX Blackwell whitepaper"},
    {"RTX 5070 Ti",    "sm_120",  70,  48,    896e3, 2452, "RTX Blackwell whitepaper"},
    {"RTX 5080",       "sm_120",  84,  64,    960e3, 2617, "RTX Blackwell whitepaper"},
    {"RTX 5090",       "sm_120", 170,  96,   1792e3, 2407, "RTX Blackwell whitepaper"},
    {"RTX PRO 6000",   "sm_120", 188, 128,   1792e3, 2617, "RTX PRO 6000 datasheet", "L2, clock"},
    {"GB10",           "sm_120",  48,  24,    273e3, 2418, "DGX Spark user guide", "SMs, L2, clock", 121},
};
// clang-format on

/// `a` with the figures of a GPU. The share of the peak bandwidth that reads reach is the one that
/// is assumed of the GPU whose rates `a` has: that of an H100 SXM is 3000 of 3350 GB/s.
constexpr arch with_figures(arch a, const gpu_figures& of) {
    a = with_limits(a, of.compute_capability);
    if (of.peak_bytes_per_us > 0) {
        double share = 1;
        for (const gpu_figures& known : gpu_registry)
            if (same_text(known.name, a.gpu)) share = a.bytes_per_us / known.peak_bytes_per_us;
        a.bytes_per_us = of.peak_bytes_per_us * share;
    }
    if (of.sms > 0) a.sms = of.sms;
    if (of.cycles_per_us > 0) a.cycles_per_us = of.cycles_per_us;
    std::size_t i = 0;
    for (; of.name[i] != '\0' && i + 1 < sizeof(a.gpu); ++i) a.gpu[i] = of.name[i];
    while (i < sizeof(a.gpu)) a.gpu[i++] = '\0';
    return a;
}

}  // namespace CATENA_NAMESPACE
