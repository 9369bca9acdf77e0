#include "contest.hpp"

#include <benchmark/benchmark.h>

#include <map>
#include <stdexcept>

namespace catena::bench {
namespace {

/// Keeps every repetition's time and prints nothing.
class collector : public benchmark::BenchmarkReporter {
  public:
    std::map<std::string, std::vector<double>> samples;

    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& runs) override {
        for (const Run& r : runs)
            if (r.run_type == Run::RT_Iteration)
                samples[r.run_name.function_name].push_back(r.GetAdjustedRealTime());
    }
};

/// Once: repetitions of different benchmarks take turns.
void initialize() {
    static const bool done = [] {
        char name[] = "bench", turns[] = "--benchmark_enable_random_interleaving=true";
        char* arguments[] = {name, turns, nullptr};
        int count = 2;
        benchmark::Initialize(&count, arguments);
        return count == 1;
    }();
    if (!done)
        throw std::runtime_error(
            "Google Benchmark is older than 1.5.3 and cannot take turns: install "
            "libbenchmark-dev of Debian 12 or later");
}

}  // namespace

std::vector<tune::summary> contest(const std::vector<contender>& contenders, int rounds) {
    initialize();
    for (const contender& c : contenders)
        benchmark::RegisterBenchmark(c.name.c_str(),
                                     [&c](benchmark::State& state) {
                                         for (auto _ : state)
                                             state.SetIterationTime(c.sample_us() * 1e-6);
                                     })
            ->UseManualTime()
            ->Iterations(1)
            ->Repetitions(rounds)
            ->Unit(benchmark::kMicrosecond);
    collector collected;
    benchmark::RunSpecifiedBenchmarks(&collected, nullptr, "all");
    benchmark::ClearRegisteredBenchmarks();

    std::vector<tune::summary> out;
    for (const contender& c : contenders)
        out.push_back(tune::summary_of(collected.samples[c.name]));
    return out;
}

}  // namespace catena::bench
