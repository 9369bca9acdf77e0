// bench_static predicted: the chains and layers that bench_kernels times, by the cost model.
#include "catena_catalogue.hpp"
#include "commands.hpp"
#include "copies.hpp"
#include "expand.hpp"
#include "peer_time.hpp"
#include "planned.hpp"
#include "record.hpp"
#include "registers.hpp"
#include "subjects.hpp"
#include "today.hpp"
#include "tuning.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace catena::bench {

namespace {

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

struct prediction_request {
    std::string out, graphs = CATENA_BENCH_GRAPHS;
    std::vector<int> columns = {1, 2, 4, 8};
};

/// The set of sm_90, without kernels and without the engine's own times: bench_kernels leaves no
/// chain to the engine either.
class sm_90_rows {
  public:
    const table& rows() const { return rows_; }

  private:
    const generator::catalogue all_ = generator::catena_catalogue();
    const generator::tunings measured_ = generator::read_tunings(CATENA_SOURCE_DIR);
    const std::vector<generator::instance_set> sets_ = generator::expand(
        generator::computations_of(all_), evidence::read_registers(CATENA_SOURCE_DIR), measured_);
    const table rows_ = generator::described(
        *std::find_if(sets_.begin(), sets_.end(),
                      [](const auto& set) { return set.target == arch_named("sm_90"); }),
        all_);
};

int run(const prediction_request& asked) {
    const sm_90_rows set;
    measured_on where;
    where.gpu = set.rows().target->gpu;
    where.date = today();
    where.method = method;
    where.predicted = true;
    record all(asked.out, where);
    std::printf("predicted, not measured\n%s\n", header_of_lines().c_str());
    for (const char* what : {"layers", "chains"})
        for (const subject& s : subjects_of(what, asked.graphs, {}, set.rows()))
            for (const int n : asked.columns) {
                const measured_case c = predicted(s, n, set.rows());
                all.add(c);
                std::printf("%s\n", line_of(c).c_str());
            }
    return 0;
}

}  // namespace

void add_predicted(CLI::App& app, int& code) {
    const auto asked = std::make_shared<prediction_request>();
    CLI::App& command = *app.add_subcommand(
        "predicted",
        "Predicts what bench_kernels would measure of the chains and layers of real models, and "
        "writes it as a record that page.py shows. Nothing in it was measured.");
    command.add_option("--out", asked->out, "The record, a JSON file that is not there yet")
        ->required()
        ->check(CLI::NonexistentPath);
    command.add_option("--columns", asked->columns, "Tokens of the graphs")
        ->check(CLI::PositiveNumber);
    command.add_option("--graphs", asked->graphs, "The folder of the graphs")
        ->check(CLI::ExistingDirectory);
    command.callback([asked, &code] { code = run(*asked); });
}

}  // namespace catena::bench
