#include "chains.hpp"

#include "copies.hpp"

#include "catena/plan/step.hpp"
#include "catena/runtime.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

namespace catena::bench {
namespace {

using positions = std::set<std::int32_t>;

catena::plan planned(const model& m, const table& rows) {
    catena::plan p = planner{rows}.plan(m.one.view());
    if (!p.state().ok())
        throw std::runtime_error(m.one.file + " cannot be planned: " + p.state().message);
    return p;
}

/// Float weights are in no chain: with more columns than a matvec has they are the engine's.
/// A layer has the router that makes its norm.
bool of_float_weights(const step& s) {
    return s.what.kind() != skeleton::row && has_float_weights(s.what.product().needs.weights);
}

/// No case deals positions and rows of a cache.
bool of_heads(const step& s) {
    return s.what.kind() == skeleton::row && has_heads(s.what.row().needs.stages);
}

/// Does the node add up the slots of a token's experts, in the launch that makes these? It is in
/// nobody's time: of many columns that is not done without the norm behind.
bool of_sum(const step& s, const tensor& t) {
    return combined(s.what) && (t.kind == op::add || t.kind == op::mul);
}

/// A chain of the plan, and what names it.
struct found {
    positions nodes;
    std::string kind, matrices;
    bool gates = false;   ///< a norm whose products a GLU takes
    bool gated = false;   ///< the value is a GLU's
    bool logits = false;  ///< the model's last matmul
};

std::string size_of(const tensor& weight) {
    std::string s = std::to_string(weight.ne[1]) + "x" + std::to_string(weight.ne[0]);
    return weight.ne[2] > 1 ? s + "x" + std::to_string(weight.ne[2]) : s;
}

found look_at(const model& m, const catena::plan& p, std::size_t chain) {
    const planned_chain& c = p.chains()[chain];
    const graph_view g = m.one.view();
    found f;
    if (!c.stages.empty() && c.made_by >= 0)
        for (const std::int32_t at : p.covered(p.steps()[static_cast<std::size_t>(c.made_by)]))
            f.nodes.insert(at);
    bool experts = false;
    positions products;
    std::map<std::string, std::string> matrices;  // by format
    for (const step& s : p.steps()) {
        if (s.chain != static_cast<std::int32_t>(chain) || of_float_weights(s)) continue;
        for (const std::int32_t at : p.covered(s)) {
            const tensor& t = g.node(at);
            if (of_sum(s, t)) continue;
            f.nodes.insert(at);
            products.insert(g.nodes[at]);
            f.logits = f.logits || t.uses == 0;
            if (t.kind != op::mul_mat && t.kind != op::mul_mat_id) continue;
            experts = experts || t.kind == op::mul_mat_id;
            const tensor& weight = g.at(t.src[0]);
            std::string& list = matrices[name(weight.type)];
            list += (list.empty() ? "" : ",") + size_of(weight);
        }
    }
    for (const auto& [format, list] : matrices) f.matrices += " " + format + " " + list;
    f.gated = g.at(c.activation).kind == op::glu;
    for (int i = 0; i < g.size() && has_norm(c.stages); ++i)  // covered, or left to the engine
        for (const std::int32_t s : g.node(i).src)
            f.gates = f.gates || (g.node(i).kind == op::glu && products.count(s) != 0);
    const std::string part = experts ? "MoE" : f.gates || f.gated ? "ffn" : "attention";
    // A gated norm is how some attention ends.
    const bool input = has_norm(c.stages) && !c.stages.has(stage_kind::gate);
    f.kind = part + (input ? " input" : " output");
    return f;
}

/// Those of the nodes that a plan of the cut alone takes over.
std::vector<std::int32_t> served(const model& m, const table& rows, const positions& nodes) {
    std::vector<std::int32_t> out(nodes.begin(), nodes.end());
    for (;;) {
        const small_graph g = cut(m, out, 1);
        const catena::plan p = planner{rows}.plan(placed(g).view());
        std::vector<std::int32_t> kept;
        std::size_t next = 0;  // the cut holds its nodes in order, and some that rename memory
        for (int i = 0; i < p.size(); ++i) {
            if (launches_nothing(g.view().node(i).kind)) continue;
            if (p.at(i).role != role::engine) kept.push_back(out[next]);
            ++next;
        }
        if (kept.size() == out.size()) return out;
        out = std::move(kept);
    }
}

}  // namespace

std::vector<chain_case> chains_of(const model& m, const table& rows) {
    const catena::plan p = planned(m, rows);
    std::vector<chain_case> out;
    std::set<std::string> seen;
    const auto add = [&](const std::string& name, const positions& nodes, int values) {
        if (!seen.insert(name).second) return;
        out.push_back({m.one.model, name, served(m, rows, nodes), values, 2 * values});
    };
    found before;
    for (std::size_t c = 0; c < p.chains().size(); ++c) {
        const found f = look_at(m, p, c);
        if (f.matrices.empty() || f.logits) continue;
        add(f.kind + f.matrices, f.nodes, 1);
        if (before.gates && f.gated) {
            positions both = before.nodes;
            both.insert(f.nodes.begin(), f.nodes.end());
            add((f.kind.substr(0, 3) == "MoE" ? "MoE" : "ffn") + before.matrices + " then" +
                    f.matrices,
                both, 2);
        }
        before = f;
    }
    return out;
}

layer_case layer_of(const model& m, const table& rows) {
    const catena::plan p = planned(m, rows);
    std::vector<std::int32_t> begins;
    int values = 0;
    for (std::size_t c = 0; c < p.chains().size(); ++c) {
        const found f = look_at(m, p, c);
        if (f.kind == "attention input" && !f.matrices.empty()) begins.push_back(*f.nodes.begin());
    }
    if (begins.size() < 3)
        throw std::runtime_error(m.one.file +
                                 ": fewer than three layers were found by their "
                                 "attention inputs");
    const std::size_t middle = begins.size() / 2;
    const std::int32_t first = begins[middle], last = begins[middle + 1];
    positions nodes;
    for (const step& s : p.steps()) {
        if ((of_float_weights(s) && !makes_norm(s.what)) || of_heads(s)) continue;
        for (const std::int32_t at : p.covered(s))
            if (at >= first && at < last && !of_sum(s, m.one.view().node(at))) nodes.insert(at);
    }
    for (const planned_chain& c : p.chains())
        values += c.stages.has(stage_kind::mul_weight) && c.node >= first && c.node < last;

    const std::vector<std::int32_t> kept = served(m, rows, nodes);
    std::map<std::string, int> others;
    for (std::int32_t i = first; i < last; ++i)
        if (!std::binary_search(kept.begin(), kept.end(), i) &&
            !launches_nothing(m.one.view().node(i).kind))
            ++others[m.one.view().node(i).op_name];
    layer_case out;
    out.what = {m.one.model, "layer", kept, values, 1};
    for (const auto& [op, count] : others)
        out.excluded += (out.excluded.empty() ? "" : ", ") + op +
                        (count > 1 ? " x" + std::to_string(count) : "");
    return out;
}

}  // namespace catena::bench
