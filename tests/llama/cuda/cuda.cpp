// The real ggml-cuda on a GPU that runs nothing, with Catena in its sources and with the drop-in
// beside it: what libllama makes it launch, in which order and in which graphs. Answers mean
// nothing here.
#include "answers.hpp"
#include "gpu.hpp"
#include "loaded.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace catena_test;
using names = std::vector<std::string>;

bool is_catenas(const gpu_work& w) {
    return w.what == gpu_work::launch && w.kernel.rfind("catena_", 0) == 0;
}

/// What a conversation came to.
struct outcome {
    gpu_log gpu;
    std::vector<names> plans;  ///< the instances of their steps, in order
    long long walks = 0, plans_made = 0;
};

/// Instances as kernels are called, of each plan whose steps were logged.
std::vector<names> logged_plans(const std::string& log) {
    std::vector<names> out;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("catena sm_90: ", 0) == 0) out.emplace_back();
        if (line.find(" us predicted") == std::string::npos) continue;  // no step
        const std::size_t begin = line.rfind(": ") + 2;
        std::string name = "catena_" + line.substr(begin, line.find_first_of(" ,", begin) - begin);
        std::replace(name.begin(), name.end(), '.', '_');
        out.back().push_back(name);
    }
    return out;
}

/// Options that a library reads when it is loaded, and with Catena in its sources for each context.
struct logged_steps {
    variable steps{"CATENA_LOG", "steps"}, proof{"CATENA_VERIFY", "1"};
};

outcome converse(const found& library, const std::string& family) {
    the_gpu() = {};
    notes().clear();
    situation s;
    s.flash_attention = true;
    answers(family + ".gguf", {library.device()}, s);
    outcome out;
    out.gpu = the_gpu();
    out.plans = logged_plans(notes());
    const std::size_t at = notes().find(" walks by ");
    REQUIRE(at != std::string::npos);
    const std::size_t line = notes().rfind('\n', at) + 1;
    REQUIRE(std::sscanf(notes().c_str() + line, "catena: %lld walks by %lld plans", &out.walks,
                        &out.plans_made) == 2);
    CHECK(warnings().empty());
    CHECK(out.plans_made > 1);
    CHECK(static_cast<long long>(out.plans.size()) == out.plans_made);
    CHECK(out.gpu.fault.empty());
    return out;
}

/// How many whole plans these launches are, one behind the other; -1: they are something else.
long long whole_plans(const names& launched, const std::vector<names>& plans) {
    long long walks = 0;
    for (auto at = launched.begin(); at != launched.end(); ++walks) {
        const names* longest = nullptr;
        for (const names& p : plans)
            if (static_cast<std::size_t>(launched.end() - at) >= p.size() &&
                std::equal(p.begin(), p.end(), at) &&
                (longest == nullptr || p.size() > longest->size()))
                longest = &p;
        if (longest == nullptr || longest->empty()) return -1;
        at += static_cast<std::ptrdiff_t>(longest->size());
    }
    return walks;
}

names launches_of_catena(const std::vector<gpu_work>& all) {
    names out;
    for (const gpu_work& w : all)
        if (is_catenas(w)) out.push_back(w.kernel);
    return out;
}

int streams_of_launches(const std::vector<gpu_work>& all) {
    std::set<int> streams;
    for (const gpu_work& w : all)
        if (w.what == gpu_work::launch) streams.insert(w.stream);
    return static_cast<int>(streams.size());
}

constexpr int steps_of_conversation = 9;  // a prompt, six tokens, two batches

/// Each folder has a library of its own.
found by_source(const char* where) {
    return load(folder(
        where, {{CATENA_TEST_CPU, "libggml-cpu.so"}, {CATENA_TEST_BY_SOURCE, "libggml-cuda.so"}}));
}
found drop_in(const char* where) {
    return load(folder(where, {{CATENA_TEST_CPU, "libggml-cpu.so"},
                               {CATENA_TEST_GGML_CUDA, "libggml-cuda.so"},
                               {CATENA_TEST_DROP_IN, "libggml-cuda-catena.so"}}));
}

void launches_its_plans(const found& library) {
    const auto family = GENERATE(as<std::string>(), "llama", "qwen3moe", "gemma3", "gpt-oss");
    INFO(family);
    const outcome o = converse(library, family);
    const auto captures = static_cast<long long>(o.gpu.captures.size());
    const long long replays = o.gpu.graph_launches - captures;
    CHECK(captures > 0);
    CHECK(replays > 0);
    CHECK(o.walks + replays == steps_of_conversation);
    CHECK(whole_plans(launches_of_catena(o.gpu.work), o.plans) == steps_of_conversation);
    for (const auto& capture : o.gpu.captures)
        CHECK(whole_plans(launches_of_catena(capture), o.plans) == 1);
    CHECK(streams_of_launches(o.gpu.work) == 1);
}

}  // namespace

TEST_CASE("Catena in the sources of the real ggml-cuda launches its plans within the captures") {
    const logged_steps log;
    static const found f = by_source("by_source");
    REQUIRE(f.file() == "libggml-cuda.so");
    launches_its_plans(f);
}

TEST_CASE("ggml loads the drop-in in place of the ggml-cuda beside it, and it does the same") {
    const logged_steps log;
    static const found f = drop_in("drop_in");
    REQUIRE(f.file() == "libggml-cuda-catena.so");
    CHECK(f.log.empty());
    launches_its_plans(f);
}

TEST_CASE("Switched off, the drop-in leaves the GPU to the ggml-cuda beside it") {
    const variable off("GGML_CUDA_CATENA", "0");
    const found f = drop_in("switched_off");
    CHECK(f.file() == "libggml-cuda.so");
    CHECK(f.log.empty());
}

TEST_CASE("Switched off, the drop-in uses the GPU where there is no other ggml-cuda") {
    const variable off("GGML_CUDA_CATENA", "0");
    const found f = load(folder("alone", {{CATENA_TEST_CPU, "libggml-cpu.so"},
                                          {CATENA_TEST_DROP_IN, "libggml-cuda-catena.so"}}));
    REQUIRE(f.file() == "libggml-cuda-catena.so");
    the_gpu() = {};
    answers("llama.gguf", {f.device()}, {});
    CHECK(!the_gpu().work.empty());
    CHECK(launches_of_catena(the_gpu().work).empty());
}

TEST_CASE("Within CUDA graphs steps have no times, and the log says why") {
    const variable times("CATENA_LOG", "times");
    const found f = by_source("times");
    notes().clear();
    answers("qwen3moe.gguf", {f.device()}, {});
    INFO(notes());
    CHECK(warnings().empty());
    CHECK(notes().find("no times: the timer's stream is being captured") != std::string::npos);
    CHECK(the_gpu().fault.empty());
}
