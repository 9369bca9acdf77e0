// catena verify: proves plans of graph files right, without running them.
#include "command.hpp"
#include "json_text.hpp"
#include "optimized.hpp"
#include "output.hpp"
#include "tables.hpp"

#include "catena/plan/verify.hpp"
#include "catena/runtime.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <vector>

namespace catena::tool {
namespace {

struct verify_options {
    std::vector<std::string> graphs;
    target_options target{"sm_90", ""};
    bool optimized = false;
    output_options output;
};

/// A plan of a graph file, and its proof.
struct proof_of_file {
    std::string file;
    verification found;
    std::int64_t workspace_bytes = 0;
};

proof_of_file prove(const std::string& file, const verify_options& o, const table& t) {
    json::graph g = json::read(file);
    if (o.optimized) g = optimized(g);
    const graph_view read = g.view();
    const std::vector<tensor> tensors = with_addresses(read);
    graph_view view = read;
    view.tensors = tensors.data();
    view.scratch = scratch_address(read);
    options asked;
    asked.verify = false;  // here, where its result is shown
    const plan made = planner(t, asked).plan(view);
    if (!made.state().ok()) throw failure(file + ": cannot be planned: " + made.state().message);
    proof_of_file out{file, verify(view, made), made.workspace_bytes()};
    if (!out.found.proved && out.found.state.ok())
        throw failure(file +
                      ": its tensors have no memory, so no plan of it can be proved: write "
                      "the file after the graph was allocated");
    return out;
}

std::string as_text(const std::vector<proof_of_file>& all, const std::string& arch) {
    std::string out;
    for (const proof_of_file& p : all) {
        const verification& v = p.found;
        out += fmt::format("{}, {}: {}\n", p.file, arch, v.proved ? "proved" : v.state.message);
        if (!v.proved) continue;
        out += fmt::format(
            "  {} steps and {} nodes of the engine, in the plan's order\n"
            "  {} reads find the value that they find in the engine's order\n"
            "  {} results have the value of their node\n"
            "  {} activations lie in {} bytes of workspace as long as they are read\n",
            v.steps, v.nodes, v.reads, v.results, v.slots, p.workspace_bytes);
    }
    return out;
}

const char* verdict_of(const verification& v) {
    if (v.proved) return "proved";
    return v.state.code == status_code::wrong_graph ? "wrong graph" : "wrong plan";
}

nlohmann::ordered_json fault_of(const verification& v) {
    if (v.state.code != status_code::wrong_graph)
        return {{"fault", v.state.message}, {"step", v.step}, {"node", v.node}, {"byte", v.byte}};
    const value_overwritten& o = v.overwritten;
    nlohmann::ordered_json reader;  // null: the tensor is a weight
    if (o.reader >= 0) reader = o.reader;
    return {{"fault", v.state.message}, {"node", o.writer},   {"reader", reader},
            {"tensor", o.tensor},       {"buffer", o.buffer}, {"offset", o.offset},
            {"bytes", o.bytes}};
}

std::string as_json(const std::vector<proof_of_file>& all, const table& t) {
    nlohmann::ordered_json graphs = nlohmann::ordered_json::array();
    for (const proof_of_file& p : all) {
        const verification& v = p.found;
        nlohmann::ordered_json one{{"graph", p.file},
                                   {"arch", t.target->name},
                                   {"gpu", t.limits().gpu},
                                   {"verdict", verdict_of(v)},
                                   {"proved", v.proved}};
        if (v.proved)
            one.update({{"steps", v.steps},
                        {"engine_nodes", v.nodes},
                        {"reads", v.reads},
                        {"results", v.results},
                        {"activations", v.slots},
                        {"workspace_bytes", p.workspace_bytes}});
        else
            one.update(fault_of(v));
        graphs.push_back(std::move(one));
    }
    return json_text({{"graphs", std::move(graphs)}});
}

int exit_code_of(const std::vector<proof_of_file>& all) {
    bool wrong_graph = false;
    for (const proof_of_file& p : all) {
        if (p.found.proved) continue;
        if (p.found.state.code != status_code::wrong_graph) return exit_check_failed;
        wrong_graph = true;
    }
    return wrong_graph ? exit_wrong_graph : exit_ok;
}

int verify_files(const verify_options& o) {
    refuse_unwritable(o.output.file);
    const table t = table_for(o.target);
    std::vector<proof_of_file> all;
    for (const std::string& file : o.graphs) all.push_back(prove(file, o, t));
    const std::string on = o.target.gpu.empty() ? o.target.arch : t.limits().gpu;
    write_result(o.output, o.output.json ? as_json(all, t) : as_text(all, on));
    return exit_code_of(all);
}

}  // namespace

void add_verify(CLI::App& app, int& code) {
    auto o = std::make_shared<verify_options>();
    CLI::App* command = app.add_subcommand(
        "verify",
        "Prove that plans of graphs are right, on a symbolic memory: nothing is computed. Everyone "
        "reads the values that the graph says, and every result is what its node computes.");
    command->footer(
        "Exit codes: 0 every plan is proved; 1 a plan is wrong; 2 wrong usage or bad input "
        "(nothing is written); 4 no plan is wrong, but a graph is: it overwrites a value that it "
        "still reads.");
    command->add_option("GRAPH", o->graphs, "Graph files: JSON, plain or gzip")->required();
    add_target(*command, o->target)->capture_default_str();
    command->add_flag("--optimized", o->optimized, optimized_help);
    add_output_options(*command, o->output);
    command->callback([o, &code] { code = verify_files(*o); });
}

}  // namespace catena::tool
