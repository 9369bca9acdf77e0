// What must hold between the tensors of a graph, once each of them has been read.
#pragma once

#include "catena/engine/json.hpp"

namespace CATENA_NAMESPACE::json {

/// Sizes that fit 64 bits, whole blocks, strides that keep apart what a node writes, views inside
/// their sources, shapes that fit their ops.
/// `view_offsets` are the fields "view_offs", by tensor.
void check_tensors(const graph& g, const std::vector<std::int64_t>& view_offsets);

/// Every source stands before its reader, and no tensor depends on itself.
void check_order(const graph& g);

}  // namespace CATENA_NAMESPACE::json
