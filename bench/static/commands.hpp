// The commands of bench_static, and the options that they share.
#pragma once

#include "catena/arch/arch.hpp"

#include <CLI/CLI.hpp>

#include <set>
#include <string>

namespace catena::bench {

/// Each adds its command to the app. When it was asked for, its exit code ends up in `code`: 0, or
/// 1 if it found a fault.
void add_build(CLI::App& app, int& code);
void add_instances(CLI::App& app, int& code);
void add_predicted(CLI::App& app, int& code);
void add_registers(CLI::App& app, int& code);

/// Families of an arch's set, and how they are compiled.
struct family_options {
    std::string arch_name = "sm_90", nvcc = CATENA_NVCC;
    int jobs = 2;
    std::set<std::string> only;  ///< none: all of the set

    /// Throws if the set has no CUDA kernels.
    const arch& target() const;
};

/// --arch, --nvcc, --jobs and FAMILY.
void add_family_options(CLI::App& command, family_options& to);

}  // namespace catena::bench
