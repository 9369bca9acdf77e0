// GPUs by name: what one of them has in place of what its arch's representative has. Bandwidth is
// the peak of the memory, and clocks are boost clocks, as CUDA reports them. `source` names the
// document of NVIDIA's to check a figure with, and `assumed` what that does not state. An H100 SXM
// reported the SMs and the clock that stand here; no other figure was read from a GPU. for_device
// (instances/for_device.hpp) reads those of the GPU at hand.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/arch/served.hpp"

#include <type_traits>

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

/// What stands in an entry of the registry, each figure with its name.
namespace detail::figure {

template <auto Field>
struct named {
    std::remove_reference_t<decltype(gpu_figures{}.*Field)> is;
};
using sms = named<&gpu_figures::sms>;
using l2_mib = named<&gpu_figures::l2_mib>;
using peak_bytes_per_us = named<&gpu_figures::peak_bytes_per_us>;
using cycles_per_us = named<&gpu_figures::cycles_per_us>;
using source = named<&gpu_figures::source>;
using assumed = named<&gpu_figures::assumed>;
using compute_capability = named<&gpu_figures::compute_capability>;

template <auto... Fields>
constexpr gpu_figures gpu(const char* name, const char* arch, named<Fields>... figures) {
    gpu_figures g{};
    g.name = name;
    g.arch = arch;
    ((g.*Fields = figures.is), ...);
    return g;
}

inline constexpr gpu_figures registry[] = {
    gpu("RTX 2080 Ti", "sm_75", sms{68}, l2_mib{5.5}, peak_bytes_per_us{616e3}, cycles_per_us{1545},
        source{"Turing whitepaper"}),
    gpu("T4", "sm_75", sms{40}, l2_mib{4}, peak_bytes_per_us{320e3}, cycles_per_us{1590},
        source{"Turing whitepaper"}),
    gpu("A100 SXM", "sm_80", sms{108}, l2_mib{40}, peak_bytes_per_us{2039e3}, cycles_per_us{1410},
        source{"A100 datasheet (80 GB), Ampere whitepaper"}),
    gpu("A100 SXM 40GB", "sm_80", sms{108}, l2_mib{40}, peak_bytes_per_us{1555e3},
        cycles_per_us{1410}, source{"Ampere whitepaper"}),
    gpu("A100 PCIe", "sm_80", sms{108}, l2_mib{40}, peak_bytes_per_us{1935e3}, cycles_per_us{1410},
        source{"A100 datasheet (80 GB), Ampere whitepaper"}),
    gpu("A30", "sm_80", sms{56}, l2_mib{24}, peak_bytes_per_us{933e3}, cycles_per_us{1440},
        source{"A30 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("RTX 3060", "sm_86", sms{28}, l2_mib{3}, peak_bytes_per_us{360e3}, cycles_per_us{1777},
        source{"RTX 3060 specifications"}, assumed{"SMs, L2, bandwidth"}),
    gpu("RTX 3080", "sm_86", sms{68}, l2_mib{5}, peak_bytes_per_us{760e3}, cycles_per_us{1710},
        source{"GA102 whitepaper"}),
    gpu("RTX 3090", "sm_86", sms{82}, l2_mib{6}, peak_bytes_per_us{936e3}, cycles_per_us{1695},
        source{"GA102 whitepaper"}),
    gpu("A10", "sm_86", sms{72}, l2_mib{6}, peak_bytes_per_us{600e3}, cycles_per_us{1695},
        source{"A10 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("A40", "sm_86", sms{84}, l2_mib{6}, peak_bytes_per_us{696e3}, cycles_per_us{1740},
        source{"GA102 whitepaper"}),
    gpu("RTX A6000", "sm_86", sms{84}, l2_mib{6}, peak_bytes_per_us{768e3}, cycles_per_us{1800},
        source{"GA102 whitepaper"}),
    gpu("Orin", "sm_86", sms{16}, l2_mib{4}, peak_bytes_per_us{204.8e3}, cycles_per_us{1300},
        source{"Jetson AGX Orin technical brief (64 GB)"}, compute_capability{87}),
    gpu("RTX 4060", "sm_89", sms{24}, l2_mib{24}, peak_bytes_per_us{272e3}, cycles_per_us{2460},
        source{"RTX 4060 specifications"}, assumed{"SMs"}),
    gpu("RTX 4070", "sm_89", sms{46}, l2_mib{36}, peak_bytes_per_us{504e3}, cycles_per_us{2475},
        source{"Ada whitepaper"}),
    gpu("RTX 4080", "sm_89", sms{76}, l2_mib{64}, peak_bytes_per_us{717e3}, cycles_per_us{2505},
        source{"Ada whitepaper"}),
    gpu("RTX 4090", "sm_89", sms{128}, l2_mib{72}, peak_bytes_per_us{1008e3}, cycles_per_us{2520},
        source{"Ada whitepaper"}),
    gpu("L4", "sm_89", sms{58}, l2_mib{48}, peak_bytes_per_us{300e3}, cycles_per_us{2040},
        source{"L4 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("L20", "sm_89", sms{92}, l2_mib{96}, peak_bytes_per_us{864e3}, cycles_per_us{2520},
        source{"L20 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("L40", "sm_89", sms{142}, l2_mib{96}, peak_bytes_per_us{864e3}, cycles_per_us{2490},
        source{"L40 datasheet, Ada whitepaper"}),
    gpu("L40S", "sm_89", sms{142}, l2_mib{96}, peak_bytes_per_us{864e3}, cycles_per_us{2520},
        source{"L40S datasheet"}, assumed{"L2, clock"}),
    gpu("RTX 6000 Ada", "sm_89", sms{142}, l2_mib{96}, peak_bytes_per_us{960e3},
        cycles_per_us{2505}, source{"Ada whitepaper"}),
    gpu("H100 SXM", "sm_90", sms{132}, l2_mib{50}, peak_bytes_per_us{3350e3}, cycles_per_us{1980},
        source{"H100 datasheet, Hopper whitepaper"}, assumed{"clock"}),
    gpu("H100 PCIe", "sm_90", sms{114}, l2_mib{50}, peak_bytes_per_us{2000e3}, cycles_per_us{1755},
        source{"H100 datasheet, Hopper whitepaper"}),
    gpu("H100 NVL", "sm_90", sms{132}, l2_mib{50}, peak_bytes_per_us{3900e3}, cycles_per_us{1785},
        source{"H100 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("H200 SXM", "sm_90", sms{132}, l2_mib{50}, peak_bytes_per_us{4800e3}, cycles_per_us{1980},
        source{"H200 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("H200 NVL", "sm_90", sms{132}, l2_mib{50}, peak_bytes_per_us{4800e3}, cycles_per_us{1785},
        source{"H200 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("H20", "sm_90", sms{78}, l2_mib{60}, peak_bytes_per_us{4000e3}, cycles_per_us{1980},
        source{"H20 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("GH200 96GB", "sm_90", sms{132}, l2_mib{50}, peak_bytes_per_us{4000e3}, cycles_per_us{1980},
        source{"GH200 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("GH200 144GB", "sm_90", sms{132}, l2_mib{50}, peak_bytes_per_us{4900e3},
        cycles_per_us{1980}, source{"GH200 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("B200", "sm_100", sms{148}, l2_mib{126}, peak_bytes_per_us{7700e3}, cycles_per_us{1965},
        source{"HGX B200 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("GB200", "sm_100", sms{152}, l2_mib{126}, peak_bytes_per_us{8000e3}, cycles_per_us{2062},
        source{"GB200 NVL72 datasheet"}, assumed{"SMs, L2, clock"}),
    gpu("B300", "sm_100", sms{148}, l2_mib{126}, peak_bytes_per_us{8000e3}, cycles_per_us{2032},
        source{"HGX B300 datasheet"}, assumed{"SMs, L2, clock"}, compute_capability{103}),
    gpu("Thor", "sm_100", sms{20}, l2_mib{32}, peak_bytes_per_us{273e3}, cycles_per_us{1575},
        source{"Jetson T5000 datasheet"}, assumed{"SMs, L2"}, compute_capability{110}),
    gpu("RTX 5060", "sm_120", sms{30}, l2_mib{32}, peak_bytes_per_us{448e3}, cycles_per_us{2497},
        source{"RTX 5060 specifications"}, assumed{"SMs, L2"}),
    gpu("RTX 5070", "sm_120", sms{48}, l2_mib{48}, peak_bytes_per_us{672e3}, cycles_per_us{2512},
        source{"RTX Blackwell whitepaper"}),
    gpu("RTX 5070 Ti", "sm_120", sms{70}, l2_mib{48}, peak_bytes_per_us{896e3}, cycles_per_us{2452},
        source{"RTX Blackwell whitepaper"}),
    gpu("RTX 5080", "sm_120", sms{84}, l2_mib{64}, peak_bytes_per_us{960e3}, cycles_per_us{2617},
        source{"RTX Blackwell whitepaper"}),
    gpu("RTX 5090", "sm_120", sms{170}, l2_mib{96}, peak_bytes_per_us{1792e3}, cycles_per_us{2407},
        source{"RTX Blackwell whitepaper"}),
    gpu("RTX PRO 6000", "sm_120", sms{188}, l2_mib{128}, peak_bytes_per_us{1792e3},
        cycles_per_us{2617}, source{"RTX PRO 6000 datasheet"}, assumed{"L2, clock"}),
    gpu("GB10", "sm_120", sms{48}, l2_mib{24}, peak_bytes_per_us{273e3}, cycles_per_us{2418},
        source{"DGX Spark user guide"}, assumed{"SMs, L2, clock"}, compute_capability{121}),
};

}  // namespace detail::figure

inline constexpr const auto& gpu_registry = detail::figure::registry;

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
    detail::set_text(a.gpu, of.name);
    return a;
}

}  // namespace CATENA_NAMESPACE
