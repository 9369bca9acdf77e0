// probe NAME: measures one thing that the cost model assumes of a GPU. Exit code 1: it failed.
#include "measure.hpp"
#include "registered.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    using namespace catena;
    CLI::App app{"Measures what the cost model assumes of a GPU, a line of JSON for each setting."};
    app.require_subcommand(1);
    const probe::probe* asked = nullptr;
    for (const probe::probe& one : probe::probes())
        app.add_subcommand(one.name, one.what)->callback([&] { asked = &one; });
    CLI11_PARSE(app, argc, argv);
    try {
        asked->measure();
        bench::check(cudaDeviceSynchronize(), "waiting for the device");
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "probe %s: %s\n", asked->name, error.what());
        return 1;
    }
}
