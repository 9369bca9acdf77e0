// How long ggml-cuda takes for a graph, by a model of its launches. The floor lets each kernel read
// at full bandwidth from its first cycle on; here each waits for the one before it, too.
#pragma once

#include "peer.hpp"
#include "traffic.hpp"

#include "catena/pick/cost.hpp"

namespace catena::bench {

/// Its kernels touch nothing before the last one has ended: so each takes an empty node, the way of
/// a read, and its bytes.
inline double peer_us(const arch& a, int launches, double bytes) {
    return launches * (a.node_us + detail::loaded_latency_us) + bytes / a.bytes_per_us;
}

/// The time of a whole graph.
inline double peer_us(const arch& a, const graph_view& g) {
    return peer_us(a, tool::count_peer(g).launches, static_cast<double>(tool::one_by_one(g).bytes));
}

}  // namespace catena::bench
