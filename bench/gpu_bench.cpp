#include "gpu_bench.hpp"

#include "cases.hpp"
#include "gpu_state.hpp"
#include "planned.hpp"
#include "results.hpp"
#include "yardsticks.hpp"

#include "catena/pick/name.hpp"

#if defined(CATENA_BENCH_GGML)
#include "ggml_peer.hpp"
#endif

#include <chrono>
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

void require(const status& s, const std::string& of) {
    if (!s.ok()) throw std::runtime_error(of + ": " + s.message);
}

/// A captured graph; its time is that of `parts` equal things.
class replay {
  public:
    replay(const std::function<void(cudaStream_t)>& launches, double parts, cudaStream_t stream)
        : parts_(parts), stream_(stream) {
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin capture");
        launches(stream);
        cudaGraph_t graph = nullptr;
        check(cudaStreamEndCapture(stream, &graph), "end capture");
        check(cudaGraphInstantiate(&exec_, graph, 0), "instantiate the graph");
        check(cudaGraphDestroy(graph), "destroy the graph");
        check(cudaEventCreate(&from_), "create an event");
        check(cudaEventCreate(&to_), "create an event");
    }
    replay(const replay&) = delete;
    replay& operator=(const replay&) = delete;
    ~replay() {
        cudaGraphExecDestroy(exec_);
        cudaEventDestroy(from_);
        cudaEventDestroy(to_);
    }

    double by_events() const { return replay_us(exec_, stream_, from_, to_) / parts_; }
    void queue() const { check(cudaGraphLaunch(exec_, stream_), "replay"); }
    void wait() const { check(cudaStreamSynchronize(stream_), "synchronize"); }
    double parts() const { return parts_; }

  private:
    double parts_;
    cudaStream_t stream_;
    cudaGraphExec_t exec_ = nullptr;
    cudaEvent_t from_ = nullptr, to_ = nullptr;
};

/// Microseconds of one `queue` by the host's clock: what more of them take, so that beginning and
/// waiting cancel.
template <class Queue, class Wait>
double by_host_clock(Queue&& queue, Wait&& wait) {
    constexpr int few = 4, many = 16;
    const auto run = [&](int times) {
        wait();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < times; ++i) queue();
        wait();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count();
    };
    const double few_us = run(few);
    return (run(many) - few_us) / (many - few);
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
    std::unique_ptr<replay> empty, read;
    double read_bytes = 0;
    std::map<std::string, std::string> missing;
    std::string peer = "ggml-cuda";
#if defined(CATENA_BENCH_GGML)
    std::unique_ptr<ggml_device> ggml;
#endif
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
    check(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking), "create a stream");
    s.moved = std::make_unique<buffer>(yardstick_bytes);
    bench::fill(*s.moved, 1);
    const std::vector<timed> sticks = yardsticks(*s.moved, s.gpu.multiProcessorCount);
    const auto repeated = [&](const timed& what, int times) {
        return std::make_unique<replay>(
            [&](cudaStream_t on) {
                for (int i = 0; i < times; ++i) what.launch(on, 0);
            },
            times, s.stream);
    };
    s.empty = repeated(sticks[0], 128);
    s.read = repeated(sticks[1], 8);
    s.read_bytes = sticks[1].bytes;
}

gpu_bench::~gpu_bench() {
    s_->empty.reset();
    s_->read.reset();
    if (s_->stream != nullptr) cudaStreamDestroy(s_->stream);
}

measured_on gpu_bench::where() const {
    measured_on m = state_of_gpu(s_->gpu.name);
    m.method = method;
#if defined(CATENA_BENCH_GGML)
    if (s_->ggml) m.ggml = ggml_description() + " on " + s_->ggml->name();
#endif
    return m;
}

std::map<std::string, std::string> gpu_bench::missing_peers() const { return s_->missing; }

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
    out.copies = copies_for(g, s.gpu.l2CacheSize, s.arena.bytes);
    if (out.copies == 0) {
        out.missing["catena"] = "two copies need " + std::to_string(bytes_of_copies(g, 2)) +
                                " bytes of memory; give it more with --memory";
        return out;
    }
    const std::vector<small_graph> copies = place_copies(g, out.copies, s.arena);

    std::vector<contender> contenders = {{"empty node", [&s] { return s.empty->by_events(); }},
                                         {"read", [&s] { return s.read->by_events(); }}};
    const planned_copies fused(copies, s.rows), alone(copies, s.rows, false);
    out.launches = fused.launches_of_one();
    out.instances = fused.instances();
    const buffer workspace(static_cast<std::size_t>(
        std::max<std::int64_t>(std::max(fused.workspace_bytes(), alone.workspace_bytes()), 256)));
    const auto launched = [&](const planned_copies& p) {
        return std::make_unique<replay>(
            [&](cudaStream_t on) { require(p.launch(on, workspace.data()), c.name); }, out.copies,
            s.stream);
    };

    std::vector<std::vector<float>> expected;
#if defined(CATENA_BENCH_GGML)
    std::unique_ptr<ggml_copies> peer;
    if (s.ggml) {
        try {
            peer = std::make_unique<ggml_copies>(*s.ggml, copies);
            poison_results(copies[0], s.arena);
            for (int i = 0; i < 3; ++i) peer->compute();  // it captures what it has seen twice
            peer->synchronize();
            expected = read_results(copies[0], s.arena);
        } catch (const std::runtime_error& e) {
            peer.reset();
            out.missing[s.peer] = e.what();
        }
    }
    if (peer)
        contenders.push_back({s.peer, [&] {
                                  return by_host_clock([&] { peer->compute(); },
                                                       [&] { peer->synchronize(); }) /
                                         out.copies;
                              }});
#endif

    std::unique_ptr<replay> ours, apart;
    if (fused.left().empty()) {
        ours = launched(fused);
        poison_results(copies[0], s.arena);
        ours->queue();
        ours->wait();
        if (!expected.empty()) {
            out.nmse = worst_nmse(expected, read_results(copies[0], s.arena));
            out.wrong = !(out.nmse <= allowed_nmse * c.values);
        }
    }
    if (out.wrong) {
        out.missing["catena"] =
            "computes something else than ggml: NMSE " + std::to_string(out.nmse);
    } else if (ours) {
        contenders.push_back({"catena", [&] { return ours->by_events(); }});
        contenders.push_back(
            {"catena, host clock", [&] {
                 return by_host_clock([&] { ours->queue(); }, [&] { ours->wait(); }) / out.copies;
             }});
        seed_results(copies[0], s.arena);  // without a step's norm its product reads what is there
        apart = launched(alone);
        contenders.push_back({"catena, matmuls alone", [&] { return apart->by_events(); }});
    } else {
        out.missing["catena"] = "leaves to the engine: " + fused.left();
    }

    const auto times = contest(contenders, s.asked.rounds);
    out.floor.empty_node_us = times[0].median;
    out.floor.read_bytes_per_us = s.read_bytes / times[1].median;
    for (std::size_t i = 2; i < contenders.size(); ++i) out.times[contenders[i].name] = times[i];
    return out;
}

std::vector<measured_case> gpu_bench::time_instances() {
    state& s = *s_;
    const buffer arena(std::size_t{2} << 30);
    bench::fill(arena, 1);
    const std::vector<row_case> cases = row_cases(s.rows, arena, s.gpu.l2CacheSize);
    std::vector<std::unique_ptr<replay>> replays;
    std::vector<contender> contenders = {{"empty node", [&s] { return s.empty->by_events(); }},
                                         {"read", [&s] { return s.read->by_events(); }}};
    for (const row_case& c : cases) {
        const int launches = std::max(64, c.what.sets);
        replays.push_back(std::make_unique<replay>(
            [&](cudaStream_t on) {
                for (int i = 0; i < launches; ++i) c.what.launch(on, i % c.what.sets);
            },
            launches, s.stream));
        contenders.push_back({c.what.name, [r = replays.back().get()] { return r->by_events(); }});
    }
    const auto times = contest(contenders, s.asked.rounds);
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
        c.floor = {times[0].median, s.read_bytes / times[1].median};
        c.times["catena"] = times[i + 2];
        out.push_back(std::move(c));
    }
    return out;
}

}  // namespace catena::bench
