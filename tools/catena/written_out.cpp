#include "written_out.hpp"

#include "catena/match/moe_ffn.hpp"
#include "catena/runtime.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena::tool {

json::graph in_nodes(const json::graph& g, const table& t) {
    std::vector<std::uint8_t> taken = moe_ffns(g.view());
    if (taken.empty()) return g;
    const plan p = planner{t}.plan(g.view());
    for (std::size_t i = 0; i < taken.size(); ++i)
        if (p.at(static_cast<int>(i)).role == role::engine) taken[i] = 0;
    written_out nodes;
    nodes.build(g.view(), taken);
    const graph_view view = nodes.view();
    json::graph out = g;
    out.tensors.assign(view.tensors, view.tensors + view.tensor_count);
    out.nodes.assign(view.nodes, view.nodes + view.node_count);
    return out;
}

}  // namespace catena::tool
