// bench_kernels: every instance, the chains and whole layers of real models, against the floor and
// the peers, all in one run. It goes on with the record that it is given.
#include "agenda.hpp"
#include "gpu_bench.hpp"
#include "subjects.hpp"

#include "catena/instances/for_device.hpp"
#include "catena/pick/name.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace {

using namespace catena;
using namespace catena::bench;

struct asked_for {
    std::string out, graphs = CATENA_BENCH_GRAPHS;
    std::vector<std::string> what = {"instances", "layers", "chains"}, models;
    std::vector<int> columns = {1, 2, 4, 8, 64, 512, 2048};
    double minutes = 0;
    gpu_options gpu;
};

class run {
  public:
    run(const asked_for& asked, const table& rows)
        : asked_(asked), rows_(rows), gpu_(rows, asked.gpu), record_(asked.out, gpu_.where()) {
        for (const auto& [peer, remedy] : gpu_.missing_peers()) {
            record_.miss(peer, remedy);
            std::printf("no %s: %s\n", peer.c_str(), remedy.c_str());
        }
        std::printf("%s\n", header_of_lines().c_str());
    }

    /// False: the time was up before all was measured.
    bool all() {
        for (const auto& [what, columns] : agenda(asked_.what, asked_.columns))
            if (!(what == "instances" ? instances() : cases(what, columns))) return false;
        return true;
    }

    int wrong() const { return record_.wrong(); }

  private:
    const asked_for& asked_;
    const table& rows_;
    gpu_bench gpu_;
    record record_;
    std::map<std::string, std::vector<subject>> subjects_;  ///< of layers, of chains
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

    bool time_is_up() const {
        const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
        return asked_.minutes > 0 && gone.count() > 60 * asked_.minutes;
    }

    void add(const measured_case& c) {
        record_.add(c);
        std::printf("%s\n", line_of(c).c_str());
        std::fflush(stdout);
        if (!gpu_.broken()) return;
        std::fprintf(stderr,
                     "bench_kernels: this process can use the GPU no more; the same command "
                     "goes on behind that case\n");
        std::quick_exit(1);
    }

    bool instances() {
        for (int row = 0; row < rows_.row_count; ++row) {
            if (record_.has_instance(row_name(rows_, row))) continue;
            if (time_is_up()) return false;
            for (const measured_case& c : gpu_.time_instance(row)) add(c);
        }
        return true;
    }

    /// The subjects of all models, read once.
    const std::vector<subject>& subjects(const std::string& what) {
        const auto [at, fresh] = subjects_.try_emplace(what);
        if (fresh) at->second = subjects_of(what, asked_.graphs, asked_.models, rows_);
        return at->second;
    }

    bool cases(const std::string& what, int columns) {
        for (const subject& s : subjects(what)) {
            if (record_.has(s.kind, s.what.model, s.what.name, columns)) continue;
            if (time_is_up()) return false;
            measured_case timed = gpu_.time(s.kind, *s.of, s.what, columns);
            timed.excluded = s.excluded;
            add(timed);
        }
        return true;
    }
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Times every instance, and the chains and layers of real models, against the machine's "
        "floor "
        "and the peers that are there. Exit code 2: the time was up, and the same command goes "
        "on.");
    asked_for asked;
    std::int64_t gigabytes = 24;
    app.add_option("--out", asked.out, "The record, a JSON file; one that is there is gone on with")
        ->required();
    app.add_option("--what", asked.what, "Of instances, layers, chains (default: all)")
        ->check(CLI::IsMember({"instances", "layers", "chains"}));
    app.add_option("--models", asked.models,
                   "Names of graphs, such as qwen3-8b-q4km (default: all)");
    app.add_option("--columns", asked.columns, "Tokens of the graphs")->check(CLI::PositiveNumber);
    app.add_option("--graphs", asked.graphs, "The folder of the graphs")
        ->check(CLI::ExistingDirectory);
    app.add_option("--minutes", asked.minutes, "Begin nothing new after so long");
    app.add_option("--rounds", asked.gpu.rounds, "Samples of each time")
        ->check(CLI::PositiveNumber);
    app.add_option("--memory", gigabytes, "GiB of device memory to use at most")
        ->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    asked.gpu.bytes = gigabytes << 30;

    try {
        table rows = instances::for_device(0);
        if (!rows.state.ok()) throw std::runtime_error(rows.state.message);
        // What is left to the engine for its speed is timed like the rest.
        rows.engine_count = rows.verdict_count = 0;
        run now(asked, rows);
        const bool finished = now.all();
        if (now.wrong() > 0)
            throw std::runtime_error(std::to_string(now.wrong()) +
                                     " cases failed or computed something else than ggml: the "
                                     "record says how");
        if (!finished) std::printf("the time is up: the same command goes on\n");
        return finished ? 0 : 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bench_kernels: %s\n", e.what());
        return 1;
    }
}
