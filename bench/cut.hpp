// A cut of a real model's graph: some of its nodes and all that they read, as a graph of its own
// for any number of tokens. Benchmarks and their peers compute cuts, so shapes are never typed.
#pragma once

#include "catena/engine/json.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace catena::bench {

/// One model, for one token and for four. Node for node the two files hold the same ops; whatever
/// number differs between them grows with the tokens.
struct model {
    json::graph one, four;

    /// Reads NAME.tg1.json.gz and NAME.b4.json.gz. Throws json::error, or std::runtime_error where
    /// the two are not one model.
    static model read(const std::string& folder, const std::string& name);
};

/// A graph without memory yet: `data` of every tensor is null, and so is `buffer` unset.
struct small_graph {
    std::vector<tensor> tensors;
    std::vector<std::int32_t> nodes;
    std::vector<std::int64_t> view_offset;  ///< per tensor: bytes from its view_src

    graph_view view() const { return slice(0, static_cast<int>(nodes.size())); }
    graph_view slice(int first, int last) const {
        return {tensors.data(), static_cast<std::int32_t>(tensors.size()), nodes.data() + first,
                last - first};
    }
};

/// The nodes at `positions` (ascending) and those that only rename memory between them, for so many
/// tokens. What they read of others becomes a leaf of the same shape and strides. `uses` of a
/// tensor still counts the readers of the whole model, so what had to be written there has to be
/// written here.
small_graph cut(const model& m, const std::vector<std::int32_t>& positions, int tokens);

/// A value that somebody outside the cut reads.
bool leaves_the_cut(const small_graph& g, std::int32_t tensor);

/// What any implementation must move: every leaf read once, of experts the ones that are used, and
/// every value that leaves the cut written once.
double least_bytes(const small_graph& g);

/// The matrix products of a cut, as any library knows them: [rows, k] times [k, columns].
struct product {
    std::int64_t rows = 0, k = 0, columns = 0;
    bool operator==(const product&) const = default;
};
struct products {
    std::vector<product> all;
    bool others = false;  ///< it has products with experts or batches, which are not listed
};
products products_of(const small_graph& g);

/// The cut with its large dimensions divided by about eight, for computers without a GPU: equal
/// sizes stay equal. Throws std::runtime_error for a cut with views whose shape this would break.
small_graph shrunk(small_graph g);

}  // namespace catena::bench
