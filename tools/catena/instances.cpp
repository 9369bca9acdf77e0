// catena instances: the rows of an arch's table.
#include "command.hpp"
#include "json_text.hpp"
#include "legend.hpp"
#include "output.hpp"
#include "tables.hpp"

#include "catena/kernel/layout.hpp"
#include "catena/pick/name.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

namespace catena::tool {
namespace {

struct instances_options {
    target_options target;
    bool legend = false, gpus = false;
    output_options output;
};

/// Shared memory grows with the problem: for rows of 4096 elements and every column that the row
/// serves.
std::int64_t shared_at_4096(const row& r) {
    return shared_bytes(r.computes, r.policy, 4096, r.policy.columns);
}

std::string evidence_text(const provenance& p) {
    switch (p.kind) {
        case provenance_kind::predicted:
            return "predicted";
        case provenance_kind::inherited:
            return fmt::format("inherited from {}", p.arch);
        case provenance_kind::measured:
            return fmt::format("measured on {}, CUDA {}, {}: {:.2f} us +- {:.0f} %", p.gpu, p.cuda,
                               p.date, p.median_us, 100 * p.spread);
    }
    return "";
}

int rows_on_record(const table& t) {
    return static_cast<int>(
        std::count_if(t.rows, t.rows + t.row_count, [](const row& r) { return r.registers > 0; }));
}

std::string as_text(const table& t) {
    fmt::memory_buffer out;
    const auto put = [&](const auto& name, const auto& registers, const auto& shared,
                         const auto& order, const auto& evidence) {
        fmt::format_to(std::back_inserter(out), "{:<62} {:>9} {:>12} {:>6}  {}\n", name, registers,
                       shared, order, evidence);
    };
    put("instance", "registers", "shared@4096", "order", "provenance");
    for (int i = 0; i < t.row_count; ++i) {
        const row& r = t.rows[i];
        put(row_name(t, i), r.registers == 0 ? "?" : std::to_string(r.registers), shared_at_4096(r),
            r.order, evidence_text(r.evidence));
    }
    fmt::format_to(std::back_inserter(out),
                   "registers on record: of {} of {} rows; usual numbers are assumed of the rest\n",
                   rows_on_record(t), t.row_count);
    return fmt::to_string(out);
}

std::string as_json(const table& t) {
    nlohmann::ordered_json root{{"arch", t.target->name},
                                {"rows_on_record", rows_on_record(t)},
                                {"rows", nlohmann::ordered_json::array()}};
    for (int i = 0; i < t.row_count; ++i) {
        const row& r = t.rows[i];
        root["rows"].push_back({{"name", row_name(t, i)},
                                {"skeleton", name(r.computes.kind)},
                                {"computes", chain_part(r.computes)},
                                {"registers", r.registers},
                                {"stage_instructions", r.code.of[0].stage_instructions},
                                {"stage_cycles", r.code.of[0].stage_cycles},
                                {"shared_bytes_at_4096", shared_at_4096(r)},
                                {"order", r.order},
                                {"provenance", evidence_text(r.evidence)}});
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
    write_result(o.output, o.output.json ? as_json(t) : as_text(t));
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
    add_output_options(*command, o->output);
    command->callback([o, &code] { code = list_instances(*o); });
}

}  // namespace catena::tool
