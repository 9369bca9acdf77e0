// bench_build: what compiling an arch's instances costs: seconds of one core and bytes of machine
// code, file by file. The budgets are in docs/kernels/compiled.md.
#include "families.hpp"
#include "files.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace catena;
using catena::bench::compiled_family;

struct total {
    int kernels = 0;
    double seconds = 0, longest = 0;
    std::int64_t sass = 0;
    void add(const compiled_family& f) {
        kernels += static_cast<int>(f.family.rows.size());
        seconds += f.result.seconds;
        longest = f.result.seconds > longest ? f.result.seconds : longest;
        sass += f.result.sass_bytes;
    }
};

void print_line(const char* what, int kernels, double seconds, std::int64_t sass) {
    std::printf("| %-24s | %7d | %7.1f | %7.0f | %6.1f |\n", what, kernels, seconds,
                static_cast<double>(sass) / 1e3,
                kernels == 0 ? 0 : static_cast<double>(sass) / 1e3 / kernels);
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app{"Seconds and bytes of machine code of an arch's instances, file by file."};
    std::string arch_name = "sm_90", nvcc = CATENA_NVCC, json_file, log_file;
    int jobs = 2;
    app.add_option("--arch", arch_name, "The instance set")->capture_default_str();
    app.add_option("--nvcc", nvcc, "The compiler")->capture_default_str();
    app.add_option("--jobs", jobs, "Compilations at a time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--json", json_file, "Also write the figures here");
    app.add_option("--log", log_file, "Also write what ptxas said here, for generate --registers");
    CLI11_PARSE(app, argc, argv);
    const arch* target = arch_named(arch_name.c_str());
    if (target == nullptr || target->compute_capability == 0)
        throw std::runtime_error(arch_name + " has no CUDA kernels: name a set such as sm_90");

    const std::vector<compiled_family> files = bench::compile_families(*target, nvcc, jobs);
    if (!log_file.empty()) {
        std::string said;
        for (const compiled_family& f : files) said += f.result.said;
        generator::write_text(log_file, said);
    }
    total decode, all;
    std::printf("| file of %-16s | kernels | seconds | kB SASS | each   |\n|---|---|---|---|---|\n",
                target->name);
    for (const compiled_family& f : files) {
        print_line(f.family.name.c_str(), static_cast<int>(f.family.rows.size()), f.result.seconds,
                   f.result.sass_bytes);
        all.add(f);
        if (f.family.rows.front().computes.kind() != skeleton::matmul) decode.add(f);
    }
    print_line("decode (row, matvec)", decode.kernels, decode.seconds, decode.sass);
    print_line("all", all.kernels, all.seconds, all.sass);
    std::printf("longest file: %.1f s\n", all.longest);
    if (json_file.empty()) return 0;
    nlohmann::ordered_json root{{"arch", target->name}, {"jobs", jobs}};
    for (const compiled_family& f : files)
        root["files"].push_back({{"file", f.family.name},
                                 {"kernels", f.family.rows.size()},
                                 {"seconds", f.result.seconds},
                                 {"sass_bytes", f.result.sass_bytes}});
    generator::write_text(json_file, root.dump(1) + "\n");
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_build: %s\n", error.what());
    return 2;
}
