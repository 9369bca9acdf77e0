#include "html.hpp"

#include "json_text.hpp"
#include "layers.hpp"
#include "traffic.hpp"

#include "catena/pick/name.hpp"
#include "catena/plan/detail/find/keys.hpp"
#include "catena/plan/detail/find/memo.hpp"
#include "catena/plan/explain_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

using value = nlohmann::ordered_json;

/// Texts that occur again and again, each once, with its index.
class texts {
  public:
    std::size_t of(const std::string& text) {
        const auto [at, is_new] = index_.emplace(text, list_.size());
        if (is_new) list_.push_back(text);
        return at->second;
    }
    const value& list() const { return list_; }

  private:
    std::map<std::string, std::size_t> index_;
    value list_ = value::array();
};

/// Tensors as the page names them: a node by its position, a leaf by its index below zero, -1 the
/// first.
class tensor_names {
  public:
    explicit tensor_names(const graph_view& g)
        : g_(g), id_(static_cast<std::size_t>(g.tensor_count)), known_(id_.size(), false) {
        for (int i = 0; i < g.size(); ++i) set(g.nodes[i], i);
    }

    value of(std::int32_t t) {
        if (t == no_tensor) return nullptr;
        const auto at = static_cast<std::size_t>(t);
        if (!known_[at]) {
            const tensor& leaf = g_.at(t);
            leaves_.push_back({leaf.name, name(leaf.type), leaf.ne, leaf.weight ? 1 : 0});
            set(t, -static_cast<int>(leaves_.size()));
        }
        return id_[at];
    }
    const value& leaves() const { return leaves_; }

  private:
    void set(std::int32_t t, int id) {
        id_[static_cast<std::size_t>(t)] = id;
        known_[static_cast<std::size_t>(t)] = true;
    }

    const graph_view& g_;
    std::vector<int> id_;
    std::vector<bool> known_;
    value leaves_ = value::array();
};

enum node_mark { mark_launches = 1, mark_quantized = 2, mark_output = 4 };

value node_json(const graph_view& g, const tensor& t, tensor_names& names) {
    int last = max_src;
    while (last > 0 && t.src[last - 1] == no_tensor) --last;
    value sources = value::array();
    for (int s = 0; s < last; ++s) sources.push_back(names.of(t.src[s]));
    const int marks = (launches(t) ? mark_launches : 0) |
                      (reads_quantized(g, t) ? mark_quantized : 0) |
                      ((t.flags & flag_output) != 0 ? mark_output : 0);
    return {op_text(t), t.name, name(t.type), t.ne, std::move(sources), marks, node_bytes(g, t)};
}

int matrices(const product_problem& p) {
    int n = 0;
    for (int i = 0; i < p.member_count; ++i) n += weight_rows(p.member[i]);
    return n;
}

/// "bias, glu"
std::string parts(epilogue_set set) {
    std::string out;
    for (const epilogue_part part : set)
        out.append(out.empty() ? "" : ", ").append(info(part).words);
    return out;
}

/// Appends what a problem says, besides its work and its alignment.
template <class Add>
void describe(const row_problem& p, const Add& add) {
    add("computes", chain_part(p.needs) + (p.sum ? ", and writes the sum" : ""));
    add("writes", formats_part(p.needs.emits));
    if (p.quant_k > 0) add("quantized rows", fmt::format("of {}", p.quant_k));
}
template <class Add>
void describe(const product_problem& p, const Add& add) {
    add("activation", name(p.needs.activation));
    add("matrices", fmt::format("{}, {}", matrices(p), formats_part(p.needs.weights)));
    if (!p.needs.epilogue.empty()) add("epilogue", parts(p.needs.epilogue));
    if (p.expert) add("tokens", fmt::format("{}", p.tokens));
}

value problem_json(const problem& asked) {
    value v = value::array();
    const auto add = [&v](const char* what, std::string text) {
        v.push_back({what, std::move(text)});
    };
    asked.visit([&](const auto& p) {
        add("work", work(p));
        describe(p, add);
        add("alignment", fmt::format("{} bytes", p.alignment));
    });
    return v;
}

/// The matmuls that a step covers; its other nodes are done before them or behind them.
value matmuls_json(const graph_view& g, const explained_step& s) {
    value v = value::array();
    for (const std::int32_t n : s.nodes) {
        if (!reads_quantized(g, g.node(n))) continue;
        const tensor& w = g.at(g.node(n).src[0]);
        v.push_back({n, w.ne[1], name(w.type), g.node(n).kind == op::mul_mat_id ? w.ne[2] : 0});
    }
    return v;
}

/// The steps, and what many of them share: the rows that were rejected for them.
struct steps_json {
    texts rows, sentences;
    std::map<std::string, std::size_t> known;
    memo<problem, std::size_t> of_problem;
    value choices = value::array(), steps = value::array();

    std::size_t choice_of(const report& r, std::size_t i) {
        value rejected = value::array();
        for (const rejection& other : r.planned.choice_of(static_cast<int>(i)).rejected)
            rejected.push_back({rows.of(row_name(r.planned.rows(), other.row)), name(other.why),
                                sentences.of(sentence(other))});
        const auto [at, is_new] = known.emplace(rejected.dump(), choices.size());
        if (is_new) choices.push_back(std::move(rejected));
        return at->second;
    }

    void add(const graph_view& g, const report& r, std::size_t i) {
        const explained_step& s = r.plan.steps[i];
        const std::size_t chosen = of_problem.of(s.what, [&] { return choice_of(r, i); });
        const launch_config& c = s.config;
        steps.push_back({{"problem", problem_json(s.what)},
                         {"matmuls", matmuls_json(g, s)},
                         {"makes", s.makes},
                         {"config", {c.blocks, c.threads, c.shared_bytes, c.dependent, c.cluster}},
                         {"choice", chosen}});
    }
};

value chain_json(const graph_view& g, const explained_chain& c, tensor_names& names) {
    value served = value::array();
    for (const std::int32_t n : c.served)
        if (reads_quantized(g, g.node(n))) served.push_back(n);
    return {{"name", c.name},
            {"activation", names.of(c.activation)},
            {"served", std::move(served)},
            {"made_by", c.made_by},
            {"steps", c.steps},
            {"f32_written", c.f32_written},
            {"sum_written", c.sum_written},
            {"norm", !has_norm(c.stages) ? ""
                     : c.begun
                         ? "begun by the launch that makes its input, ended by that of its readers"
                     : c.norm_apart.empty() ? "by the launch of its readers"
                                            : "apart: " + c.norm_apart}};
}

value cost_json(const char* what, const traffic& t, const arch& a) {
    return {
        {"what", what}, {"launches", t.launches}, {"bytes", t.bytes}, {"us", t.attainable_us(a)}};
}

/// Launches, bytes and the floor of the time. What an engine's fusions keep out of memory is not
/// counted, so bytes are the same with and without them.
value costs_json(const report& r, const graph_view& g) {
    const traffic before = one_by_one(g), after = planned(g, r.plan);
    return {cost_json("one by one", before, r.target),
            cost_json("with ggml-cuda's fusions", {r.peer.launches, before.bytes}, r.target),
            cost_json("planned", after, r.target),
            cost_json("planned, the rest fused by the engine",
                      {r.done.launches_engine_fused, after.bytes}, r.target)};
}

}  // namespace

std::string page_data(const report& r) {
    const graph_view g = r.graph.view();
    tensor_names names{g};
    value nodes = value::array(), chains = value::array(), layers = value::array();
    for (int i = 0; i < g.size(); ++i) nodes.push_back(node_json(g, g.node(i), names));
    for (const explained_chain& c : r.plan.chains) chains.push_back(chain_json(g, c, names));
    for (const layer& l : find_layers(g, r.plan, r.done.not_fused))
        layers.push_back({l.first, l.last, l.kind, l.variant, l.like, l.repeats});
    steps_json all;
    for (std::size_t i = 0; i < r.plan.steps.size(); ++i) all.add(g, r, i);

    value root;
    root["gpu"] = r.target.gpu;
    root["costs"] = costs_json(r, g);
    root["layers"] = std::move(layers);
    root["nodes"] = std::move(nodes);
    root["leaves"] = names.leaves();
    root["chains"] = std::move(chains);
    root["steps"] = std::move(all.steps);
    root["choices"] = std::move(all.choices);
    root["rows"] = all.rows.list();
    root["sentences"] = all.sentences.list();
    return json_text(root, -1);
}

}  // namespace catena::tool
