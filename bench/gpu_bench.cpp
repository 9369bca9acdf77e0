#include "gpu_bench.hpp"

#include "cases.hpp"
#include "gpu_state.hpp"
#include "host_clock.hpp"
#include "planned.hpp"
#include "replay.hpp"
#include "results.hpp"
#include "sums.hpp"
#include "unfused.hpp"
#include "yardsticks.hpp"

#include "catena/pick/name.hpp"

#if defined(CATENA_BENCH_GGML)
#include "ggml_peer.hpp"
#endif
#if defined(CATENA_BENCH_CUBLASLT)
#include "cublaslt.hpp"
#endif

#include <algorithm>
#include <stdexcept>

namespace catena::bench {
namespace {

constexpr const char* method =
    "copies of a case on weights of their own, four L2 caches of them and 20 at least, as one CUDA "
    "graph "
    "replayed behind another replay; events; medians of samples in random turns; ggml on the "
    "host's clock, "
    "as the difference of two runs of replays";
constexpr std::size_t yardstick_bytes = std::size_t{1} << 29;
constexpr std::size_t arena_of_instances = std::size_t{2} << 30;
constexpr std::size_t yardstick_count = 3;
constexpr std::size_t ring_bytes = std::size_t{1} << 31;

void require(const status& s, const std::string& of) {
    if (!s.ok()) throw std::runtime_error(of + ": " + s.message);
}

}  // namespace

struct gpu_bench::state {
    table rows;
    gpu_options asked;
    cudaDeviceProp gpu{};
    cudaStream_t stream = nullptr;
    memory arena;
    std::unique_ptr<buffer> own;  ///< the arena, where ggml has not made it
    std::unique_ptr<buffer> moved;
    std::unique_ptr<buffer> numbers;  ///< what instances compute on
    std::unique_ptr<buffer> ring;     ///< cuBLASLt's operands
    std::unique_ptr<replay> empty, read, copy;
    double read_bytes = 0, copy_bytes = 0;
    std::map<std::string, std::string> missing;
    std::string peer = "ggml-cuda";
    bool broken = false;
#if defined(CATENA_BENCH_GGML)
    std::unique_ptr<ggml_device> ggml;
#endif

    /// The first contenders of every contest, and what their times say.
    std::vector<contender> sticks() const {
        return {{"empty node", [this] { return empty->by_events(); }},
                {"read", [this] { return read->by_events(); }},
                {"copy", [this] { return copy->by_events(); }}};
    }
    /// Notes what went wrong in a case, and whether more can be launched behind it.
    void fail(measured_case& c, const std::exception& e) {
        c.times.clear();
        c.missing["catena"] = e.what();
        c.wrong = true;
        cudaGetLastError();  // a launch that was refused is forgotten
        broken = cudaStreamQuery(stream) != cudaSuccess;
    }
    floor_of_machine floor_of(const std::vector<tune::summary>& times) const {
        return {times[0].median, read_bytes / times[1].median, copy_bytes / times[2].median};
    }
};

gpu_bench::gpu_bench(const table& rows, const gpu_options& asked) : s_(std::make_unique<state>()) {
    state& s = *s_;
    s.rows = rows;
    s.asked = asked;
    check(cudaGetDeviceProperties(&s.gpu, 0), "ask device 0");
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "ask for memory");
    const auto bytes =
        std::min<std::int64_t>(asked.bytes, static_cast<std::int64_t>(free) * 8 / 10);
#if defined(CATENA_BENCH_GGML)
    try {
        s.ggml = std::make_unique<ggml_device>(GGML_BACKEND_DEVICE_TYPE_GPU, bytes);
        s.arena = s.ggml->arena();
        if (const char* branches = std::getenv("GGML_CUDA_GRAPH_OPT"); branches && *branches == '1')
            s.peer = "ggml-cuda, GRAPH_OPT";
    } catch (const std::runtime_error& e) {
        s.missing["ggml-cuda"] = e.what();
    }
#else
    s.missing["ggml-cuda"] =
        "this build found no ggml: build one with -DGGML_CUDA=ON and name its prefix in "
        "CMAKE_PREFIX_PATH";
#endif
    if (s.arena.base == nullptr) {
        s.own = std::make_unique<buffer>(static_cast<std::size_t>(bytes));
        s.arena = {
            s.own->data(), bytes,
            [](std::byte* to, std::span<const std::byte> from) {
                check(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice), "write");
            },
            [](const std::byte* from, std::span<std::byte> to) {
                check(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost), "read");
            }};
    }
    s.arena.copy = [](std::byte* to, const std::byte* from, std::size_t bytes) {
        check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "copy");
    };
#if defined(CATENA_BENCH_CUBLASLT)
    s.ring = std::make_unique<buffer>(ring_bytes);
    bench::fill(*s.ring, 2);
#else
    s.missing["cuBLASLt"] = "this build found no cuBLASLt: install the toolkit's libcublas-dev";
#endif
    check(cudaStreamCreate(&s.stream), "create a stream");  // it waits for the default one's copies
    s.moved = std::make_unique<buffer>(yardstick_bytes);
    bench::fill(*s.moved, 1);
    const std::vector<timed> sticks = yardsticks(*s.moved, s.gpu.multiProcessorCount);
    const auto repeated = [&](const timed& what, int times) {
        return std::make_unique<replay>(what, times, s.stream);
    };
    s.empty = repeated(sticks[0], 128);
    s.read = repeated(sticks[1], 8);
    s.copy = repeated(sticks[2], 8);
    s.read_bytes = sticks[1].bytes;
    s.copy_bytes = sticks[2].bytes;
}

gpu_bench::~gpu_bench() {
    s_->empty.reset();
    s_->read.reset();
    s_->copy.reset();
    if (s_->stream != nullptr) cudaStreamDestroy(s_->stream);
}

measured_on gpu_bench::where() const {
    for (int i = 0; i < 1000; ++i) s_->read->queue();  // 1.5 s: an idle GPU's clocks say nothing
    measured_on m = state_of_gpu(s_->gpu.name);
    s_->read->wait();
    m.method = method;
#if defined(CATENA_BENCH_GGML)
    if (s_->ggml) m.ggml = ggml_description() + " on " + s_->ggml->name();
#endif
    return m;
}

std::map<std::string, std::string> gpu_bench::missing_peers() const { return s_->missing; }

bool gpu_bench::broken() const { return s_->broken; }

/// What is timed beside each other in one case, and what they need as long as it takes.
class gpu_bench::lineup {
  public:
    lineup(state& s, const chain_case& c, const small_graph& g, measured_case& out)
        : s_(s),
          case_(c),
          out_(out),
          graph_(g),
          copies_(place_copies(g, out.copies, s.arena)),
          contenders_(s.sticks()) {}

    /// ggml first: its results are what Catena's are compared with.
    void add_all() {
        add_ggml();
        add_catena();
        add_cublaslt();
    }

    void run() {
        const auto times = contest(contenders_, s_.asked.rounds);
        out_.floor = s_.floor_of(times);
        for (std::size_t i = yardstick_count; i < contenders_.size(); ++i)
            out_.times[contenders_[i].name] = times[i];
    }

  private:
    static constexpr const char* unfused = "catena, unfused";

    state& s_;
    const chain_case& case_;
    measured_case& out_;
    const small_graph& graph_;
    std::vector<small_graph> copies_;
    std::unique_ptr<buffer> workspace_;
    std::vector<std::vector<float>> expected_;
#if defined(CATENA_BENCH_GGML)
    std::unique_ptr<ggml_copies> peer_;
#endif
#if defined(CATENA_BENCH_CUBLASLT)
    std::vector<std::unique_ptr<cublaslt_products>> libraries_;
#endif
    std::vector<std::unique_ptr<replay>> replays_;  // of what stands above
    std::vector<contender> contenders_;
    int more_ = most_more;  ///< replays by the host's clock

    /// Captures what launches every copy.
    const replay& captured(const std::function<void(cudaStream_t)>& all_copies) {
        replays_.push_back(std::make_unique<replay>(all_copies, out_.copies, s_.stream));
        return *replays_.back();
    }
    void by_events(const std::string& name, const replay& r) {
        contenders_.push_back({name, [&r] { return r.by_events(); }});
    }
    template <class Queue, class Wait>
    void by_host(const std::string& name, Queue queue, Wait wait) {
        contenders_.push_back({name, [this, queue, wait] {
                                   return by_host_clock(more_, queue, wait) / out_.copies;
                               }});
    }

    void add_ggml() {
#if defined(CATENA_BENCH_GGML)
        if (!s_.ggml) return;
        try {
            peer_ = std::make_unique<ggml_copies>(*s_.ggml, copies_);
            poison_results(copies_[0], s_.arena);
            for (int i = 0; i < 3; ++i) peer_->compute();  // it captures what it has seen twice
            peer_->synchronize();
        } catch (const std::runtime_error& e) {
            out_.missing[s_.peer] = e.what();
            return;
        }
        expected_ = read_results(copies_[0], s_.arena);
        by_host(
            s_.peer, [this] { peer_->compute(); }, [this] { peer_->synchronize(); });
#endif
    }

    void add_catena() {
        const planned_copies fused(copies_, s_.rows);
        const unfused_copies apart(copies_, s_.rows, sums_on_device(*s_.rows.target));
        out_.launches = fused.launches_of_one();
        out_.instances = fused.instances();
        out_.steps_key = fused.steps_key();
        if (!fused.left().empty()) {
            out_.missing["catena"] = "leaves to the engine: " + fused.left();
            return;
        }
        const std::int64_t bytes = std::max(fused.workspace_bytes(), apart.workspace_bytes());
        workspace_ = std::make_unique<buffer>(static_cast<std::size_t>(bytes + 256));
        const auto launch = [this](const auto& p) {
            return [this, &p](cudaStream_t on) {
                require(p.launch(on, workspace_->data()), case_.name);
            };
        };
        const replay& ours = captured(launch(fused));
        poison_results(copies_[0], s_.arena);
        ours.try_out();
        if (!expected_.empty()) {
            out_.nmse = worst_nmse(expected_, read_results(copies_[0], s_.arena));
            out_.wrong = !(out_.nmse <= allowed_nmse * case_.values);
        }
        if (out_.wrong) {
            out_.missing["catena"] =
                "computes something else than ggml: NMSE " + std::to_string(out_.nmse);
            return;
        }
        more_ = more_replays(ours.by_events() * ours.parts());
        by_events("catena", ours);
        by_host(
            "catena, host clock", [&ours] { ours.queue(); }, [&ours] { ours.wait(); });
        add_unfused(apart, captured(launch(apart)));
    }

    /// Catena's kernels, an op at a time. What an op that has none would write is there already.
    void add_unfused(const unfused_copies& apart, const replay& r) {
        const std::string left = apart.left();
        if (!left.empty()) {
            out_.missing[std::string(unfused) + ": " + left] = "no kernel computes these alone";
            seed_results(copies_[0], s_.arena);
        } else if (!expected_.empty()) {
            poison_results(copies_[0], s_.arena);
            r.try_out();
            const double off = worst_nmse(expected_, read_results(copies_[0], s_.arena));
            if (!(off <= allowed_nmse * case_.values)) {
                out_.missing[unfused] =
                    "computes something else than ggml: NMSE " + std::to_string(off);
                return;
            }
        }
        by_events(unfused, r);
    }

    void add_cublaslt() {
#if defined(CATENA_BENCH_CUBLASLT)
        const products of = products_of(graph_);
        for (const cublaslt_format& f : cublaslt_formats) {
            const std::string name = std::string("cuBLASLt ") + f.name + ", products alone";
            if (of.others) {
                out_.missing[name] = "products with experts are none of its";
                continue;
            }
            try {
                libraries_.push_back(std::make_unique<cublaslt_products>(of, f, *s_.ring));
            } catch (const std::runtime_error& e) {
                out_.missing[name] = e.what();
                continue;
            }
            by_events(name, captured([this](cudaStream_t on) {
                          for (int i = 0; i < out_.copies; ++i) libraries_.back()->launch(on);
                      }));
        }
#endif
    }
};

measured_case gpu_bench::time(const std::string& kind, const model& m, const chain_case& c,
                              int columns) {
    state& s = *s_;
    measured_case out;
    out.kind = kind;
    out.model = c.model;
    out.name = c.name;
    out.columns = columns;
    out.floor_launches = c.floor_launches;
    const small_graph g = cut(m, c.nodes, columns);
    out.bytes = least_bytes(g);
    out.copies = copies_for(g, columns, s.gpu.l2CacheSize, s.arena.bytes);
    if (out.copies == 0) {
        out.missing["catena"] = "two copies need " + std::to_string(bytes_of_copies(g, 2)) +
                                " bytes of memory; give it more with --memory";
        return out;
    }
    auto all = std::make_unique<lineup>(s, c, g, out);
    try {
        all->add_all();
        all->run();
    } catch (const std::exception& e) {
        s.fail(out, e);
        if (s.broken) all.release();  // to free memory would wait for a kernel that may never end
    }
    return out;
}

std::vector<measured_case> gpu_bench::time_instance(int row) {
    try {
        return cases_of(row);
    } catch (const std::exception& e) {
        measured_case c;
        c.kind = "instance";
        c.name = row_name(s_->rows, row);
        c.instances = {c.name};
        s_->fail(c, e);
        return {c};
    }
}

std::vector<measured_case> gpu_bench::cases_of(int row) {
    state& s = *s_;
    if (!s.numbers) {
        s.numbers = std::make_unique<buffer>(arena_of_instances);
        bench::fill(*s.numbers, 1);
    }
    const std::vector<row_case> cases = row_cases(s.rows, row, *s.numbers, s.gpu.l2CacheSize);
    if (cases.empty()) return {};
    std::vector<std::unique_ptr<replay>> replays;
    std::vector<contender> contenders = s.sticks();
    for (const row_case& c : cases) {
        const int launches = std::max(64, c.what.sets);
        c.what.launch(s.stream, 0);  // loads the kernel, which a capture forbids
        replays.push_back(std::make_unique<replay>(c.what, launches, s.stream));
        replays.back()->try_out();
        contenders.push_back({c.what.name, [r = replays.back().get()] { return r->by_events(); }});
    }
    std::vector<std::string> library(cases.size());  // the peer's name, of those that have one
    std::map<std::string, std::string> refused;
#if defined(CATENA_BENCH_CUBLASLT)
    std::vector<std::unique_ptr<cublaslt_products>> libraries;
    const format weights = *s.rows.rows[row].computes.product().weights.begin();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (cases[i].plain.all.empty()) continue;
        const cublaslt_format& f = cublaslt_formats[weights == format::f16 ? 0 : 1];
        const std::string name = std::string("cuBLASLt ") + f.name;
        try {
            libraries.push_back(std::make_unique<cublaslt_products>(cases[i].plain, f, *s.ring));
        } catch (const std::runtime_error& e) {
            refused[name] = e.what();
            continue;
        }
        const int launches = std::max(64, cases[i].what.sets);
        replays.push_back(std::make_unique<replay>(
            [&, of = libraries.back().get()](cudaStream_t on) {
                for (int n = 0; n < launches; ++n) of->launch(on);
            },
            launches, s.stream));
        library[i] = name;
        contenders.push_back({cases[i].what.name + ", " + library[i],
                              [r = replays.back().get()] { return r->by_events(); }});
    }
#endif
    const auto times = contest(contenders, s.asked.rounds);
    std::size_t next = yardstick_count + cases.size();
    std::vector<measured_case> out;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        measured_case c;
        c.kind = "instance";
        c.name = cases[i].what.name;
        c.copies = cases[i].what.sets;
        c.launches = c.floor_launches = 1;
        c.bytes = cases[i].what.bytes;
        c.instances = {row_name(s.rows, cases[i].row)};
        c.predicted_us = cases[i].predicted_us;
        c.floor = s.floor_of(times);
        c.missing = refused;
        c.times["catena"] = times[i + yardstick_count];
        if (!library[i].empty()) c.times[library[i]] = times[next++];
        out.push_back(std::move(c));
    }
    return out;
}

}  // namespace catena::bench
