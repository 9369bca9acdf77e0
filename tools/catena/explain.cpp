// catena explain: what a plan does with a graph, and what it leaves to the engine and why.
#include "command.hpp"
#include "dot.hpp"
#include "html.hpp"
#include "optimized.hpp"
#include "output.hpp"
#include "report.hpp"
#include "tables.hpp"

#include "catena/runtime.hpp"

#include <memory>

namespace catena::tool {
namespace {

struct explain_options {
    std::string graph;
    target_options target{"sm_90", ""};
    std::string html, dot;  ///< empty: not asked for
    bool optimized = false, verbose = false;
    options asked;
    output_options output;
};

int explain(const explain_options& o) {
    for (const std::string& file : {o.html, o.dot, o.output.file}) refuse_unwritable(file);
    json::graph g = json::read(o.graph);
    if (o.optimized) g = optimized(g);
    const table t = table_for(o.target);
    const report r = make_report(g, t, o.asked);
    if (!o.html.empty()) write_whole(o.html, as_html(r));
    if (!o.dot.empty()) write_whole(o.dot, as_dot(r));
    const bool instead = !(o.html.empty() && o.dot.empty());
    if (!instead || !o.output.file.empty())
        write_result(o.output, o.output.json ? as_json(r, o.verbose) : as_text(r, o.verbose));
    return exit_ok;
}

}  // namespace

report make_report(const json::graph& g, const table& t, const options& asked) {
    const graph_view view = g.view();
    const planner p{t, asked};
    const plan now = p.plan(view);
    explanation e = now.explain();
    if (!e.state.ok()) throw failure(g.file + ": cannot be planned: " + e.state.message);
    wishes w = count(view);
    progress done = judge(view, w, e);
    const json::graph ordered = optimized(g);
    const plan_counters after = now.counters(), before = p.plan(ordered.view()).counters();
    done.groups = {after.groups(), before.groups_whole, after.groups_whole, after.groups_partial};
    const prediction predicted = predict(view, now, e, t.limits());
    return {
        g,        t.limits(), now, std::move(e), std::move(w), std::move(done), count_peer(view),
        predicted};
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
    command
        ->add_option("--l2-ahead", o->asked.l2_percent_ahead,
                     "Let row steps bring weights of later steps to L2, into that share of it")
        ->check(CLI::Range(0, 100))
        ->type_name("PERCENT");
    command->add_flag("--verbose", o->verbose,
                      "Name every rejected row of every step, with its reason");
    add_output_options(*command, o->output);
    command->get_option("--json")->excludes(html)->excludes(dot);
    command->callback([o, &code] { code = explain(*o); });
}

}  // namespace catena::tool
