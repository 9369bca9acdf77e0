// The plug-in around ggml's CPU backend, in libllama as it is: what ggml loads, that models decode
// right, and when the plug-in steps aside.
#include "answers.hpp"
#include "device.hpp"
#include "loaded.hpp"

#include "catena/instances/sm_90.hpp"
#include "catena_test/catch.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

using namespace catena_test;

constexpr const char *cpu = "libggml-cpu.so", *plugin = "libggml-cpu-catena.so";

/// The first that is loaded: what libllama uses for itself.
const found& stock() {
    static const found f = load(folder("stock", {{CATENA_TEST_CPU, cpu}}));
    return f;
}

const found& with_catena() {
    stock();
    static const found f =
        load(folder("catena", {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_PLUGIN, plugin}}));
    return f;
}

std::string names_of_chains() {
    std::string out;
    const catena::table t = catena::instances::sm_90();
    for (int i = 0; i < t.chain_count; ++i)
        out += (out.empty() ? "" : ",") + std::string(t.chains[i].name);
    return out;
}

/// Nodes that the plug-in did, by the line that it writes at the end.
long long nodes_done() {
    long long nodes = 0;
    const std::size_t before = notes().find("plans: ");
    REQUIRE(before != std::string::npos);
    REQUIRE(std::sscanf(notes().c_str() + before, "plans: %lld nodes", &nodes) == 1);
    return nodes;
}

void steps_aside(const fs::path& where, const std::string& instead, const std::string& reason) {
    stock();
    const found f = load(where);
    CHECK((f.registry == nullptr ? "" : f.file()) == instead);
    INFO(f.log);
    CHECK(f.log.find(reason) != std::string::npos);
    CHECK(std::count(f.log.begin(), f.log.end(), '\n') == (reason.empty() ? 0 : 1));
}

}  // namespace

TEST_CASE("ggml loads the plug-in in place of the library beside it") {
    CHECK(stock().file() == cpu);
    const found& f = with_catena();
    REQUIRE(f.registry != nullptr);
    CHECK(f.file() == plugin);
    CHECK(f.log.empty());
    CHECK(ggml_backend_reg_name(f.registry) == std::string("CPU"));
    REQUIRE(ggml_backend_reg_dev_count(f.registry) == 1);
    CHECK(ggml_backend_dev_name(f.device()) == std::string("CPU"));
    CHECK(ggml_backend_dev_backend_reg(f.device()) == f.registry);
    CHECK(ggml_backend_dev_type(f.device()) == GGML_BACKEND_DEVICE_TYPE_CPU);
    for (const char* name : {"ggml_backend_set_n_threads", "ggml_backend_get_features",
                             "ggml_backend_cpu_numa_init", "ggml_backend_comm_init"})
        CHECK((ggml_backend_reg_get_proc_address(f.registry, name) != nullptr) ==
              (ggml_backend_reg_get_proc_address(stock().registry, name) != nullptr));
}

TEST_CASE("Models decode with the plug-in as with a device that plans by itself") {
    situation s;
    s.experts_used = 8;
    const auto family = GENERATE(as<std::string>(), "llama", "qwen3moe", "gemma3", "gpt-oss");
    s.flash_attention = family == "llama" || family == "gpt-oss";
    const auto exact = answers(family + ".f32.gguf", {stock().device()}, s);
    const double of_ggml = worst_error(answers(family + ".gguf", {stock().device()}, s), exact);
    notes().clear();
    const auto ours = answers(family + ".gguf", {with_catena().device()}, s);
    INFO(family << ": error " << worst_error(ours, exact) << ", of ggml's " << of_ggml);
    CHECK(worst_error(ours, exact) <= 3 * of_ggml);
    CHECK(nodes_done() > 0);
    CHECK(warnings().empty());
    CHECK(ours == answers(family + ".gguf", {sm_90_device()}, s));
}

TEST_CASE("The plug-in keeps the order of streams, on one GPU and on two") {
    stock();
    static const found f = load(folder("gpus", {{CATENA_TEST_GPUS, "libggml-cuda.so"},
                                                {CATENA_TEST_PLUGIN, "libggml-cuda-catena.so"}}));
    REQUIRE(f.file() == "libggml-cuda-catena.so");
    REQUIRE(ggml_backend_reg_dev_count(f.registry) == 2);
    CHECK(ggml_backend_dev_name(f.device(1)) == std::string("CUDA1"));
    devices on = {f.device(0)}, direct = {sm_90_device(0)};
    SECTION("one") {}
    SECTION("two") {
        on.push_back(f.device(1));
        direct.push_back(sm_90_device(1));
    }
    notes().clear();
    const auto ours = answers("qwen3moe.gguf", on, {});
    CHECK(nodes_done() > 0);
    CHECK(warnings().empty());
    CHECK(ours == answers("qwen3moe.gguf", direct, {}));
}

TEST_CASE("What the plug-in does not take has the bits of the library beside it") {
    stock();
    const variable all_chains("CATENA_CHAINS_OFF", names_of_chains().c_str());
    static const found f =
        load(folder("chains_off", {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_PLUGIN, plugin}}));
    REQUIRE(f.file() == plugin);
    const auto family = GENERATE(as<std::string>(), "llama", "qwen3moe");
    notes().clear();
    CHECK(answers(family + ".gguf", {f.device()}, {}) ==
          answers(family + ".gguf", {stock().device()}, {}));
    CHECK(nodes_done() == 0);
}

TEST_CASE("The plug-in steps aside") {
    SECTION("without the library that it wraps") {
        steps_aside(folder("alone", {{CATENA_TEST_PLUGIN, plugin}}), "", "libggml-cpu.so: cannot");
    }
    SECTION("if that is no backend") {
        const fs::path f = folder("no_backend", {{CATENA_TEST_PLUGIN, plugin}});
        std::ofstream(f / cpu) << "no library";
        steps_aside(f, "", "libggml-cpu.so: ");
    }
    SECTION("in another version of ggml") {
        steps_aside(folder("version", {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_OTHER_PLUGIN, plugin}}),
                    cpu, "built for ggml 0.1.2");
    }
    SECTION("under another name") {
        steps_aside(folder("name-catena",
                           {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_PLUGIN, "libggml-cpu-other.so"}}),
                    cpu, "libggml-NAME-catena.so");
    }
    SECTION("if the nodes are reordered after it has planned") {
        const variable v("GGML_CUDA_GRAPH_OPT", "1");
        steps_aside(folder("order", {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_PLUGIN, plugin}}), cpu,
                    "GGML_CUDA_GRAPH_OPT=1");
    }
    SECTION("if a variable cannot be followed") {
        const variable v("CATENA_MAX_COLUMNS", "many");
        steps_aside(folder("options", {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_PLUGIN, plugin}}), cpu,
                    "CATENA_MAX_COLUMNS");
    }
    SECTION("silently if it is switched off") {
        const variable v("GGML_CUDA_CATENA", "0");
        steps_aside(folder("off", {{CATENA_TEST_CPU, cpu}, {CATENA_TEST_PLUGIN, plugin}}), cpu, "");
    }
#ifdef CATENA_TEST_GGML_CUDA
    SECTION("if the real ggml-cuda does not find a driver, and the CPU goes on") {
        if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) return;
        const fs::path f =
            folder("no_driver", {{CATENA_TEST_CPU, cpu},
                                 {CATENA_TEST_GGML_CUDA, "libggml-cuda.so"},
                                 {CATENA_TEST_CUDA_PLUGIN, "libggml-cuda-catena.so"}});
        steps_aside(f, cpu, "libcuda.so.1: cannot open shared object file");
    }
#endif
#ifdef CATENA_TEST_CUDA_PLUGIN
    SECTION("on a machine without a GPU") {
        const fs::path f = folder("cuda", {{CATENA_TEST_CPU, "libggml-cuda.so"},
                                           {CATENA_TEST_CUDA_PLUGIN, "libggml-cuda-catena.so"}});
        steps_aside(f, "libggml-cuda.so", "no GPU of CUDA's");
    }
#endif
}
