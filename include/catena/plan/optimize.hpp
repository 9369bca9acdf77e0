// Before the engine allocates: an order in which the members of a group stand together, so that the
// allocator cannot give one of them memory that is in use between them. It depends on topology
// alone: the same for every number of columns, with fusion on or off.
#pragma once

#include "catena/error/status.hpp"
#include "catena/match/graph.hpp"

#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// The engine's allocator must not reuse the memory of `tensor` before node `until` has run.
struct keep_alive {
    std::int32_t tensor = no_tensor;
    std::int32_t until = -1;  ///< position in the new order
};

/// What `optimize` returns.
struct ordering {
    status state;                     ///< why there is none: a malformed view
    std::vector<std::int32_t> order;  ///< order[i]: position in the view of the node to run i-th
    std::vector<keep_alive> keep;
    std::int64_t workspace_bound = 0;  ///< bytes that no plan of this topology exceeds, as long as
                                       ///< no size is larger than the view's
    std::int64_t peak_before = 0, peak_after = 0;  ///< bytes of all results that are alive together

    /// The view's nodes in the new order, for a graph_view of it.
    std::vector<std::int32_t> nodes(const graph_view& view) const {
        std::vector<std::int32_t> out;
        out.reserve(order.size());
        for (const std::int32_t i : order) out.push_back(view.nodes[i]);
        return out;
    }
};

struct own_ops;  // match/own_ops.hpp

/// The order to run and allocate a graph in. Nodes outside chains keep their relative order. `ops`:
/// those of the table that plans the graph (table::ops).
ordering optimize(const graph_view& view, const own_ops* ops = nullptr) noexcept;

}  // namespace CATENA_NAMESPACE
