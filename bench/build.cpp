// bench_build: what compiling an arch's instances costs: seconds of one core and bytes of machine code,
// file by file. The budgets are in docs/performance.md.
#include "expand.hpp"
#include "nvcc.hpp"
#include "tuning.hpp"

#include "catena/pick/name.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace catena;
using namespace catena::generator;

struct file_cost {
    std::string family;
    skeleton kind;
    int kernels = 0;
    compiled_file result;
};

/// The files of an arch's set, in the order of its rows.
std::vector<file_cost> files_of(const arch& target) {
    std::vector<file_cost> files;
    const tunings measured = read_tunings(CATENA_SOURCE_DIR);
    for (const instance_set& set : expand(computations_of(catalogue_chains()), {}, measured)) {
        if (set.target != &target) continue;
        for (const row& r : set.rows) {
            const std::string f = family(r.computes);
            if (files.empty() || files.back().family != f)
                files.push_back({f, r.computes.kind, 0, {}});
            ++files.back().kernels;
        }
    }
    return files;
}

/// Compiles all files, `jobs` at a time, with a line of progress for each.
void compile_all(std::vector<file_cost>& files, const arch& target, const std::string& nvcc, int jobs) {
    std::atomic<std::size_t> next{0};
    std::size_t done = 0;
    std::exception_ptr failed;
    std::mutex guard;
    const auto work = [&](int worker) {
        const std::string scratch = (std::filesystem::temp_directory_path() /
                                     ("catena_build_" + std::to_string(worker))).string();
        for (std::size_t i = next++; i < files.size(); i = next++) {
            const std::string source =
                std::string("instances/") + target.name + "/" + files[i].family + ".cu";
            try {
                files[i].result = compile(nvcc, target, CATENA_SOURCE_DIR, source, scratch);
            } catch (...) {
                const std::lock_guard<std::mutex> lock(guard);
                if (!failed) failed = std::current_exception();
                next = files.size();
                return;
            }
            const std::lock_guard<std::mutex> lock(guard);
            std::fprintf(stderr, "[%zu/%zu] %s\n", ++done, files.size(), source.c_str());
        }
    };
    std::vector<std::thread> workers;
    for (int w = 0; w < jobs; ++w) workers.emplace_back(work, w);
    for (std::thread& t : workers) t.join();
    if (failed) std::rethrow_exception(failed);
}

struct total {
    int kernels = 0;
    double seconds = 0, longest = 0;
    std::int64_t sass = 0;
    void add(const file_cost& f) {
        kernels += f.kernels;
        seconds += f.result.seconds;
        longest = f.result.seconds > longest ? f.result.seconds : longest;
        sass += f.result.sass_bytes;
    }
};

void print_line(const char* what, int kernels, double seconds, std::int64_t sass) {
    std::printf("| %-24s | %7d | %7.1f | %7.0f | %6.1f |\n", what, kernels, seconds, static_cast<double>(sass) / 1e3,
                kernels == 0 ? 0 : static_cast<double>(sass) / 1e3 / kernels);
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app{"Seconds and bytes of machine code of an arch's instances, file by file."};
    std::string arch_name = "sm_90", nvcc = CATENA_NVCC, json_file, log_file;
    int jobs = 2;
    app.add_option("--arch", arch_name, "The instance set")->capture_default_str();
    app.add_option("--nvcc", nvcc, "The compiler")->capture_default_str();
    app.add_option("--jobs", jobs, "Compilations at a time")->capture_default_str();
    app.add_option("--json", json_file, "Also write the figures here");
    app.add_option("--log", log_file, "Also write what ptxas said here, for generate --registers");
    CLI11_PARSE(app, argc, argv);
    const arch* target = arch_named(arch_name.c_str());
    if (target == nullptr || target->compute_capability == 0)
        throw std::runtime_error(arch_name + " has no CUDA kernels: name a set such as sm_90");

    std::vector<file_cost> files = files_of(*target);
    compile_all(files, *target, nvcc, jobs);

    if (!log_file.empty()) {
        std::ofstream log(log_file);
        for (const file_cost& f : files) log << f.result.said;
    }
    total decode, all;
    std::printf("| file of %-16s | kernels | seconds | kB SASS | each   |\n|---|---|---|---|---|\n", target->name);
    for (const file_cost& f : files) {
        print_line(f.family.c_str(), f.kernels, f.result.seconds, f.result.sass_bytes);
        all.add(f);
        if (f.kind != skeleton::matmul) decode.add(f);
    }
    print_line("decode (row, matvec)", decode.kernels, decode.seconds, decode.sass);
    print_line("all", all.kernels, all.seconds, all.sass);
    std::printf("longest file: %.1f s\n", all.longest);
    if (json_file.empty()) return 0;
    nlohmann::ordered_json root{{"arch", target->name}, {"jobs", jobs}};
    for (const file_cost& f : files)
        root["files"].push_back({{"file", f.family},
                                 {"kernels", f.kernels},
                                 {"seconds", f.result.seconds},
                                 {"sass_bytes", f.result.sass_bytes}});
    std::ofstream(json_file) << root.dump(1) << "\n";
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bench_build: %s\n", error.what());
    return 2;
}
