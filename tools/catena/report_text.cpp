#include "printable.hpp"
#include "report.hpp"

#include "catena/pick/name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

using buffer = fmt::memory_buffer;

template <class... Args>
void line(buffer& out, fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
    out.push_back('\n');
}

/// "node 38 between them" as "a node between them".
std::string without_node_numbers(const std::string& text) {
    static constexpr std::string_view word = "node ";
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = text.find_first_not_of("0123456789", i + word.size());
        const bool begins = i == 0 || text[i - 1] == ' ';
        if (begins && text.compare(i, word.size(), word) == 0 && end != i + word.size()) {
            out += "a node";
            i = std::min(end, text.size());
        } else {
            out += text[i++];
        }
    }
    return out;
}

/// Lines that differ by node numbers alone once, with how often and where first, in the order of
/// their first appearance.
class folded {
  public:
    void add(std::string text, std::int32_t node) {
        const auto [at, is_new] = index_.emplace(without_node_numbers(text), rows_.size());
        if (is_new) rows_.push_back({std::move(text), 0, node});
        row& r = rows_[at->second];
        if (++r.count == 2) r.text = at->first;
    }
    void print(buffer& out) const {
        for (const row& r : rows_)
            line(out, "  {:>4} x  {}  (first at node {})", r.count, r.text, r.first);
        if (rows_.empty()) line(out, "  none");
    }

  private:
    struct row {
        std::string text;  // with its numbers while it stands alone
        int count;
        std::int32_t first;
    };
    std::map<std::string, std::size_t> index_;
    std::vector<row> rows_;
};

void print_activations(buffer& out, const report& r) {
    const progress& d = r.done;
    line(out,
         "norm x weight  {} in the graph, {} read by quantized matmuls, {} emit what those read",
         r.wanted.scaled_norms, d.norms_wanted, d.norms_emitted);
    line(out,
         "activations    {} read by {} quantized matmuls, {} quantized once for all their readers",
         d.all.wanted, d.all.matmuls, d.all.quantized_once);
    for (const auto& [producer, t] : d.by_producer)
        line(out, "  {:<40} {:>4} read by {:>4}, {:>4} once", producer, t.wanted, t.matmuls,
             t.quantized_once);
    if (!r.wanted.numbers.empty())
        line(out, "numbers        {} matmuls of f32, f16 or bf16 weights, {} served",
             r.wanted.numbers.size(), d.numbers_served);
    line(out,
         "groups         {} of two or more matmuls, {} in one launch, {} in part; {} if ordered "
         "before "
         "allocation",
         d.groups.wanted, d.groups.planned_after_alloc, d.groups.partial_after_alloc,
         d.groups.planned_before_alloc);
}

void print_launches(buffer& out, const report& r) {
    line(out, "launches       {} one by one, {} by ggml-cuda's fusions", r.wanted.launches_per_node,
         r.peer.launches);
    line(out,
         "planned        {} launches, {} of them Catena's; {} if the engine fuses what it keeps",
         r.done.launches, r.plan.steps.size(), r.done.launches_engine_fused);
    line(out, "saved          {} launches of those one by one, {} of those by ggml-cuda's fusions",
         r.wanted.launches_per_node - r.done.launches,
         r.peer.launches - r.done.launches_engine_fused);
    line(out, "workspace      {} bytes", r.plan.workspace_bytes);
    line(out, "steps move     {:.1f} MB, attainable in {:.0f} us on {}",
         static_cast<double>(r.plan.bytes) / 1e6, r.plan.attainable_us, r.target.gpu);
}

void print_predicted(buffer& out, const report& r) {
    const prediction& p = r.predicted;
    line(out,
         "predicted      {:.0f} us for Catena's steps, {:.0f} us for the engine's nodes at their "
         "floor",
         p.steps_us, p.engine_us);
    line(out, "               {:.0f} tokens/s, {} at once: predicted, not measured",
         p.tokens_per_s(), p.tokens);
}

void print_rejected(buffer& out, const report& r) {
    std::map<std::string, std::vector<std::string>> by_step;
    for (std::size_t i = 0; i < r.plan.steps.size(); ++i) {
        const explained_step& s = r.plan.steps[i];
        const auto [at, is_new] =
            by_step.try_emplace(fmt::format("{}, {}", s.instance, work(s.what)));
        if (is_new) at->second = rejected(r, i);
    }
    line(out, "\nrejected rows");
    for (const auto& [step, rejected] : by_step) {
        line(out, "  {}", step);
        for (const std::string& why : rejected) line(out, "      {}", why);
    }
}

}  // namespace

std::string work(const problem& p) {
    if (p.needs.kind == skeleton::row)
        return fmt::format(
            "{} {} of {}{}", p.rows, p.rows == 1 ? "row" : "rows", p.k,
            p.slots == 0 ? "" : fmt::format(", each the sum of {} results", p.slots));
    std::map<std::string, int> members;
    for (int i = 0; i < p.member_count; ++i)
        ++members[fmt::format("{} {}{}", p.member[i].rows,
                              p.member[i].epilogue.has(epilogue_part::glu) ? "gated " : "",
                              name(p.member[i].type))];
    std::string list;
    for (const auto& [text, n] : members)
        list += (list.empty() ? "" : " + ") + (n == 1 ? text : fmt::format("{} x {}", n, text));
    return fmt::format("{} rows of {}, {} {}{}", list, p.k, p.columns,
                       p.expert         ? "expert columns"
                       : p.columns == 1 ? "column"
                                        : "columns",
                       quantizes_inside(p.needs) ? ", quantized inside" : "");
}

std::string as_text(const report& r, bool verbose) {
    buffer out;
    line(out, "graph          {}, {}: {} nodes, {} tensors", printable(r.graph.model),
         printable(r.graph.case_name), r.graph.nodes.size(), r.graph.tensors.size());
    line(out, "arch           {} ({})", r.target.name, r.target.gpu);
    for (const std::string& note : r.graph.notes) line(out, "note           {}", note);
    print_activations(out, r);
    print_launches(out, r);
    print_predicted(out, r);

    line(out, "\nsteps");
    folded steps;
    for (const explained_step& s : r.plan.steps)
        steps.add(fmt::format("{}: {}", s.instance, work(s.what)), s.launch_at);
    steps.print(out);

    line(out, "\nnorms, by the launch that makes them");
    folded norms;
    for (const explained_chain& c : r.plan.chains)
        if (has_norm(c.stages))
            norms.add(c.norm_apart.empty()
                          ? fmt::format("that of their readers, {}", name(c.placement))
                          : fmt::format("their own: {}", c.norm_apart),
                      c.node);
    norms.print(out);

    line(out, "\nnot fused, or not as far");
    folded left;
    for (const left_node& l : r.done.not_fused)
        left.add(fmt::format("{}: {}", printable(r.graph.view().node(l.node).op_name), l.sentence),
                 l.node);
    left.print(out);
    if (verbose) print_rejected(out, r);
    return fmt::to_string(out);
}

}  // namespace catena::tool
