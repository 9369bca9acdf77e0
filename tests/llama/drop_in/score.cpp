// When the drop-in for llama.cpp's binaries is loaded, on a CUDA runtime of the tests' own.
#include "../../launch/runtime.hpp"

#include "catena/pick/join.hpp"
#include "catena_test/catch.hpp"
#include "catena_test/invented.hpp"

#include <drop-in/score.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

using namespace catena_test;
using catena_drop_in::ggml_build;
using catena_drop_in::is_same;

catena::table catena::instances::sm_90() {
    static const char code[toy_row_count] = {};
    static const void* kernels[toy_row_count];
    for (int i = 0; i < toy_row_count; ++i) kernels[i] = code + i;
    table t = toy_table();
    t.target = arch_named("sm_90");
    t.kernels = kernels;
    t.launch = launch_cuda;
    return t;
}

namespace {

/// What Catena has logged.
std::string& logged() {
    static std::string all;
    return all;
}

/// A machine with an H100 and an RTX 3090, and a drop-in for this ggml with kernels of sm_90.
struct machine : two_gpus {
    const ggml_build mine{ggml_version(), ggml_commit()};
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / "catena_drop_in_score";

    machine() {
        runtime.devices = 2;
        std::filesystem::remove_all(folder);
        std::filesystem::create_directories(folder);
        logged().clear();
        ggml_log_set([](ggml_log_level, const char* text, void*) { logged() += text; }, nullptr);
    }
    ~machine() {
        ggml_log_set(nullptr, nullptr);
        unsetenv("GGML_CUDA_CATENA");
        std::filesystem::remove_all(folder);
    }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;

    int score() const { return catena_drop_in::score(mine, folder); }
    void steps_aside(const std::string& reason) const {
        CHECK(score() == 0);
        CHECK(logged().rfind("catena: the drop-in steps aside: ", 0) == 0);
        CHECK_THAT(logged(), Catch::Contains(reason));
        CHECK(logged().find('\n') == logged().size() - 1);
    }
};

}  // namespace

TEST_CASE_METHOD(machine, "the drop-in is loaded where it has kernels for a GPU", "[drop_in]") {
    CHECK(score() == 1);
    std::swap(runtime.of_device[0], runtime.of_device[1]);
    CHECK(score() == 1);
    CHECK(logged().empty());
}

TEST_CASE_METHOD(machine, "the drop-in steps aside without a GPU that it has kernels for",
                 "[drop_in]") {
    SECTION("if all are too old") {
        runtime.of_device[0] = runtime.of_device[1];
        steps_aside("no instances run on CUDA device 0 (sm_86)");
        CHECK_THAT(logged(), Catch::Contains("no instances run on CUDA device 1 (sm_86)"));
    }
    SECTION("if there is none") {
        runtime.devices = 0;
        steps_aside("CUDA has no GPU");
    }
    SECTION("if CUDA does not work") {
        runtime.sticky = cudaErrorInsufficientDriver;
        steps_aside("broken");
    }
}

TEST_CASE_METHOD(machine, "the drop-in steps aside in another ggml", "[drop_in]") {
    CHECK(catena_drop_in::score({"0.1.2", "8e9fd0d"}, folder) == 0);
    CHECK_THAT(logged(), Catch::Contains("it was built for ggml 0.1.2 (8e9fd0d), and this is " +
                                         mine.version + " (" + mine.commit + ")"));
    CHECK(runtime.calls == 0);
}

TEST_CASE_METHOD(machine, "switched off, the drop-in leaves the GPU to the library beside it",
                 "[drop_in]") {
    setenv("GGML_CUDA_CATENA", "0", 1);
    CHECK(score() == 1);
    std::ofstream(folder / "libggml-cuda.so") << "a library";
    CHECK(score() == 0);
    CHECK(logged().empty());
}

TEST_CASE("a drop-in is for one commit of ggml", "[drop_in]") {
    CHECK(is_same({"0.25.3", "8e9fd0d"}, {"0.25.3", "8e9fd0d"}));
    CHECK(is_same({"0.25.3", "8e9fd0d"}, {"0.25.3", "8e9fd0d12-dirty"}));
    CHECK(is_same({"0.25.3", "unknown"}, {"0.25.3", "8e9fd0d"}));
    CHECK_FALSE(is_same({"0.25.3", "8e9fd0d"}, {"0.25.3", "8e9fd1d"}));
    CHECK_FALSE(is_same({"0.25.3", "unknown"}, {"0.25.4", "unknown"}));
}

TEST_CASE("a device is served unless an option or the order of the nodes forbids it", "[drop_in]") {
    const catena::table rows = toy_table();
    CHECK(catena::ggml::can_serve(rows, {}).ok());
    catena::options wrong;
    wrong.state = catena::failure(catena::status_code::invalid_argument, "an option is wrong");
    CHECK_THAT(catena::ggml::can_serve(rows, wrong).message, Catch::Contains("an option"));
    setenv("GGML_CUDA_GRAPH_OPT", "1", 1);
    CHECK_THAT(catena::ggml::can_serve(rows, {}).message, Catch::Contains("GGML_CUDA_GRAPH_OPT"));
    unsetenv("GGML_CUDA_GRAPH_OPT");
}
