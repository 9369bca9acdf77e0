// What a graph costs at least: launches, and bytes that must move. The floor of its time, before a
// plan and after it.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/match/graph.hpp"
#include "catena/plan/explain.hpp"

#include <cstdint>

namespace catena::tool {

struct traffic {
    int launches = 0;
    std::int64_t bytes = 0;

    /// As many empty launches, and the bytes at full bandwidth.
    double attainable_us(const arch& a) const {
        return launches * a.node_us + static_cast<double>(bytes) / a.bytes_per_us;
    }
};

/// Every operand once. Of lookups the rows that are looked up, of experts as many matrices as there
/// are columns. A quantized matmul reads q8_1; 0 for a node that launches nothing.
std::int64_t node_bytes(const graph_view& g, const tensor& t);

/// The launch that quantizes the activation of such a matmul, of it alone.
std::int64_t quantize_bytes(const graph_view& g, const tensor& matmul);

/// Every node on its own, and a quantize before each quantized matmul.
traffic one_by_one(const graph_view& g);

/// The plan's steps, and the engine's nodes one by one.
traffic planned(const graph_view& g, const explanation& plan);

}  // namespace catena::tool
