#include "small.hpp"

#include "../replay.hpp"

#include <algorithm>

namespace catena_test {

namespace {

std::size_t at(id t) { return static_cast<std::size_t>(t); }

/// The graph without one node: if it is read, its result is a leaf.
small_graph without(const small_graph& g, std::size_t node) {
    small_graph out = g;
    const id gone = g.nodes[node];
    out.nodes.erase(out.nodes.begin() + static_cast<std::ptrdiff_t>(node));
    catena::tensor& t = out.tensors[at(gone)];
    for (id& s : t.src) {
        if (s == catena::no_tensor) continue;
        if (catena::tensor& x = out.tensors[at(s)]; x.uses > 0) --x.uses;
        s = catena::no_tensor;
    }
    t.kind = op::none;
    t.view_src = catena::no_tensor;
    out.workspace_bound = -1;
    return out;
}

}  // namespace

std::string fault_of(const small_graph& g, const catena::plan& plan) {
    const catena::graph_view view = g.view();
    if (!plan.state().ok()) return plan.state().message;
    if (std::string d = inconsistency(view, plan); !d.empty()) return d;
    if (g.workspace_bound >= 0 && plan.workspace_bytes() > g.workspace_bound)
        return "the workspace exceeds its bound";
    return difference(view, plan);
}

small_graph shrunk(small_graph g, const catena::planner& planner) {
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (std::size_t n = g.nodes.size(); n-- > 0;) {
            small_graph less = without(g, n);
            if (fault_of(less, planner.plan(less.view())).empty()) continue;
            g = std::move(less);
            smaller = true;
        }
    }
    return g;
}

}  // namespace catena_test
