// What the arrays of a table hold: rows, medians of rows on problems, and what a set prefers.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/chain/lowered.hpp"
#include "catena/kernel/policy.hpp"
#include "catena/match/own_ops.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {
/// How the policy of a row was found.
enum class provenance_kind : std::uint8_t { predicted, inherited, measured };
/// Where a row's policy comes from: the cost model, another arch's set, or a measurement on a GPU.
struct provenance {
    provenance_kind kind = provenance_kind::predicted;
    /// A tuner found the policy: the row is picked for problems that it has a median for, and the
    /// cost model never picks it.
    bool by_medians = false;
    const char* arch = "";  ///< inherited: from where
    const char* gpu = "";   ///< measured: on what
    const char* cuda = "";
    const char* date = "";
    double median_us = 0;
    double spread = 0;  ///< relative
};
/// What a warp of a matvec issues, counted in its machine code: for a stage of its ring, from the
/// fill to the product, with all columns of the policy, and for the results of a group of rows. Of
/// a stage, those of its product are as many as its values; the others are the same for any number.
/// Issues are cycles of a scheduler: one for each instruction, or two for each on the integer pipe
/// if that is more. Cycles are those of a warp that has its scheduler alone. 0: not on record.
struct warp_code {
    int stage_issues = 0, stage_cycles = 0, result_issues = 0, result_cycles = 0;
    int product_issues = 0, product_cycles = 0;
};
constexpr bool operator==(const warp_code& a, const warp_code& b) {
    return a.stage_issues == b.stage_issues && a.stage_cycles == b.stage_cycles &&
           a.result_issues == b.result_issues && a.result_cycles == b.result_cycles &&
           a.product_issues == b.product_issues && a.product_cycles == b.product_cycles;
}
/// One for each weight format of a kernel, in the order of its set. Those of a third and further
/// formats are not on record.
struct warp_codes {
    warp_code of[2] = {};
};
constexpr bool operator==(const warp_codes& a, const warp_codes& b) {
    return a.of[0] == b.of[0] && a.of[1] == b.of[1];
}
/// A compiled kernel, or one that could be: what it computes, and with which policy.
struct row {
    computation computes;
    catena::policy policy;
    /// Accumulation order. Rows of one order give the same bits for the same problem.
    std::uint32_t order = 0;
    int registers = 0;  ///< registers of a thread, as ptxas reports; 0: not compiled yet
    warp_codes code = {};
    provenance evidence;
};

/// A median of a row on a problem; see pick/measured.hpp.
struct measurement {
    std::uint64_t problem = 0;  ///< problem_key of the problem
    std::int32_t row = -1;      ///< index into the table's rows
    float median_us = 0;        ///< median of one launch in a graph
    float spread = 0;           ///< half the distance of the quartiles, relative
};

constexpr bool operator<(const measurement& a, const measurement& b) {
    return a.problem < b.problem;
}

/// What the engine's own kernels took for the work of some steps, and what those steps took, in
/// turns of one run.
struct engine_median {
    std::uint64_t steps = 0;  ///< sum of the steps' problem_keys
    float engine_us = 0, catena_us = 0;
};
constexpr bool operator<(const engine_median& a, const engine_median& b) {
    return a.steps < b.steps;
}

/// Matmuls of experts with which whole models read prompts more slowly than with the engine's own.
struct engine_verdict {
    format_set weights;                ///< formats of the weights: all are among these
    std::int32_t least = 0, most = 0;  ///< columns of an expert, if the ids spread evenly
    float ratio = 0;          ///< tokens a second with these matmuls, divided by those without
    const char* record = "";  ///< place of the record
};
/// Sizes of a problem: the elements of a row of the activation, the weight rows of all members or
/// the norm rows, and columns. 0: any.
struct problem_shape {
    std::int64_t k = 0, rows = 0, columns = 0;
};

/// A row that a set picks before all others for a shape, wherever it can run.
struct preferred_row {
    problem_shape of;
    std::int32_t row = -1;  ///< index into the table's rows
};

}  // namespace CATENA_NAMESPACE
