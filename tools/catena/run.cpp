// catena run: executes the planned steps of a graph on seeded data and compares each with the
// reference.
#include "command.hpp"
#include "optimized.hpp"
#include "output.hpp"
#include "run/check.hpp"
#include "run/progress.hpp"
#include "run/report.hpp"
#include "tables.hpp"
#include "written_out.hpp"

#include "catena/engine/json.hpp"
#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace catena::tool {
namespace {

struct run_options {
    std::string graph;
    target_options target;
    int layers = 0;
    bool host = false, optimized = false;
    check_options check;
    output_options output;
};

/// How many of the first steps make `layers` layers. A file does not say where its layers end, and
/// names are no guide, so they are counted: two norms that feed matmuls are a layer. In a graph
/// with fewer than three of them (some models normalize elsewhere) four quantized activations are.
int steps_of_layers(const plan& p, int layers) {
    const auto steps = p.steps();
    const int all = static_cast<int>(steps.size());
    if (layers == 0) return all;
    const auto begins = [&steps](const step& s, bool norms_only) {
        // Attention reads heads, and experts are picked by a routing.
        if (has_heads(stages_of(s.what)) || routes(stages_of(s.what))) return false;
        // A norm of two launches is that of its first reader.
        if (s.what.kind() != skeleton::row && s.what.product().ends_norm)
            return &s == &*std::find_if(steps.begin(), steps.end(),
                                        [&s](const step& o) { return o.chain == s.chain; });
        const bool quantizes = s.what.kind() == skeleton::row || quantizes_inside(s.what);
        return has_norm(stages_of(s.what)) || (quantizes && !norms_only);
    };
    int norms = 0;
    for (const step& s : steps) norms += begins(s, true);
    const bool by_norms = norms > 2;
    int seen = 0;
    for (int i = 0; i < all; ++i)
        if (begins(steps[static_cast<std::size_t>(i)], by_norms) &&
            ++seen > layers * (by_norms ? 2 : 4))
            return i;
    return all;
}

int run(const run_options& o) {
    refuse_unwritable(o.output.file);
    json::graph g = json::read(o.graph);
    if (o.optimized) g = optimized(g);
    std::unique_ptr<machine> on = o.host ? nullptr : cuda_machine();
    if (!on) on = host_machine(o.check.seed);
    const table t = o.target.named() ? table_for(o.target) : on->preferred();
    g = in_nodes(g, on->equip(t));
    const placement where{g, *on};
    const plan p = planner{on->equip(t)}.plan(where.view());
    if (!p.state().ok()) throw failure(o.graph + ": cannot be planned: " + p.state().message);

    checker check{p, where, *on, o.check};
    run_report report{g, p, on->name(), o.check, {}};
    const int count = steps_of_layers(p, o.layers);
    {
        progress_line progress;
        for (int i = 0; i < count; ++i) {
            progress.show(i, count, row_name(p.rows(), p.steps()[static_cast<std::size_t>(i)].row));
            report.results.push_back(check.run(i));
            if (on->broken()) break;
        }
    }
    write_result(o.output, o.output.json ? as_json(report) : as_text(report));
    return report.exit_code();
}

}  // namespace

void add_check_options(CLI::App& command, check_options& to) {
    const auto whole = [](const std::string& text) {
        const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
        return digits ? std::string() : "'" + text + "' is no whole number from 0 on";
    };
    command.add_option("--seed", to.seed, "Of the data and of the host executor's thread order")
        ->check(whole)
        ->capture_default_str();
    command.add_option("--rows", to.random_rows, "Random rows per matrix to sample")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
}

void add_run(CLI::App& app, int& code) {
    auto o = std::make_shared<run_options>();
    CLI::App* command = app.add_subcommand(
        "run",
        "Run the planned steps of a graph on seeded data, on the GPU if there is one, else on the "
        "host executor, and compare each with the reference in double. On the host, matrices are "
        "sampled: the first, the last and the tail band of rows, and bands of random rows, all "
        "of K.");
    command->footer(
        "Exit codes: 0 every step agrees; 1 a step failed; 2 wrong usage or bad input (nothing is "
        "written); 3 no step failed, but some did not run, since this build lacks kernels.");
    command->add_option("GRAPH", o->graph, "A graph file: JSON, plain or gzip")->required();
    command
        ->add_option(
            "--layers", o->layers,
            "Only the first N layers (two norms that feed matmuls count as one layer; without "
            "such norms, four quantized activations)")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    add_target(*command, o->target,
               "The instance set, or native: that of the GPU (default: the GPU's, or sm_90)");
    add_check_options(*command, o->check);
    command->add_flag("--optimized", o->optimized, optimized_help);
    command->add_flag("--host", o->host, host_help);
    add_output_options(*command, o->output);
    command->callback([o, &code] { code = run(*o); });
}

}  // namespace catena::tool
