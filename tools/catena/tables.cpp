#include "tables.hpp"

#include "cuda.hpp"
#include "failure.hpp"
#include "json_text.hpp"
#include "nearest.hpp"

#include "catena/arch/gpu.hpp"
#include "catena/instances/all.hpp"
#include "catena/pick/join.hpp"
#include "catena/pick/measured_on.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catena::tool {

namespace {

own_sets own;

/// The table without its kernels.
table described(table t) {
    t.kernels = nullptr;
    t.launch = nullptr;
    t.prepare = nullptr;
    return t;
}

}  // namespace

void join_own(own_sets sets) { own = std::move(sets); }

const own_sets& joined_sets() { return own; }

const table* own_table(const arch& target) {
    const auto at = std::find_if(own.tables.begin(), own.tables.end(),
                                 [&](const table& t) { return t.target == &target; });
    return at == own.tables.end() ? nullptr : &*at;
}

std::string root_of_headers() { return own.root.empty() ? CATENA_SOURCE_DIR : own.root; }

generator::device_compiler compiler_of_rows(const std::string& nvcc, const std::string& root) {
    generator::device_compiler out{nvcc, {root + "/include"}};
    if (!own.ops.empty()) out.names = generator::naming_of(own.name, own.ops);
    return out;
}

table with_own(const table& t) {
    const table* const before = own_table(*t.target);
    if (before == nullptr) return t;
    static std::deque<joined> kept;  // as long as the plans
    if (before->launch == t.launch)
        kept.emplace_back(std::initializer_list<table>{*before, t});
    else  // kernels of one of the two alone are in this build
        kept.emplace_back(std::initializer_list<table>{described(*before), described(t)});
    return kept.back().rows();
}

table on_host(const table& t) {
    std::vector<const instances::host_family*> all = own.host_kernels;
    all.insert(all.end(), instances::host_families,
               instances::host_families + instances::host_family_count);
    return instances::on_host(t, all.data(), static_cast<int>(all.size()));
}

namespace {

/// The set that serves the GPU called `name`, as sm_121 or 121a; `name` if it is no GPU.
std::string serving(const std::string& name) {
    const int wanted = capability_named(name.c_str());
    if (wanted == 0) return name;
    const served_gpu* how = served(wanted);
    if (how == nullptr)
        throw failure(fmt::format(
            "no instance set serves sm_{}: the nearest that one serves is sm_{}; there are{}",
            wanted, nearest_served(wanted).compute_capability, instances::built_in));
    if (arch_named(how->set)->compute_capability != wanted)
        fmt::print(stderr, "catena: sm_{} is served by the set {}\n", wanted, how->set);
    return how->set;
}

}  // namespace

table table_for(const std::string& arch) {
    const std::string named = arch == "native" ? tune::native_arch() : serving(arch);
    if (named.empty())
        throw failure(
            std::string("there is no GPU whose instance set could be taken: name an --arch:") +
            instances::built_in);
    table t = instances::table_named(named.c_str());
    if (t.state.ok()) t = with_own(t);
    if (const int gpu = capability_named(arch.c_str());
        gpu != 0 && t.state.ok() && t.target->compute_capability != gpu)
        t.device = with_limits(*t.target, gpu);
    if (t.state.ok() && arch == "native") {
        t.device = tune::native_device(*t.target);
        keep_own_medians(t);
        if (*t.state.message != '\0') fmt::print(stderr, "catena: {}\n", t.state.message);
    }
    if (t.state.ok()) return t;
    std::istringstream names(instances::built_in);
    const std::vector<std::string> known{std::istream_iterator<std::string>(names), {}};
    throw failure(t.state.message + did_you_mean(named, known));
}

namespace {

/// A GPU's name in small letters and digits alone, without "NVIDIA GeForce".
std::string plain(std::string_view name) {
    std::string out;
    for (const char c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0)
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string_view before : {"nvidia", "geforce", "tesla"})
        if (out.starts_with(before)) out.erase(0, before.size());
    return out;
}

}  // namespace

table table_for(const target_options& to) {
    if (to.gpu.empty()) return table_for(to.arch);
    std::vector<std::string> known;
    for (const gpu_figures& g : gpu_registry) {
        known.emplace_back(g.name);
        if (plain(g.name) != plain(to.gpu)) continue;
        table t = table_for(g.arch);
        t.device = with_figures(*t.target, g);
        return t;
    }
    throw failure(fmt::format("no GPU is called '{}': take one of {}{}", to.gpu,
                              fmt::join(known, ", "), did_you_mean(to.gpu, known)));
}

namespace {

/// "sm_121" of a GB10, which the set sm_120 serves.
std::string own_arch(const gpu_figures& g) {
    return g.compute_capability == 0 ? g.arch : fmt::format("sm_{}", g.compute_capability);
}

}  // namespace

std::string gpus_text() {
    fmt::memory_buffer out;
    const auto put = [&](const auto&... field) {
        fmt::format_to(std::back_inserter(out), "{:<15}{:<8}{:>4}{:>8}{:>8}{:>7}  {}\n", field...);
    };
    put("GPU", "arch", "SMs", "L2 MiB", "GB/s", "MHz", "source; what is assumed");
    for (const gpu_figures& g : gpu_registry)
        put(g.name, own_arch(g), g.sms, g.l2_mib, g.peak_bytes_per_us / 1000, g.cycles_per_us,
            std::string(g.source) +
                (*g.assumed == '\0' ? "" : std::string("; assumed: ") + g.assumed));
    return fmt::to_string(out);
}

std::string gpus_json() {
    nlohmann::ordered_json root{{"gpus", nlohmann::ordered_json::array()}};
    for (const gpu_figures& g : gpu_registry)
        root["gpus"].push_back({{"name", g.name},
                                {"arch", own_arch(g)},
                                {"set", g.arch},
                                {"sms", g.sms},
                                {"l2_mib", g.l2_mib},
                                {"peak_bytes_per_us", g.peak_bytes_per_us},
                                {"cycles_per_us", g.cycles_per_us},
                                {"source", g.source},
                                {"assumed", g.assumed}});
    return json_text(root);
}

}  // namespace catena::tool
