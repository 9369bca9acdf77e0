// Everything `catena explain` says about a graph and its plan, and the two ways to print it.
#pragma once

#include "count.hpp"
#include "measured.hpp"
#include "peer.hpp"
#include "prediction.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/row.hpp"
#include "catena/runtime.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace catena::tool {

struct target_options;

struct report {
    const json::graph& graph;
    arch target;  ///< of the GPU that is planned for
    catena::plan planned;
    explanation plan;  ///< of `planned`
    wishes wanted;
    progress done;
    peer_launches peer;
    prediction predicted;
    std::optional<measured_plan> measured;  ///< if a record was named
};

/// Plans the graph for the table's GPU. Throws failure if nothing can be planned, or if the record
/// of launches is of another GPU.
report make_report(const json::graph& g, const table& t, const launch_record* measured = nullptr);

inline constexpr const char* measured_help =
    "Show the times that a record of launches has beside the predicted ones, such as "
    "bench/results/launches.h100.2026-11-26.json.gz. Without --arch the plan is for its GPU";

/// The record of a file; nothing if none is named. Throws failure. Without an arch or a GPU by name
/// the target becomes the record's.
std::optional<launch_record> record_and_target(const std::string& file, bool is_named,
                                               target_options& target);

/// The rows that were rejected for step i, "name: sentence" each.
std::vector<std::string> rejected(const report& r, std::size_t i);

/// `verbose` adds every rejected row of every step.
std::string as_json(const report& r, bool verbose);

/// Repeated steps and reasons are folded into one line each, with their count.
std::string as_text(const report& r, bool verbose);

}  // namespace catena::tool
