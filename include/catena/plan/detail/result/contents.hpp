// The inside of a plan: what the writer stores, and what the functions of the plan read.
#pragma once

#include "catena/kernel/args.hpp"
#include "catena/pick/row.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/detail/owned.hpp"
#include "catena/plan/options.hpp"
#include "catena/plan/plan.hpp"
#include "catena/plan/step.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

/// One output of a group's step, and the chain that its epilogue makes the value of.
struct stored_member {
    matvec_member args;
    std::int32_t makes = -1;
};

/// matvec_args or matmul_args without the array of members; bands are tiles there.
struct stored_group {
    const void* x = nullptr;  ///< activation; null: it lies in the workspace
    std::int64_t x_bytes = 0;
    const float* norm_weight = nullptr;  ///< null: the launch makes no norm
    activation_gate gate;
    float* norm_f32 = nullptr;
    float eps = 0;
    const std::int32_t* ids = nullptr;
    std::int64_t ids_nb1 = 0;
    const float* slot_weights = nullptr;
    bool combined = false;
    route_args routing;       ///< routing of all tokens; tokens = 0: ids are given
    std::int32_t heads = -1;  ///< index into head_launches: what the results are as heads, or -1
    std::int32_t k = 0, columns = 0, slots = 1, x_slots = 1;
    std::int32_t x_rows = 0, experts = 0, bands = 0, dense_bands = 0;
    std::int32_t first_member = 0, members = 0;
};

/// Where a step's arguments are, and the first node of it that has an operand without an address.
struct stored_args {
    std::int32_t index = 0;  ///< index into the launches of the step's kind
    std::int32_t missing = -1;
};

struct plan_contents : detail::owned {
    table rows;
    options asked;
    status state;
    std::vector<node_plan> nodes;
    std::vector<std::int32_t> first_step_at;  ///< index into steps for each node, and the end
    std::vector<step> steps;
    std::vector<std::int32_t> covered;
    std::vector<planned_chain> chains;
    std::vector<left_over> left;
    std::vector<stored_args> args;  ///< arguments of each step
    std::vector<row_args> row_launches;
    std::vector<heads_args> head_launches;  ///< those of groups, too
    std::vector<route_args> route_launches;
    std::vector<stored_group> groups;
    std::vector<stored_member> members;
    std::vector<std::string> step_tensors;  ///< tensor that each step is called by, or empty
    std::int64_t workspace_bytes = 0;
    std::int32_t engine_launches = 0;
    plan_counters counters;
    /// If it takes over nodes that were written out: the plan of the view in which they are.
    std::optional<plan> written_out;
};

}  // namespace CATENA_NAMESPACE
