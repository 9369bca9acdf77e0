// catena explain: what a plan does with a graph, and what it leaves to the engine and why.
#include "command.hpp"
#include "dot.hpp"
#include "html.hpp"
#include "optimized.hpp"
#include "output.hpp"
#include "report.hpp"
#include "tables.hpp"

#include "catena/plan/sentences.hpp"
#include "catena/runtime.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace catena::tool {
namespace {

struct explain_options {
    std::string graph;
    target_options target{"sm_90", ""};
    std::string html, dot;  ///< empty: not asked for
    std::string measured;   ///< a record of launches; empty: none
    bool optimized = false, verbose = false, target_is_named = false;
    output_options output;
};

int explain(explain_options o) {
    for (const std::string& file : {o.html, o.dot, o.output.file}) refuse_unwritable(file);
    json::graph g = json::read(o.graph);
    if (o.optimized) g = optimized(g);
    const auto record = record_and_target(o.measured, o.target_is_named, o.target);
    const table t = table_for(o.target);
    const report r = make_report(g, t, record ? &*record : nullptr);
    if (!o.html.empty()) write_whole(o.html, as_html(r));
    if (!o.dot.empty()) write_whole(o.dot, as_dot(r));
    const bool instead = !(o.html.empty() && o.dot.empty());
    if (!instead || !o.output.file.empty())
        write_result(o.output, o.output.json ? as_json(r, o.verbose) : as_text(r, o.verbose));
    return exit_ok;
}

void refuse_other_gpu(const launch_record& record, const arch& target) {
    const bool same_gpu =
        record.gpu.empty() || target.gpu == record.gpu || target.gpu == record.device;
    if (record.arch == target.name && same_gpu) return;
    throw failure(
        fmt::format("{} was measured on {} ({}), and the plan is for {} ({}): leave --arch and "
                    "--gpu out, and it is for the GPU of the record",
                    record.file, record.device, record.arch, target.gpu, target.name));
}

}  // namespace

std::optional<launch_record> record_and_target(const std::string& file, bool is_named,
                                               target_options& target) {
    if (file.empty()) return {};
    try {
        launch_record record = read_launches(file);
        if (!is_named) target = {record.arch, record.gpu};
        return record;
    } catch (const std::runtime_error& e) {
        throw failure(e.what());
    }
}

report make_report(const json::graph& g, const table& t, const launch_record* measured) {
    const graph_view view = g.view();
    const planner p{t};
    const plan now = p.plan(view);
    explanation e = now.explain();
    if (!e.state.ok()) throw failure(g.file + ": cannot be planned: " + e.state.message);
    wishes w = count(view);
    progress done = judge(view, w, e);
    const json::graph ordered = optimized(g);
    const plan_counters after = now.counters(), before = p.plan(ordered.view()).counters();
    done.groups = {after.groups(), before.groups_whole, after.groups_whole, after.groups_partial};
    const prediction predicted = predict(view, now, e, t.limits());
    std::optional<measured_plan> times;
    if (measured != nullptr) {
        refuse_other_gpu(*measured, t.limits());
        times = join(*measured, e);
    }
    return {g,
            t.limits(),
            now,
            std::move(e),
            std::move(w),
            std::move(done),
            count_peer(view),
            predicted,
            std::move(times)};
}

std::vector<std::string> rejected(const report& r, std::size_t i) {
    return rejected_rows(r.planned.choice_of(static_cast<int>(i)), r.planned.rows());
}

void add_explain(CLI::App& app, int& code) {
    auto o = std::make_shared<explain_options>();
    CLI::App* command = app.add_subcommand(
        "explain",
        "Say what a plan does with a graph: steps, instances, launches, and what stays with "
        "the engine and why. Nodes are positions in the execution order.");
    command->footer(exit_code_help);
    command->add_option("GRAPH", o->graph, "A graph file: JSON, plain or gzip")->required();
    add_target(*command, o->target)->capture_default_str();
    CLI::Option* const html = add_output_file(
        *command, "--html", o->html, "Write a page for a browser to FILE, instead of text");
    CLI::Option* const dot =
        add_output_file(*command, "--dot", o->dot,
                        "Write each distinct layer for graphviz to FILE, instead of text");
    command->add_flag("--optimized", o->optimized, optimized_help);
    command->add_option("--measured", o->measured, measured_help)->type_name("FILE");
    command->add_flag("--verbose", o->verbose,
                      "Name every rejected row of every step, with its reason");
    add_output_options(*command, o->output);
    command->get_option("--json")->excludes(html)->excludes(dot);
    command->callback([o, command, &code] {
        o->target_is_named = command->count("--arch") + command->count("--gpu") > 0;
        code = explain(*o);
    });
}

}  // namespace catena::tool
