#include "report.hpp"

#include "json_text.hpp"

#include "catena/pick/name.hpp"
#include "catena/plan/explain_text.hpp"

#include "fields.hpp"

#include <nlohmann/json.hpp>

namespace catena::tool {
namespace {

using value = nlohmann::ordered_json;

value tally_json(const tally& t) {
    return {{"wanted", t.wanted}, {"matmuls", t.matmuls}, {"quantized_once", t.quantized_once}};
}

value activations_json(const progress& done) {
    value all = tally_json(done.all);
    value by = value::object();
    for (const auto& [producer, t] : done.by_producer) by[producer] = tally_json(t);
    all["by_producer"] = by;
    all["standalone"] = done.standalone;
    return all;
}

/// Kernels of the engine, with their times.
value engine_json(const measured_plan& m, const std::vector<int>& launches) {
    value out = value::array();
    for (const int i : launches) {
        const recorded_launch& l = m.walk.launches[static_cast<std::size_t>(i)];
        value one{{"kernel", m.from.kernels[static_cast<std::size_t>(l.kernel)]}, {"us", l.us}};
        if (l.gap_us > 0) one["gap_us"] = l.gap_us;
        out.push_back(std::move(one));
    }
    return out;
}

value measured_step_json(const report& r, std::size_t i) {
    const measured_step& s = *r.measured->steps[i];
    value out{{"us", s.us}};
    if (s.gap_us > 0) out["gap_us"] = s.gap_us;
    out["launches"] = s.launches;
    if (!s.planned) out["instance"] = s.instance;
    out["slower"] = r.measured->slower(r.plan, i);
    if (!s.engine.empty()) out["engine_before"] = engine_json(*r.measured, s.engine);
    return out;
}

value sum_json(const measured_sum& s) {
    return {{"steps", s.steps}, {"us", s.us}, {"predicted_us", s.predicted_us}};
}

value measured_json(const measured_plan& m) {
    value out{{"record", m.from.file},
              {"gpu", m.from.device},
              {"driver", m.from.driver},
              {"cuda", m.from.cuda},
              {"date", m.from.date},
              {"commit", m.from.commit},
              {"same_instance", sum_json(m.same)},
              {"slower", sum_json(m.slow)},
              {"other_instance", sum_json(m.other)},
              {"steps_without_time", m.without_time}};
    if (!m.walk.launches.empty())
        out["walk"] = {{"model", m.walk.model},
                       {"load", m.walk.load},
                       {"repeats", m.walk.repeats},
                       {"us", m.walk.us}};
    if (!m.engine_after.empty()) out["engine_after"] = engine_json(m, m.engine_after);
    return out;
}

value json_of(const launch_time& t) {
    return {{"node", t.node},
            {"bytes", t.bytes},
            {"columns", t.columns},
            {"warps", t.warps},
            {"results", t.results}};
}

value step_json(const report& r, std::size_t i, bool verbose) {
    const explained_step& s = r.plan.steps[i];
    const explained_chain& c = r.plan.chains[static_cast<std::size_t>(s.chain)];
    value v{{"chain", c.name},
            {"place", s.chain},
            {"instance", s.instance},
            {"work", work(s.what)},
            {"problem", generator::problem_json(s.what)},
            {"launch_at", s.launch_at},
            {"nodes", s.nodes},
            {"bytes", s.bytes},
            {"predicted_us", s.predicted_us},
            {"attainable_us", s.attainable_us}};
    v["model_us"] = json_of(r.predicted.of_steps[i]);
    if (!s.makes.empty()) v["makes"] = s.makes;  // places whose activation its epilogue quantizes
    if (r.measured && r.measured->steps[i]) v["measured"] = measured_step_json(r, i);
    if (verbose) v["rejected"] = rejected(r, i);
    return v;
}

}  // namespace

std::string as_json(const report& r, bool verbose) {
    value root;
    root["graph"] = {{"model", r.graph.model},
                     {"case", r.graph.case_name},
                     {"nodes", r.graph.nodes.size()},
                     {"file", r.graph.file}};
    root["arch"] = r.target.name;
    root["gpu"] = {{"name", r.target.gpu},
                   {"sms", r.target.sms},
                   {"cycles_per_us", r.target.cycles_per_us},
                   {"bytes_per_us", r.target.bytes_per_us}};
    root["norm_scale"] = {{"total", r.wanted.scaled_norms},
                          {"wanted", r.done.norms_wanted},
                          {"emitted", r.done.norms_emitted}};
    root["activations"] = activations_json(r.done);
    root["float_weights"] = {{"matmuls", r.wanted.float_weights.size()},
                             {"served", r.done.float_weights_served}};
    const group_tally& groups = r.done.groups;
    root["groups"] = {{"wanted", groups.wanted},
                      {"planned_before_alloc", groups.planned_before_alloc},
                      {"planned_after_alloc", groups.planned_after_alloc},
                      {"partial_after_alloc", groups.partial_after_alloc}};
    root["launches"] = {{"per_node", r.wanted.launches_per_node},
                        {"peer", r.peer.launches},
                        {"planned", r.done.launches},
                        {"planned_engine_fused", r.done.launches_engine_fused},
                        {"steps", r.plan.steps.size()},
                        {"engine", r.done.engine},
                        {"peer_fusions", r.peer.fused}};
    root["launches"]["saved"] = {{"per_node", r.wanted.launches_per_node - r.done.launches},
                                 {"peer", r.peer.launches - r.done.launches_engine_fused}};
    root["predicted"] = {{"steps_us", r.predicted.steps_us},
                         {"model_us", json_of(r.predicted.by_model())},
                         {"engine_floor_us", r.predicted.engine_us},
                         {"cold_us", r.predicted.cold_us},
                         {"tokens", r.predicted.tokens},
                         {"tokens_per_s", r.predicted.tokens_per_s()}};
    if (r.measured) root["measured"] = measured_json(*r.measured);
    root["bytes"] = r.plan.bytes;
    root["attainable_us"] = r.plan.attainable_us;
    root["workspace_bytes"] = r.plan.workspace_bytes;
    root["steps"] = value::array();
    for (std::size_t i = 0; i < r.plan.steps.size(); ++i)
        root["steps"].push_back(step_json(r, i, verbose));
    root["norms"] = value::array();
    for (const explained_chain& c : r.plan.chains) {
        if (!has_norm(c.stages)) continue;
        value v{{"node", c.node}, {"placement", c.begun ? "begun" : name(c.placement)}};
        if (!c.norm_apart.empty()) v["apart"] = c.norm_apart;
        root["norms"].push_back(std::move(v));
    }
    root["not_fused"] = value::array();
    for (const left_node& left : r.done.not_fused)
        root["not_fused"].push_back(
            {{"node", left.node}, {"reason", name(left.why)}, {"sentence", left.sentence}});
    root["notes"] = r.graph.notes;
    return json_text(root);
}

}  // namespace catena::tool
