// bench_predicted: the chains and layers that bench_kernels times, by the cost model. No GPU.
#include "copies.hpp"
#include "peer_time.hpp"
#include "planned.hpp"
#include "record.hpp"
#include "subjects.hpp"
#include "today.hpp"

#include "catena/instances/sm_90.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace {

using namespace catena;
using namespace catena::bench;

constexpr const char* method =
    "predicted: the times of a plan's steps by pick/cost.hpp, one after the other; beside them "
    "what "
    "ggml-cuda's launches and the bytes take where each of its kernels reaches the floor, and "
    "where "
    "each waits for the one before it";
constexpr const char* bound_on_peer = "no less for ggml-cuda";
constexpr const char* modeled_peer = "ggml-cuda by a model";

measured_case predicted(const subject& s, int columns, const table& rows) {
    const arch& a = *rows.target;
    const small_graph g = placed(cut(*s.of, s.what.nodes, columns));
    const planned_copies ours({g}, rows);
    measured_case out;
    out.kind = s.kind;
    out.model = s.what.model;
    out.name = s.what.name;
    out.columns = columns;
    out.copies = 1;
    out.launches = ours.launches_of_one();
    out.floor_launches = s.what.floor_launches;
    out.bytes = least_bytes(g);
    out.instances = ours.instances();
    out.steps_key = ours.steps_key();
    out.excluded = s.excluded;
    out.floor = {a.node_us, a.bytes_per_us, a.bytes_per_us};
    if (ours.left().empty())
        out.times["catena"] = {1, ours.predicted_us(), 0};
    else
        out.missing["catena"] = "leaves to the engine: " + ours.left();
    const int launches = tool::count_peer(g.view()).launches;
    out.times[bound_on_peer] = {1, out.floor.attainable_us(launches, out.bytes), 0};
    out.times[modeled_peer] = {1, peer_us(a, launches, out.bytes), 0};
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Predicts what bench_kernels would measure of the chains and layers of real models, "
        "and writes it as a record that page.py shows. Nothing in it was measured.");
    std::string out, graphs = CATENA_BENCH_GRAPHS;
    std::vector<int> columns = {1, 2, 4, 8};
    app.add_option("--out", out, "The record, a JSON file that is not there yet")
        ->required()
        ->check(CLI::NonexistentPath);
    app.add_option("--columns", columns, "Tokens of the graphs")->check(CLI::PositiveNumber);
    app.add_option("--graphs", graphs, "The folder of the graphs")->check(CLI::ExistingDirectory);
    CLI11_PARSE(app, argc, argv);

    try {
        table rows = instances::sm_90();
        rows.engine_count = rows.verdict_count = 0;  // as bench_kernels
        measured_on where;
        where.gpu = rows.target->gpu;
        where.date = today();
        where.method = method;
        where.predicted = true;
        record all(out, where);
        std::printf("predicted, not measured\n%s\n", header_of_lines().c_str());
        for (const char* what : {"layers", "chains"})
            for (const subject& s : subjects_of(what, graphs, {}, rows))
                for (const int n : columns) {
                    const measured_case c = predicted(s, n, rows);
                    all.add(c);
                    std::printf("%s\n", line_of(c).c_str());
                }
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_predicted: %s\n", e.what());
        return 1;
    }
}
