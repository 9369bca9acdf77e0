// bench_static: what can be said of an arch's kernels without a GPU. Exit code 1: a fault was
// found; 2: it could not be looked for.
#include "commands.hpp"

#include <cstdio>
#include <exception>
#include <stdexcept>

namespace catena::bench {

const arch& family_options::target() const {
    const arch* const named = arch_named(arch_name.c_str());
    if (named == nullptr || named->compute_capability == 0)
        throw std::runtime_error(arch_name + " has no CUDA kernels: name a set such as sm_90");
    return *named;
}

void add_family_options(CLI::App& command, family_options& to) {
    command.add_option("--arch", to.arch_name, "The instance set")->capture_default_str();
    command.add_option("--nvcc", to.nvcc, "The compiler")->capture_default_str();
    command.add_option("--jobs", to.jobs, "Compilations at a time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command.add_option("FAMILY", to.only,
                       "Files of the set, such as matvec_q4_K; all where none is named");
}

}  // namespace catena::bench

int main(int argc, char** argv) {
    CLI::App app{"What can be said of kernels without a GPU."};
    app.require_subcommand(1);
    int code = 0;
    catena::bench::add_build(app, code);
    catena::bench::add_instances(app, code);
    catena::bench::add_predicted(app, code);
    catena::bench::add_registers(app, code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_static: %s\n", error.what());
        return 2;
    }
    return code;
}
