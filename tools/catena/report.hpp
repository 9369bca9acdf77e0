// Everything `catena explain` says about a graph and its plan, and the two ways to print it.
#pragma once

#include "count.hpp"
#include "peer.hpp"
#include "prediction.hpp"

#include "catena/engine/json.hpp"
#include "catena/pick/row.hpp"
#include "catena/runtime.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace catena::tool {

struct report {
    const json::graph& graph;
    arch target;  ///< of the GPU that is planned for
    catena::plan planned;
    explanation plan;  ///< of `planned`
    wishes wanted;
    progress done;
    peer_launches peer;
    prediction predicted;
};

/// Plans the graph for the table's GPU. Throws failure if nothing can be planned.
report make_report(const json::graph& g, const table& t, const options& asked = {});

/// The rows that were rejected for step i, "name: sentence" each.
std::vector<std::string> rejected(const report& r, std::size_t i);

/// `verbose` adds every rejected row of every step.
std::string as_json(const report& r, bool verbose);

/// Repeated steps and reasons are folded into one line each, with their count.
std::string as_text(const report& r, bool verbose);

}  // namespace catena::tool
