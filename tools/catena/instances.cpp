// catena instances: the rows of an arch's table.
#include "command.hpp"
#include "json_text.hpp"
#include "legend.hpp"
#include "output.hpp"
#include "run/progress.hpp"
#include "tables.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/pick/name.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

namespace catena::tool {
namespace {

struct instances_options {
    target_options target;
    bool legend = false, gpus = false, size = false;
    std::vector<std::string> rows;  ///< parts of names; empty: all
    std::string root = root_of_headers(), nvcc = CATENA_NVCC;
    output_options output;
};

/// Shared memory grows with the problem: for rows of 4096 elements and every column that the row
/// serves.
std::int64_t shared_at_4096(const row& r) {
    return shared_bytes(r.computes, r.policy, 4096, columns_of(r.policy));
}

std::string evidence_text(const provenance& p) {
    switch (p.kind) {
        case provenance_kind::predicted:
            return "predicted";
        case provenance_kind::inherited:
            return fmt::format("inherited from {}", p.arch);
        case provenance_kind::measured:
            return fmt::format("{} on {}, CUDA {}, {}: {:.2f} us +- {:.0f} %",
                               p.by_medians ? "found" : "measured", p.gpu, p.cuda, p.date,
                               p.median_us, 100 * p.spread);
    }
    return "";
}

/// The rows asked for.
std::vector<row> rows_asked(const table& t, const instances_options& o) {
    std::vector<row> out;
    for (int i = 0; i < t.row_count; ++i) {
        const std::string name = row_name(t, i);
        if (o.rows.empty() || std::any_of(o.rows.begin(), o.rows.end(), [&](const auto& part) {
                return name.find(part) != name.npos;
            }))
            out.push_back(t.rows[i]);
    }
    if (out.empty())
        throw failure(
            fmt::format("no instance of {} has '{}' in its name: `catena instances "
                        "--arch {}` lists all",
                        t.target->name, fmt::join(o.rows, "', '"), t.target->name));
    return out;
}

/// What the rows cost, as nvcc says; nothing: it was not asked.
using costs = std::optional<generator::code_costs>;

costs costs_of(const arch& target, const std::vector<row>& rows, const instances_options& o) {
    if (!o.size) return {};
    if (std::system(("'" + o.nvcc + "' --version >/dev/null 2>&1").c_str()) != 0)
        throw failure(o.nvcc + " cannot be run, and it says what rows cost: name it with --nvcc");
    const auto scratch =
        std::filesystem::temp_directory_path() / fmt::format("catena_instances_{}", getpid());
    progress_line line;
    return generator::code_costs_of(
        target, rows, compiler_of_rows(o.nvcc, o.root), scratch,
        [&line](int done, int all, const std::string& name) { line.show(done, all, name); });
}

std::ptrdiff_t rows_on_record(const std::vector<row>& rows) {
    return std::count_if(rows.begin(), rows.end(), [](const row& r) { return r.registers > 0; });
}

std::string as_text(const arch& target, const std::vector<row>& rows, const costs& by) {
    fmt::memory_buffer out;
    const auto put = [&](const auto& name, const auto& registers, const auto& shared,
                         const auto& order, const std::string& size, const auto& evidence) {
        fmt::format_to(std::back_inserter(out), "{:<62} {:>9} {:>12} {:>6}{}  {}\n", name,
                       registers, shared, order, size, evidence);
    };
    put("instance", "registers", "shared@4096", "order", by ? "    bytes  build s" : "",
        "provenance");
    std::int64_t bytes = 0;
    double seconds = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const row& r = rows[i];
        std::string size;
        if (by) {
            size = fmt::format(" {:>8} {:>8.2f}", by->rows[i].bytes, by->rows[i].seconds);
            bytes += by->rows[i].bytes;
            seconds += by->rows[i].seconds;
        }
        put(row_name(r, target.name), r.registers == 0 ? "?" : std::to_string(r.registers),
            shared_at_4096(r), r.order, size, evidence_text(r.evidence));
    }
    if (by)
        fmt::format_to(
            std::back_inserter(out),
            "\n{} rows: {} bytes of machine code, {:.2f} s of nvcc, and {:.2f} s for each "
            "file that they are compiled in\n",
            rows.size(), bytes, seconds, by->empty_file_seconds);
    fmt::format_to(std::back_inserter(out),
                   "registers on record: of {} of {} rows; usual numbers are assumed of the rest\n",
                   rows_on_record(rows), rows.size());
    return fmt::to_string(out);
}

std::string as_json(const arch& target, const std::vector<row>& rows, const costs& by) {
    nlohmann::ordered_json root{{"arch", target.name},
                                {"rows_on_record", rows_on_record(rows)},
                                {"rows", nlohmann::ordered_json::array()}};
    if (by) root["empty_file_seconds"] = by->empty_file_seconds;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const row& r = rows[i];
        root["rows"].push_back({{"name", row_name(r, target.name)},
                                {"skeleton", name(r.computes.kind())},
                                {"computes", chain_part(r.computes)},
                                {"registers", r.registers},
                                {"stage_issues", r.code.of[0].stage_issues},
                                {"stage_cycles", r.code.of[0].stage_cycles},
                                {"shared_bytes_at_4096", shared_at_4096(r)},
                                {"order", r.order},
                                {"provenance", evidence_text(r.evidence)}});
        if (!by) continue;
        root["rows"].back()["bytes"] = by->rows[i].bytes;
        root["rows"].back()["build_seconds"] = by->rows[i].seconds;
    }
    return json_text(root);
}

int list_instances(const instances_options& o) {
    if (o.legend) {
        write_result(o.output, o.output.json ? legend_json() : legend_text());
        return exit_ok;
    }
    if (o.gpus) {
        write_result(o.output, o.output.json ? gpus_json() : gpus_text());
        return exit_ok;
    }
    if (!o.target.named()) throw failure("--arch, --gpu, --gpus or --legend is required");
    const table t = table_for(o.target);
    const std::vector<row> rows = rows_asked(t, o);
    const costs by = costs_of(*t.target, rows, o);
    write_result(o.output,
                 o.output.json ? as_json(*t.target, rows, by) : as_text(*t.target, rows, by));
    return exit_ok;
}

}  // namespace

void add_instances(CLI::App& app, int& code) {
    auto o = std::make_shared<instances_options>();
    CLI::App* command = app.add_subcommand("instances", "List the kernels of an instance set");
    command->footer(exit_code_help);
    CLI::Option* const arch = add_target(*command, o->target);
    CLI::Option* const gpu = command->get_option("--gpu");
    CLI::Option* const legend =
        command->add_flag("--legend", o->legend, "Say what the parts of a name mean");
    command
        ->add_flag("--gpus", o->gpus,
                   "List the GPUs that --gpu knows, and where their figures are from")
        ->excludes(arch)
        ->excludes(gpu)
        ->excludes(legend);
    legend->excludes(arch)->excludes(gpu);
    command->add_option("--rows", o->rows, "Only instances with one of these in their names");
    command->add_flag("--size", o->size,
                      "Compile each instance alone, and say how many bytes of machine code it has "
                      "and how much processor time nvcc takes for it, above that for a file "
                      "without instances");
    command->add_option("--root", o->root, "Where include/ has Catena's headers, for --size")
        ->check(CLI::ExistingDirectory);
    command->add_option("--nvcc", o->nvcc, "The compiler that --size asks");
    add_output_options(*command, o->output);
    command->callback([o, &code] { code = list_instances(*o); });
}

}  // namespace catena::tool
