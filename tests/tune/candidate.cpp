// What the tuner compiles of a candidate, by nvcc: one kernel, by the name of its row.
#include "files.hpp"
#include "nvcc.hpp"
#include "registers.hpp"
#include "render_set.hpp"

#include "catena/pick/config.hpp"
#include "catena_test/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>

using namespace catena;
using namespace catena::generator;

TEST_CASE("nvcc makes one kernel of a candidate, with the symbol of its row") {
    const arch& sm_90 = *arch_named("sm_90");
    row candidate;
    candidate.computes.stages = stage_set::of(stage_kind::l2_norm);
    candidate.computes.emits = format_set::of(format::f32);
    candidate.policy = {.threads = 96, .values = 12, .vector = true};  // no set has these
    const instance_set set = {.target = &sm_90, .rows = {candidate}, .medians = {}, .engine = {}};
    const std::string scratch =
        (std::filesystem::temp_directory_path() / ("catena_candidate_" + std::to_string(getpid())))
            .string();
    write_text(scratch + ".cu", kernels_cu(set, skeleton::row, {}).content);
    const compiled_file made =
        compile(CATENA_NVCC, sm_90, {CATENA_SOURCE_DIR "/include"}, scratch + ".cu", scratch);
    std::filesystem::remove(scratch + ".cu");
    const std::vector<compiled_kernel> kernels = parse_ptxas(made.said);
    REQUIRE(kernels.size() == 1);
    CHECK(kernels[0].symbol == symbol(candidate, sm_90));
    CHECK(kernels[0].registers > 0);
    CHECK(made.cubin.size() > 1000);
}
