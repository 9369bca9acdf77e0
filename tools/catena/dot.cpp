#include "dot.hpp"

#include "layers.hpp"
#include "printable.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

/// A quoted string of the language.
std::string in_quotes(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n')
            out += "\\n";
        else
            out += c;
    }
    return out + '"';
}

std::string shape(const tensor& t) {
    int last = 4;
    while (last > 1 && t.ne[last - 1] == 1) --last;
    return fmt::format("{} [{}]", name(t.type), fmt::join(t.ne, t.ne + last, ", "));
}

class drawing {
  public:
    explicit drawing(const report& r)
        : r_(r),
          g_(r.graph.view()),
          position_(static_cast<std::size_t>(g_.tensor_count), -1),
          step_of_(static_cast<std::size_t>(g_.size()), -1),
          why_(step_of_.size()) {
        for (int i = 0; i < g_.size(); ++i) position_[at(g_.nodes[i])] = i;
        for (std::size_t s = 0; s < r.plan.steps.size(); ++s)
            for (const std::int32_t n : r.plan.steps[s].nodes)
                step_of_[at(n)] = static_cast<int>(s);
        for (const left_node& l : r.done.not_fused) why_[at(l.node)] += "\n" + l.sentence;
    }

    std::string text() {
        line("digraph catena {{");
        line("  label={}; labelloc=t; fontname=\"sans-serif\";",
             in_quotes(fmt::format("{}, {}, {}", printable(r_.graph.model),
                                   printable(r_.graph.case_name), r_.target.name)));
        line(
            "  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\", "
            "fontsize=10];");
        line("  edge [fontname=\"sans-serif\", fontsize=9];");
        std::map<std::pair<int, int>, std::vector<layer>> distinct;
        std::vector<layer> order;
        for (const layer& l : find_layers(g_, r_.plan, r_.done.not_fused)) {
            auto& same = distinct[{l.kind, l.variant}];
            if (same.empty()) order.push_back(l);
            same.push_back(l);
        }
        for (const layer& l : order) draw(l, distinct[{l.kind, l.variant}].size());
        line("}}");
        return fmt::to_string(out_);
    }

  private:
    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_.push_back('\n');
    }

    void draw(const layer& l, std::size_t times) {
        line("  subgraph cluster_layer_{} {{", l.first);
        line("    label={}; color=gray; fontsize=14;",
             in_quotes(
                 fmt::format("nodes {} to {}{}", l.first, l.last - 1,
                             times > 1 ? fmt::format(", and {} layers like it", times - 1) : "")));
        std::map<int, std::vector<std::int32_t>> covered;  // by step
        for (std::size_t s = 0; s < r_.plan.steps.size(); ++s)
            if (const std::int32_t n = r_.plan.steps[s].launch_at; l.first <= n && n < l.last)
                covered[static_cast<int>(s)];
        for (std::int32_t i = l.first; i < l.last; ++i)
            if (launches(g_.node(i))) covered[step_of_[at(i)]].push_back(i);
        for (const auto& [s, nodes] : covered) draw_step(l, s, nodes);
        line("  }}");
        outside_.clear();
        for (const auto& [s, nodes] : covered) {
            for (const std::int32_t n : nodes) draw_edges(l, n);
            if (s >= 0 && r_.plan.steps[at(s)].nodes.empty()) draw_quantize_edge(l, s);
        }
    }

    void draw_step(const layer& l, int s, const std::vector<std::int32_t>& nodes) {
        if (s < 0) {
            for (const std::int32_t n : nodes) draw_node(n);
            return;
        }
        const explained_step& step = r_.plan.steps[at(s)];
        line("    subgraph cluster_layer_{}_step_{} {{", l.first, s);
        line("      label={}; style=filled; color=\"{}\"; fontsize=10;", in_quotes(step.instance),
             colors[at(step.chain) % std::size(colors)]);
        if (step.nodes.empty()) line("      step_{} [label=\"quantize\"];", s);
        for (const std::int32_t n : nodes) draw_node(n);
        line("    }}");
    }

    void draw_node(std::int32_t n) {
        const tensor& t = g_.node(n);
        std::string label = fmt::format("{} {}\n{}", n, op_text(t), shape(t));
        for (const std::int32_t s : t.src)
            if (s != no_tensor && is_weight(g_, s)) label += "\nx " + shape(g_.at(s));
        line("      n{} [label={}, tooltip={}];", n, in_quotes(label),
             in_quotes(printable(t.name) + why_[at(n)]));
    }

    /// Where a value comes from, names removed: a node that launches something, or -1.
    std::int32_t made_at(std::int32_t t) const {
        while (t != no_tensor && position_[at(t)] >= 0 && !launches(g_.at(t)))
            t = g_.at(t).src[0] != no_tensor ? g_.at(t).src[0] : g_.at(t).view_src;
        return t == no_tensor ? -1 : position_[at(t)];
    }

    /// The name to draw an edge from; what another layer made gets a node of its own.
    std::string source(const layer& l, std::int32_t made) {
        if (made >= l.first) return fmt::format("n{}", made);
        const std::string id = fmt::format("from_{}_{}", l.first, made);
        if (outside_.insert(made).second)
            line("  {} [shape=plaintext, style=\"\", label={}];", id,
                 in_quotes(fmt::format("{} {}", made, op_text(g_.node(made)))));
        return id;
    }

    void draw_edges(const layer& l, std::int32_t n) {
        const tensor& t = g_.node(n);
        const int s = step_of_[at(n)];
        const bool served = s >= 0 && reads_quantized(g_, t);
        for (int i = 0; i < max_src; ++i) {
            const std::int32_t made = made_at(t.src[i]);
            if (made < 0) continue;
            const bool quantized = served && i == 1;
            const int maker = quantized ? quantize_step(l, s) : -1;
            const std::string from = maker >= 0 ? fmt::format("step_{}", maker) : source(l, made);
            const bool inside = s >= 0 && step_of_[at(made)] == s;  // it never leaves the launch
            line("  {} -> n{} [label=\"{}\"{}];", from, n,
                 quantized ? name(r_.plan.steps[at(s)].what.product().needs.activation)
                           : name(g_.at(t.src[i]).type),
                 quantized ? ", penwidth=2"
                 : inside  ? ", style=dotted"
                           : "");
        }
    }

    void draw_quantize_edge(const layer& l, int s) {
        const explained_chain& c = r_.plan.chains[at(r_.plan.steps[at(s)].chain)];
        if (const std::int32_t made = made_at(c.activation); made >= 0)
            line("  {} -> step_{} [label=\"{}\"];", source(l, made), s,
                 name(g_.at(c.activation).type));
    }

    /// The step of the same chain and layer that only quantizes, if there is one.
    int quantize_step(const layer& l, int s) const {
        for (const std::int32_t other : r_.plan.chains[at(r_.plan.steps[at(s)].chain)].steps)
            if (const explained_step& o = r_.plan.steps[at(other)];
                o.nodes.empty() && o.launch_at >= l.first)
                return other;
        return -1;
    }

    static constexpr const char* colors[] = {"#cfe3ff", "#ffe0c2", "#d5f2d0",
                                             "#f3d6f5", "#fff0b3", "#cdeff0"};

    const report& r_;
    const graph_view g_;
    std::vector<std::int32_t> position_;
    std::vector<int> step_of_;
    std::vector<std::string> why_;
    std::set<std::int32_t> outside_;
    fmt::memory_buffer out_;
};

}  // namespace

std::string as_dot(const report& r) { return drawing{r}.text(); }

}  // namespace catena::tool
