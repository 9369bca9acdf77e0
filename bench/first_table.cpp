// The first table: every row of the sm_90 set on the shapes of decode steps, beside the empty graph
// node, the read and the copy bandwidth of the same run.
#include "cases.hpp"
#include "yardsticks.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena/pick/name.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <ctime>
#include <fstream>

namespace {

using namespace catena;
using namespace catena::bench;

constexpr std::size_t arena_bytes = std::size_t{2} << 30;

/// 13000 -> "13.0"
std::string version(cudaError_t (*ask)(int*)) {
    int number = 0;
    check(ask(&number), "version");
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    char text[11] = {};
    std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
    return text;
}

nlohmann::json as_json(const timing& t) {
    return {{"median_us", t.median_us}, {"spread", t.spread}};
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Times every row of the sm_90 set against what the machine can do at all.");
    std::string json_path;
    int rounds = 21;
    app.add_option("--json", json_path, "write the table here");
    app.add_option("--rounds", rounds, "times that every case is measured")
        ->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);

    cudaDeviceProp gpu{};
    if (cudaGetDeviceProperties(&gpu, 0) != cudaSuccess || gpu.major != 9) {
        std::fprintf(stderr, "first_table needs a GPU of compute capability 9.0 as device 0\n");
        return 1;
    }
    const table rows = instances::sm_90();
    const buffer arena(arena_bytes);
    fill(arena, 1);

    std::vector<timed> timed_cases = yardsticks(arena, gpu.multiProcessorCount);
    const std::size_t first_row = timed_cases.size();
    const std::vector<row_case> cases = row_cases(rows, arena, gpu.l2CacheSize);
    for (const row_case& c : cases) timed_cases.push_back(c.what);
    const std::vector<timing> timings = measure(timed_cases, rounds);

    const double empty_us = timings[0].median_us;
    const double read = timed_cases[1].bytes / timings[1].median_us;
    const double copy = timed_cases[2].bytes / timings[2].median_us;
    nlohmann::json out;
    out["provenance"] = {{"gpu", gpu.name},
                         {"driver_cuda", version(cudaDriverGetVersion)},
                         {"cuda", version(cudaRuntimeGetVersion)},
                         {"date", today()},
                         {"rounds", rounds}};
    out["empty_node"] = as_json(timings[0]);
    out["read_bytes_per_us"] = read;
    out["copy_bytes_per_us"] = copy;
    std::printf("%s: empty node %.2f us, read %.0f GB/s, copy %.0f GB/s\n", gpu.name, empty_us,
                read / 1e3, copy / 1e3);
    std::printf("%9s %7s %10s %6s  %s\n", "median us", "spread", "attainable", "share", "case");
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const timing& t = timings[first_row + i];
        const double attainable_us = empty_us + cases[i].what.bytes / read;
        std::printf("%9.2f %6.1f%% %10.2f %5.0f%%  %s\n", t.median_us, 100 * t.spread,
                    attainable_us, 100 * attainable_us / t.median_us, cases[i].what.name.c_str());
        nlohmann::json entry = as_json(t);
        entry["instance"] = row_name(rows, cases[i].row);
        entry["case"] = cases[i].what.name;
        entry["bytes"] = cases[i].what.bytes;
        entry["attainable_us"] = attainable_us;
        entry["predicted_us"] = cases[i].predicted_us;
        out["rows"].push_back(std::move(entry));
    }
    if (json_path.empty()) return 0;
    std::ofstream file(json_path);
    file << out.dump(1) << '\n';
    if (file.flush()) return 0;
    std::fprintf(stderr, "cannot write %s\n", json_path.c_str());
    return 1;
}
