// What the tuner compiles of a candidate, by nvcc: one kernel, by the name of its row.
#include "code_cost.hpp"
#include "registers.hpp"

#include "catena/pick/config.hpp"
#include "catena_test/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

using namespace catena;
using namespace catena::evidence;
using namespace catena::generator;

TEST_CASE("nvcc makes one kernel of a candidate, with the symbol of its row") {
    const arch& sm_90 = *arch_named("sm_90");
    row candidate;
    candidate.computes.row().stages = stage_set::of(stage_kind::l2_norm);
    candidate.computes.row().emits = format_set::of(format::f32);
    candidate.policy = row_policy{.threads = 96, .values = 12, .vector = true};  // no set has these
    const std::filesystem::path scratch =
        std::filesystem::temp_directory_path() / ("catena_candidate_" + std::to_string(getpid()));
    const device_compiler by{CATENA_NVCC, {CATENA_SOURCE_DIR "/include"}};
    const compiled_file made = compile_alone(sm_90, candidate, by, scratch);
    CHECK_FALSE(std::filesystem::exists(scratch));
    const std::vector<compiled_kernel> kernels = parse_ptxas(made.said);
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].symbol == symbol_alone(sm_90, candidate, by.names));
    CHECK(kernels[0].registers > 0);
    CHECK(made.cubin.size() > 1000);
    CHECK(made.sass_bytes > 100);
    CHECK(made.seconds > 0);
}

TEST_CASE("nvcc makes a kernel of a candidate with ops of one's own, by the names of their set") {
    const arch& sm_90 = *arch_named("sm_90");
    row candidate;
    candidate.computes.row().stages = stage_kind::l2_norm | stage_kind::own;
    candidate.computes.row().emits = format_set::of(format::f32);
    candidate.computes.row().own = true;
    candidate.policy = row_policy{.threads = 96, .values = 12, .vector = true};
    const std::filesystem::path scratch =
        std::filesystem::temp_directory_path() / ("catena_own_" + std::to_string(getpid()));
    const device_compiler by{CATENA_NVCC,
                             {CATENA_SOURCE_DIR "/include"},
                             naming_of("my_ops", CATENA_SOURCE_DIR "/examples/own_ops/my_ops.hpp")};
    const auto kernels = parse_ptxas(compile_alone(sm_90, candidate, by, scratch).said);
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].symbol == symbol_alone(sm_90, candidate, by.names));
}
