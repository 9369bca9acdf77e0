#include "printable.hpp"
#include "report.hpp"

#include "catena/pick/cost.hpp"
#include "catena/plan/explain_text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <string>
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
    line(out, "               {:.0f} us for both if cold memory gives {:.0f} % of its bandwidth",
         p.cold_us, 100 * detail::cold_stream_share);
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

std::string as_text(const report& r, bool verbose) {
    buffer out;
    line(out, "graph          {}, {}: {} nodes, {} tensors", printable(r.graph.model),
         printable(r.graph.case_name), r.graph.nodes.size(), r.graph.tensors.size());
    line(out, "arch           {}", r.target.name);
    line(out, "GPU            {}: {} SMs, {:.0f} MHz, reads {:.0f} GB/s", r.target.gpu,
         r.target.sms, r.target.cycles_per_us, r.target.bytes_per_us / 1000);
    for (const std::string& note : r.graph.notes) line(out, "note           {}", note);
    print_activations(out, r);
    print_launches(out, r);
    print_predicted(out, r);

    fmt::format_to(std::back_inserter(out),
                   "\nsteps\n{}{}\nnorms, by the launch that makes them\n{}\nnot fused, or not as "
                   "far\n",
                   steps_text(r.plan), ahead_text(r.plan), norms_text(r.plan));
    folded_lines left;
    for (const left_node& l : r.done.not_fused)
        left.add(fmt::format("{}: {}", printable(r.graph.view().node(l.node).op_name), l.sentence),
                 l.node);
    out.append(left.text());
    if (verbose) print_rejected(out, r);
    return fmt::to_string(out);
}

}  // namespace catena::tool
