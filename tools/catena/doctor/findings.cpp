#include "findings.hpp"

#include "../tables.hpp"

#include "catena/arch/arch.hpp"
#include "catena/instances/all.hpp"
#include "catena/runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>  // environ

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

namespace catena::tool {
namespace {

built_set built(const std::string& of, const table& t) {
    built_set set{of, t.target->name, t.row_count, 0};
    for (int i = 0; i < t.row_count; ++i)
        set.kernels += t.kernels != nullptr && t.kernels[i] != nullptr ? 1 : 0;
    return set;
}

std::vector<built_set> sets_of_this_build() {
    std::vector<built_set> out;
    for (const table& t : joined_sets().tables) out.push_back(built(joined_sets().name, t));
    for (const arch& a : arch_registry) {
        if (a.compute_capability == 0) continue;
        const table t = instances::table_named(a.name);
        if (t.state.ok()) out.push_back(built("", t));
    }
    return out;
}

/// A program by its path, or by its name in PATH; empty: it is nowhere.
std::string program(const std::string& name) {
    std::error_code ignored;
    if (name.find('/') != std::string::npos)
        return std::filesystem::is_regular_file(name, ignored) ? name : "";
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');)
        if (std::filesystem::is_regular_file(folder + "/" + name, ignored))
            return folder + "/" + name;
    return "";
}

std::vector<std::string> catena_variables() {
    std::vector<std::string> out;
    for (char** at = environ; *at != nullptr; ++at)
        if (const std::string_view set = *at; set.starts_with("CATENA_")) out.emplace_back(set);
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

std::string name_of(const built_set& s) { return s.of.empty() ? s.arch : s.of + "::" + s.arch; }

std::vector<std::string> diagnosis::findings() const {
    std::vector<std::string> out;
    if (!cuda.problem.empty()) out.push_back(cuda.problem);
    if (cuda.built_in && cuda.problem.empty() && cuda.gpus.empty())
        out.push_back("the driver reports no GPU: plans run on the host executor alone");
    for (std::size_t i = 0; i < cuda.gpus.size(); ++i) {
        const seen_gpu& g = cuda.gpus[i];
        if (g.set.empty() || !g.why.empty()) out.push_back(fmt::format("GPU {}: {}", i, g.why));
        for (const built_set& s : sets)
            if (s.arch == g.set && s.kernels < s.rows)
                out.push_back(fmt::format(
                    "GPU {}: {} has kernels for {} of {} rows: {}", i, name_of(s), s.kernels,
                    s.rows,
                    s.of.empty() ? "build with CATENA_WEIGHTS=all" : "enable the language CUDA"));
        const bool own_serves = std::any_of(sets.begin(), sets.end(), [&g](const built_set& s) {
            return !s.of.empty() && s.arch == g.set;
        });
        if (!sets.empty() && !sets[0].of.empty() && !g.set.empty() && !own_serves)
            out.push_back(
                fmt::format("GPU {}: {} has no set of {}: name it in ARCHS", i, sets[0].of, g.set));
    }
    if (!environment.empty()) out.push_back(environment);
    return out;
}

diagnosis diagnose() {
    const options asked = options::from_environment();
    return {look_for_gpus(), sets_of_this_build(), asked.state.ok() ? "" : asked.state.message,
            catena_variables(), program(CATENA_NVCC)};
}

}  // namespace catena::tool
