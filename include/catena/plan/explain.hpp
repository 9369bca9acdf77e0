// A plan in plain structs, for a report: what was found, what runs and what stayed with the engine.
// It is self-contained; nothing in it points into a graph or a plan. The rows that were rejected
// for a step are many times as large: plan::choice_of makes them for one step.
#pragma once

#include "catena/error/status.hpp"
#include "catena/match/reason.hpp"
#include "catena/plan/step.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE {

/// A chain that was found, and the steps that make and read its value.
struct explained_chain : chain_place {
    std::string name;
    std::vector<std::int32_t> served;  ///< nodes of the steps that read it
    std::vector<std::int32_t> steps;   ///< its row step, if it has one, and those that read it

    norm_placement placement = norm_placement::producer;  ///< place where the norm is made
    std::string norm_apart;  ///< reason why the readers' launch does not make the norm; empty: it
                             ///< does, or there is no norm

    bool inside = false;         ///< the group that reads it makes it
    bool from_epilogue = false;  ///< another activation's group makes it

    /// Quantized by a step that does nothing else.
    bool standalone() const { return stages.empty() && made_by >= 0 && !inside && !from_epilogue; }
};

/// One launch of Catena. Bytes are those of its operands, each once; times are microseconds.
struct explained_step {
    std::int32_t chain = -1;          ///< index into explanation::chains: made (row) or read
    std::vector<std::int32_t> makes;  ///< chains whose values its epilogues quantize
    std::string instance;             ///< the picked row's name
    std::int32_t launch_at = -1;
    std::vector<std::int32_t> nodes;  ///< positions that it covers
    problem what;
    launch_config config;
    std::int64_t bytes = 0;
    double predicted_us = 0;
    double attainable_us = 0;  ///< one launch and the bytes at full bandwidth
};

/// A node that could have been part of a step, and why it is not (or not of a larger one).
struct left_node {
    std::int32_t node = -1;
    reason why = reason::none;
    std::string sentence;
};

/// What plan::explain returns; plan/explain_text.hpp prints it.
struct explanation {
    status state;           ///< reason why there is no plan, if there is none
    std::string arch, gpu;  ///< architecture and GPU of the plan
    std::int32_t nodes = 0;
    std::vector<explained_chain> chains;
    std::vector<explained_step> steps;
    std::vector<left_node> not_fused;  ///< nodes in their order
    std::int32_t launches = 0;         ///< launches of Catena, one for each step
    std::int32_t engine_launches = 0;  ///< nodes left to the engine that launch something
    std::int64_t bytes = 0;            ///< bytes that all steps move at least
    double attainable_us = 0;          ///< sum over all steps
    std::int64_t workspace_bytes = 0;
};

}  // namespace CATENA_NAMESPACE
