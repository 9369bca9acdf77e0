// catena bench: verifies one shape with every instance that can serve it, and times it.
#include "bench/report.hpp"
#include "command.hpp"
#include "output.hpp"
#include "tables.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace catena::tool {
namespace {

struct bench_options {
    std::string matmul, epilogue, kernels;
    target_options target;
    bool host = false, csv = false, markdown = false;
    check_options check;
    output_options output;
};

/// The host executor begins nothing that is longer.
constexpr double longest_s = 300;

int bench(const bench_options& o) {
    refuse_unwritable(o.output.file);
    std::unique_ptr<machine> on = o.host ? nullptr : cuda_machine();
    const bool has_gpu = on != nullptr;
    const auto make = [has_gpu, &o] {
        return has_gpu ? cuda_machine() : host_machine(o.check.seed);
    };
    if (!has_gpu) on = make();
    const matmul_shape shape = parse_shape(o.matmul, o.epilogue);
    const table t = on->equip(o.target.named() ? table_for(o.target) : on->preferred());
    const bench_request asked{shape, t, o.kernels, o.check, make};
    if (const double s = has_gpu ? 0 : host_seconds(asked); s > longest_s)
        throw failure(fmt::format(
            "the host executor would take about {:.0f} minutes for {}: name instances with "
            "--kernels, take a smaller batch, sample less with --rows 0, or ask where there is a "
            "GPU",
            s / 60, text(shape)));
    const bench_report report{asked, on->name(), candidates_of(asked)};
    output_options to = o.output;
    to.json = o.output.json || o.csv || o.markdown;  // for programs: no line is broken
    write_result(to, o.csv        ? as_csv(report)
                     : o.markdown ? as_markdown(report)
                     : to.json    ? as_json(report)
                                  : as_text(report));
    return report.exit_code();
}

}  // namespace

void add_bench(CLI::App& app, int& code) {
    auto o = std::make_shared<bench_options>();
    CLI::App* command = app.add_subcommand(
        "bench",
        "Verify one matmul with every instance that can serve it, against the reference in double, "
        "and time it. Without a GPU the host executor verifies a sample of the results, and the "
        "times are those that the cost model predicts.");
    command->footer(exit_code_help);
    command
        ->add_option("--matmul", o->matmul,
                     "The weight's format, rows and columns, and the batch: FORMAT,ROWS,COLUMNS,"
                     "BATCH. q4_K,4096,14336,8 multiplies a weight of 4096 rows and 14336 columns "
                     "(the values of a row, K) with 8 columns of an activation")
        ->required()
        ->type_name("SHAPE");
    command
        ->add_option("--epilogue", o->epilogue,
                     "What follows in the same launch: some of residual,bias,glu")
        ->type_name("PARTS");
    command
        ->add_option("--kernels", o->kernels,
                     "Only instances with PATTERN in their name; * and ? stand for other letters")
        ->type_name("PATTERN");
    add_target(*command, o->target,
               "The instance set, or native: that of the GPU (default: the GPU's, or sm_90)");
    add_check_options(*command, o->check);
    command->add_flag("--host", o->host, host_help);
    add_output_options(*command, o->output);
    CLI::Option* const json = command->get_option("--json");
    CLI::Option* const csv = command->add_flag("--csv", o->csv, "Print CSV instead of text");
    csv->excludes(json);
    command->add_flag("--markdown", o->markdown, "Print a table in Markdown instead of text")
        ->excludes(json)
        ->excludes(csv);
    command->callback([o, &code] { code = bench(*o); });
}

}  // namespace catena::tool
