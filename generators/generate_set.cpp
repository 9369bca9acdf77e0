#include "generate_set.hpp"

#include "budget.hpp"
#include "render_set.hpp"
#include "text_file.hpp"
#include "tuning.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>

namespace catena::generator {

namespace {

/// The archs that have a name of `names`, in the registry's order.
std::vector<const arch*> archs_named(const std::vector<std::string>& names) {
    std::string known;
    std::vector<const arch*> out;
    for (const arch& a : arch_registry) {
        if (a.compute_capability == 0) continue;
        known += " " + std::string(a.name);
        if (std::find(names.begin(), names.end(), a.name) != names.end()) out.push_back(&a);
    }
    for (const std::string& name : names)
        if (std::none_of(out.begin(), out.end(), [&](const arch* a) { return a->name == name; }))
            throw std::runtime_error("no arch is called '" + name + "': choose from" + known);
    return out;
}

struct arguments {
    std::filesystem::path out, tuning;
    std::vector<std::string> archs, files, shapes;
    std::uint64_t bytes = 0;  ///< of an arch's set at most; 0: any number
    double seconds = 0;
    device_compiler compiler;
};

void add_options(CLI::App& app, arguments& to) {
    app.add_option("out", to.out, "Folder to write below")->required();
    app.add_option("arch", to.archs, "Architectures, such as sm_90")->required();
    const auto add_list = [&app](const char* name, auto& list, const char* help) {
        return app.add_option(name, list, help)->allow_extra_args(false);  // each after its name
    };
    add_list("--graph", to.files, "A graph file of the engine's models");
    add_list("--shape", to.shapes, "A matmul: FORMAT,ROWS,COLUMNS,BATCH");
    CLI::Option* nvcc = app.add_option("--nvcc", to.compiler.nvcc, "What says what rows cost");
    app.add_option("--tuning", to.tuning, "A folder of records of `catena tune`: sm_90.json")
        ->check(CLI::ExistingDirectory);
    add_list("-I", to.compiler.includes, "A folder of Catena's headers, for nvcc");
    CLI::Option* bytes =
        app.add_option("--bytes", to.bytes, "Machine code that a set may have, such as 400KB")
            ->transform(CLI::AsSizeValue(true));
    const std::map<std::string, double> units = {{"s", 1}, {"min", 60}};
    CLI::Option* seconds =
        app.add_option("--seconds", to.seconds, "Time of nvcc that a set may take, such as 30s")
            ->transform(CLI::AsNumberWithUnit(units))
            ->excludes(bytes);
    for (CLI::Option* budget : {bytes, seconds}) budget->check(CLI::PositiveNumber)->needs(nvcc);
}

/// Leaves out what the budget has no room for, and says so.
void keep_within_budget(instance_set& set, const catalogue& all, const arguments& asked,
                        const std::vector<json::graph>& graphs) {
    const code_costs costs =
        code_costs_of(*set.target, set.rows, asked.compiler, asked.out / "weighed");
    const budget b = asked.bytes > 0 ? budget_of_bytes(static_cast<double>(asked.bytes), costs)
                                     : budget_of_seconds(asked.seconds, costs);
    std::fputs(to_text(keep_within(set, b, all, graphs), b, *set.target).c_str(), stdout);
}

}  // namespace

int generate_set(const char* name, const catalogue& all, policy_change change, int argc,
                 char** argv) try {
    CLI::App app{"Writes the instance sets of the catalogue " + std::string(name) + "."};
    arguments asked;
    add_options(app, asked);
    CLI11_PARSE(app, argc, argv);
    asked.compiler.names = naming_of(name, all.ops_header);
    const std::vector<computation> computations = computations_of(all);
    const tunings measured = asked.tuning.empty() ? tunings{} : read_own_tunings(asked.tuning);
    std::vector<instance_set> sets;
    for (const arch* target : archs_named(asked.archs))
        sets.push_back(expand_for(*target, computations, change, measured));
    const std::vector<json::graph> graphs = graphs_of(asked.files, asked.shapes);
    const bool budgeted = asked.bytes > 0 || asked.seconds > 0;
    if (budgeted && graphs.empty())
        throw std::runtime_error(
            "a budget needs graphs, which say what a row is worth: name some with --graph or "
            "--shape");
    if (!graphs.empty()) keep_needed(sets, all, graphs);
    if (budgeted)
        for (instance_set& set : sets) keep_within_budget(set, all, asked, graphs);
    for (const rendered_file& file : render_set(name, all, sets))
        if (!std::filesystem::exists(asked.out / file.path) ||
            tool::read_text(asked.out / file.path) != file.content)
            tool::write_text(asked.out / file.path, file.content);
    for (const instance_set& set : sets)
        std::printf("%s: %zu rows of %s, %zu chains\n", name, set.rows.size(), set.target->name,
                    all.chains.size());
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s_generate: %s\n", name, error.what());
    return 2;
}

}  // namespace catena::generator
