#include "needed.hpp"

#include "shape.hpp"

#include "catena/plan/planner.hpp"
#include "catena/plan/step.hpp"

#include <stdexcept>

namespace catena::generator {

void keep_needed(std::vector<instance_set>& sets, const catalogue& all,
                 const std::vector<json::graph>& graphs) {
    for (instance_set& set : sets) {
        const table rows = described(set, all);
        std::vector<bool> picked(set.rows.size());
        for (const json::graph& graph : graphs) {
            const plan p = planner{rows}.plan(graph.view());
            if (!p.state().ok()) throw std::runtime_error(graph.file + ": " + p.state().message);
            if (p.steps().size() == 0)
                throw std::runtime_error(graph.file + ": a plan for " + set.target->name +
                                         " uses no chain of the catalogue: leave the graph out, or "
                                         "add a chain that fits it");
            for (const step& one : p.steps()) picked[static_cast<std::size_t>(one.row)] = true;
        }
        set = part_of(set, picked);
    }
}

std::vector<json::graph> graphs_of(const std::vector<std::string>& files,
                                   const std::vector<std::string>& shapes) {
    std::vector<json::graph> out;
    for (const std::string& file : files) out.push_back(json::read(file));
    for (const std::string& shape : shapes)
        out.push_back(tool::graph_of(tool::parse_shape(shape, "", "SHAPES")));
    return out;
}

}  // namespace catena::generator
