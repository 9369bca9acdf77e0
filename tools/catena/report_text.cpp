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
    if (!r.wanted.float_weights.empty())
        line(out, "float weights  {} matmuls of f32, f16 or bf16 weights, {} served",
             r.wanted.float_weights.size(), d.float_weights_served);
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
    const launch_time t = p.by_model();
    line(out,
         "               {:.0f} us for the steps by the model alone: {:.0f} of bytes, {:.0f} of "
         "nodes, "
         "and what bytes do not hide: {:.0f} of waits for columns, {:.0f} of warps, {:.0f} behind "
         "products",
         t.us(), t.bytes, t.node, t.columns, t.warps, t.results);
    line(out, "               {:.0f} us for both if cold memory gives {:.0f} % of its bandwidth",
         p.cold_us, 100 * detail::cold_stream_share);
    line(out, "               {:.0f} tokens/s, {} at once: predicted, not measured",
         p.tokens_per_s(), p.tokens);
}

void print_measured(buffer& out, const measured_plan& m) {
    line(out, "measured       {}: {}, driver {}, CUDA {}, {}, commit {}", printable(m.from.file),
         printable(m.from.device), printable(m.from.driver), printable(m.from.cuda),
         printable(m.from.date), printable(m.from.commit));
    if (m.walk.launches.empty())
        return line(out, "               no step of this plan is in the record");
    line(out, "               the record's step of {}, {}: {:.0f} us with the engine's kernels",
         printable(m.walk.model), printable(m.walk.load), m.walk.us);
    const auto sum = [&](const measured_sum& s, const char* how) {
        if (s.steps > 0)
            line(out, "               {} of {} steps{}: {:.0f} us measured, {:.0f} us predicted",
                 s.steps, m.steps.size(), how, s.us, s.predicted_us);
    };
    sum(m.same, "");
    sum(m.slow, " are more than a quarter slower than predicted");
    sum(m.other, " ran as another instance");
    if (m.without_time > 0)
        line(out,
             "               {} of {} steps have no time: the record's step has no launch of their "
             "problems",
             m.without_time, m.steps.size());
}

/// Steps of the same instance and work, measured alike.
struct measured_line {
    int count = 0, measured = 0, slower = 0;
    double us = 0, predicted_us = 0;
    std::int32_t first = 0;
};

/// A line for each instance with the same work: means of a launch.
void print_measured_steps(buffer& out, const report& r) {
    std::map<std::string, measured_line> lines;
    std::vector<std::string> order;
    for (std::size_t i = 0; i < r.plan.steps.size(); ++i) {
        const explained_step& s = r.plan.steps[i];
        const auto& time = r.measured->steps[i];
        const std::string text =
            fmt::format("{}: {}{}", s.instance, work(s.what),
                        time && !time->planned ? ", measured as " + printable(time->instance) : "");
        const auto [at, is_new] = lines.try_emplace(text);
        if (is_new) order.push_back(text), at->second.first = s.launch_at;
        measured_line& l = at->second;
        ++l.count, l.predicted_us += s.predicted_us;
        if (time) ++l.measured, l.us += time->us;
        if (r.measured->slower(r.plan, i)) ++l.slower;
    }
    line(out,
         "\nsteps, us of a launch: means; ! measured more than a quarter slower than predicted");
    line(out, "{:>8}{:>10}{:>11}", "", "measured", "predicted");
    for (const std::string& text : order) {
        const measured_line& l = lines[text];
        const std::string us = l.measured == 0 ? "-" : fmt::format("{:.1f}", l.us / l.measured);
        const bool some = l.slower > 0 && l.slower < l.count;
        line(out, "  {:>4} x{:>10}{:>11.1f} {} {}  (first at node {}{})", l.count, us,
             l.predicted_us / l.count, l.slower > 0 ? '!' : ' ', text, l.first,
             some ? fmt::format("; {} of them slower", l.slower) : "");
    }
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
    if (r.measured) {
        print_measured(out, *r.measured);
        print_measured_steps(out, r);
    } else {
        line(out, "\nsteps");
        out.append(steps_text(r.plan));
    }
    fmt::format_to(std::back_inserter(out),
                   "\nnorms, by the launch that makes them\n{}\nnot fused, or not as far\n",
                   norms_text(r.plan));
    folded_lines left;
    for (const left_node& l : r.done.not_fused)
        left.add(fmt::format("{}: {}", printable(r.graph.view().node(l.node).op_name), l.sentence),
                 l.node);
    out.append(left.text());
    if (verbose) print_rejected(out, r);
    return fmt::to_string(out);
}

}  // namespace catena::tool
