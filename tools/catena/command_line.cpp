#include "command_line.hpp"

#include "command.hpp"
#include "nearest.hpp"
#include "output.hpp"
#include "tables.hpp"
#include "version.hpp"
#include "wrap.hpp"

#include "catena/engine/json.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

/// What the first word that was not expected was meant to be, as a line; empty if nothing is near.
std::string hint(const CLI::App& app) {
    const std::vector<std::string> unexpected = app.remaining(true);
    if (unexpected.empty()) return "";
    const auto asked = app.get_subcommands();
    const CLI::App& where = asked.empty() ? app : *asked.front();
    std::vector<std::string> known;
    for (const CLI::App* command : where.get_subcommands({})) known.push_back(command->get_name());
    for (const CLI::Option* option : where.get_options()) known.push_back(option->get_name());
    const std::string word = unexpected.front().substr(0, unexpected.front().find('='));
    const std::string meant = nearest(word, known);
    return meant.empty() ? meant : "Did you mean '" + meant + "'?\n";
}

}  // namespace

int run_command(int argc, char** argv, own_sets own) {
    join_own(std::move(own));
    CLI::App app{"Catena: chains of operations, expanded into tuned CUDA kernels.", "catena"};
    app.require_subcommand(0, 1);  // one that is not known is named before one that is missing
    app.footer(exit_code_help);
    app.set_version_flag("--version", "catena " + std::string(version),
                         "Print the version and exit");
    int code = exit_ok;
    add_bench(app, code);
    add_bisect(app, code);
    add_coverage(app, code);
    add_diff(app, code);
    add_doctor(app, code);
    add_explain(app, code);
    add_run(app, code);
    add_instances(app, code);
    add_pages(app, code);
    add_tune(app, code);
    add_verify(app, code);
    try {
        app.parse(argc, argv);
        if (app.get_subcommands().empty()) throw CLI::RequiredError::Subcommand(1);
    } catch (const CLI::ParseError& e) {
        std::ostringstream out, err;
        const int said = app.exit(e, out, err);
        fmt::print("{}", wrapped(out.str(), text_width()));
        fmt::print(stderr, "{}{}", err.str(), hint(app));
        return said == 0 ? exit_ok : exit_bad_input;
    } catch (const std::bad_alloc&) {
        fmt::print(stderr,
                   "catena: there is not enough memory: free some, or take a smaller graph\n");
        return exit_bad_input;
    } catch (const std::exception& e) {
        fmt::print(stderr, "catena: {}\n", e.what());
        return exit_bad_input;
    }
    return code;
}

}  // namespace catena::tool
