// GPUs by compute capability: the instance set that serves one, and the code that the set is
// compiled to for it. The build reads this list, too (cmake/catena_archs.cmake).
//
// A GPU loads machine code of its major number and of no newer minor one (NVIDIA's Blackwell
// Compatibility Guide, 1.2), so most take the code of their set. Between Tegra's GPUs and others,
// and between two of Tegra's, that does not hold (CUDA C++ Programming Guide, Binary
// Compatibility): such a GPU needs code of its own. 8.8 is in no list of NVIDIA's GPUs, so it has
// that as well. Code of a family (100f, 120f) would serve no other GPU: those of the family of 10.0
// are 10.0 and 10.3, of 12.0 12.0 and 12.1, and 11.0 has one of its own. No kernel needs it.
#pragma once

#include "catena/arch/arch.hpp"

namespace CATENA_NAMESPACE {

/// How GPUs of one compute capability are served.
struct served_gpu {
    int compute_capability;  ///< 87 for 8.7
    const char* set;         ///< "sm_86"
    const char* code;        ///< code for this GPU, as CMake spells it in CUDA_ARCHITECTURES
    const char* gpus;        ///< examples of such GPUs
};

// clang-format off
inline constexpr served_gpu served_registry[] = {
    { 75, "sm_75",  "75-real;75-virtual", "RTX 20, T4"},  // every GPU runs its PTX
    { 80, "sm_80",  "80-real",  "A100, A30"},
    { 86, "sm_86",  "86-real",  "RTX 30, A10"},
    { 87, "sm_86",  "87-real",  "Jetson Orin"},           // Tegra
    { 88, "sm_86",  "88-real",  ""},
    { 89, "sm_89",  "89-real",  "RTX 40, L40"},
    { 90, "sm_90",  "90a-real", "H100, H200, GH200"},     // has wgmma
    {100, "sm_100", "100-real", "B200, GB200"},
    {103, "sm_100", "100-real", "B300, GB300"},
    {110, "sm_100", "110-real", "Jetson Thor"},           // Tegra
    {120, "sm_120", "120-real", "RTX 50"},
    {121, "sm_120", "120-real", "GB10"},
};
// clang-format on

/// How GPUs of a compute capability are served; null: by no set.
constexpr const served_gpu* served(int compute_capability) {
    for (const served_gpu& g : served_registry)
        if (g.compute_capability == compute_capability) return &g;
    return nullptr;
}

/// `a`, the arch of a set, with the limits of a GPU that it serves (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability"), where they are others.
constexpr arch with_limits(arch a, int compute_capability) {
    if (compute_capability == 87) a.shared_per_sm = 167936, a.shared_per_block = 166912;
    if (compute_capability == 110) a.max_threads_per_sm = 1536, a.max_blocks_per_sm = 24;
    return a;
}

/// The compute capability that `text` names, as sm_90a, sm_90 or 90 do; 0: none.
constexpr int capability_named(const char* text) {
    if (text[0] == 's' && text[1] == 'm' && text[2] == '_') text += 3;
    int number = 0, digits = 0;
    for (; *text >= '0' && *text <= '9' && digits < 4; ++text, ++digits)
        number = number * 10 + (*text - '0');
    if (*text == 'a' || *text == 'f') ++text;
    return *text == '\0' && digits >= 2 ? number : 0;
}

/// The one that is served and has the nearest number.
constexpr const served_gpu& nearest_served(int compute_capability) {
    const served_gpu* nearest = served_registry;
    for (const served_gpu& g : served_registry) {
        const int away = g.compute_capability - compute_capability;
        const int best = nearest->compute_capability - compute_capability;
        if ((away < 0 ? -away : away) < (best < 0 ? -best : best)) nearest = &g;
    }
    return *nearest;
}

}  // namespace CATENA_NAMESPACE
