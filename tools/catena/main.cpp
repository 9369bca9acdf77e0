// catena: explains plans for graph files, proves them, runs their steps against the reference,
// lists instances and what they cover, tunes them.
#include "command.hpp"
#include "version.hpp"

#include "catena/engine/json.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

int main(int argc, char** argv) {
    using namespace catena::tool;
    CLI::App app{"Catena: chains of operations, expanded into tuned CUDA kernels.", "catena"};
    app.require_subcommand(0, 1);  // one that is not known is named before one that is missing
    app.footer(exit_code_help);
    app.set_version_flag("--version", "catena " + std::string(version),
                         "Print the version and exit");
    int code = exit_ok;
    add_coverage(app, code);
    add_explain(app, code);
    add_run(app, code);
    add_instances(app, code);
    add_tune(app, code);
    add_verify(app, code);
    try {
        app.parse(argc, argv);
        if (app.get_subcommands().empty()) throw CLI::RequiredError::Subcommand(1);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? exit_ok : exit_bad_input;
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
