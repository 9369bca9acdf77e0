// bench_static build: what compiling an arch's instances costs: seconds of one core and bytes of
// machine code, file by file. It fails where what decode steps use takes more than its budget. All
// budgets are in docs/kernels/compiled.md.
#include "commands.hpp"
#include "families.hpp"
#include "text_file.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace catena::bench {

namespace {

constexpr std::int64_t decode_budget = 3'000'000;  ///< bytes of all row and matvec kernels

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

void write_json(const std::string& file, const char* arch, int jobs,
                const std::vector<compiled_family>& files) {
    nlohmann::ordered_json root{{"arch", arch}, {"jobs", jobs}};
    for (const compiled_family& f : files)
        root["files"].push_back({{"file", f.family.name},
                                 {"kernels", f.family.rows.size()},
                                 {"seconds", f.result.seconds},
                                 {"sass_bytes", f.result.sass_bytes}});
    tool::write_text(file, root.dump(1) + "\n");
}

struct build_request {
    family_options of;
    std::string json_file, log_file;
};

int run(const build_request& asked) {
    const arch& target = asked.of.target();
    const std::vector<compiled_family> files = make_families(compile_family, asked.of);
    if (!asked.log_file.empty()) {
        std::string said;
        for (const compiled_family& f : files) said += f.result.said;
        tool::write_text(asked.log_file, said);
    }
    total decode, all;
    std::printf("| file of %-16s | kernels | seconds | kB SASS | each   |\n|---|---|---|---|---|\n",
                target.name);
    for (const compiled_family& f : files) {
        print_line(f.family.name.c_str(), static_cast<int>(f.family.rows.size()), f.result.seconds,
                   f.result.sass_bytes);
        all.add(f);
        if (f.family.rows.front().computes.kind() != skeleton::matmul) decode.add(f);
    }
    print_line("decode (row, matvec)", decode.kernels, decode.seconds, decode.sass);
    print_line("all", all.kernels, all.seconds, all.sass);
    std::printf("longest file: %.1f s\n", all.longest);
    if (!asked.json_file.empty()) write_json(asked.json_file, target.name, asked.of.jobs, files);
    if (decode.sass <= decode_budget) return 0;
    std::printf(
        "The kernels that decode steps use take %.2f MB of machine code, and may take %.2f: "
        "make kernels smaller or fewer\n",
        static_cast<double>(decode.sass) / 1e6, static_cast<double>(decode_budget) / 1e6);
    return 1;
}

}  // namespace

void add_build(CLI::App& app, int& code) {
    const auto asked = std::make_shared<build_request>();
    CLI::App& command = *app.add_subcommand(
        "build",
        "Seconds and bytes of machine code of an arch's instances, file by file. Exit code 1: the "
        "kernels of decode steps exceed their budget.");
    add_family_options(command, asked->of);
    command.add_option("--json", asked->json_file, "Also write the figures here");
    command.add_option("--log", asked->log_file,
                       "Also write what ptxas said here, for generate --registers");
    command.callback([asked, &code] { code = run(*asked); });
}

}  // namespace catena::bench
