// Graph files: a compute graph as JSON (plain or gzip), read into tensors and a graph view. For
// tools and tests; link catena::json. Whatever is wrong with a file is an `error` that says where
// and what was expected.
//
//   {"version", "model", "arch", "source", "case", "quant", "flash_attn",
//    "tensors": [{"id", "name", "op", "sub", "type", "ne": [4], "nb": [4], "src": [ids or null],
//                 "view_src": id or null, "view_offs", "params": [signed 32-bit words], "flags",
//                 "weight": bool, "buf": buffer number or -1, "off": byte offset in it,
//                 "alloc": bytes set aside from there on}],
//    "nodes": [ids in execution order]}
#pragma once

#include "catena/match/graph.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CATENA_NAMESPACE::json {

/// what() is one sentence: file, tensor, field, what was expected and what was found.
struct error : std::runtime_error {
    /// `tensor` and `field` as in the members; `sentence` says what was expected and found.
    error(const std::string& file, std::int32_t tensor, const std::string& field,
          const std::string& sentence);

    std::int32_t tensor;  ///< its id, or no_tensor when the fault is not in a tensor
    std::string field;    ///< "ne", "nodes", ...; empty when the fault is not in a field
};

/// A graph that was read. It owns its tensors and their names.
struct graph {
    std::string file, model, arch, quant, case_name;
    std::vector<tensor> tensors;      ///< index = id
    std::vector<std::int32_t> nodes;  ///< ids in execution order
    std::vector<std::string> notes;   ///< what was read but is not known: types and ops, by name
    std::shared_ptr<const std::vector<char>> text;  ///< the storage of every name in `tensors`

    /// All nodes. It lives as long as the graph stays unchanged.
    graph_view view() const { return slice(0, static_cast<int>(nodes.size())); }

    /// The nodes [first, last). The tensors stay those of the whole file, and so do their use
    /// counts.
    graph_view slice(int first, int last) const {
        return {tensors.data(), static_cast<std::int32_t>(tensors.size()), nodes.data() + first,
                last - first};
    }
};

/// Reads and checks a file. `uses` of a tensor counts the source edges of the whole file. A tensor
/// of an unknown type or op is kept as format::unknown or op::other and noted. Throws `error`.
graph read(const std::string& path);

/// Reads and checks the JSON text of a graph file; `name` stands for the file in errors.
graph parse(std::string_view text, const std::string& name);

}  // namespace CATENA_NAMESPACE::json
