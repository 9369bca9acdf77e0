#include "tuning.hpp"

#include "fields.hpp"
#include "nesting.hpp"
#include "policies.hpp"
#include "simplicity.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace catena::generator {

namespace {

json candidate_json(const tuned_candidate& c, const computation& computes, const char* arch) {
    json out = {{"row", row_name(computes, c.policy, arch)}, {"verdict", name(c.is)}};
    if (!c.why.empty()) out["why"] = c.why;
    if (c.registers > 0) out["registers"] = c.registers;
    if (c.shape.resident > 0)
        out["shape"] = {{"band", c.shape.band},
                        {"resident", c.shape.resident},
                        {"cluster", c.shape.share.cluster},
                        {"width", c.shape.share.width}};
    for (const warp_code& w : c.code.of)
        if (w != warp_code{})
            out["code"].push_back({w.stage_issues, w.stage_cycles, w.result_issues, w.result_cycles,
                                   w.product_issues, w.product_cycles});
    out["predicted_us"] = c.predicted_us;
    if (c.samples > 0) {
        out["samples"] = c.samples;
        out["median_us"] = c.median_us;
        out["spread"] = c.spread;
    }
    if (!c.us.empty()) out["us"] = c.us;
    out["policy"] = policy_json(c.policy);
    return out;
}

/// What each element of a list becomes. An error names the element by its position.
template <class Of>
auto each(const json& list, const char* what, Of of) {
    std::vector<decltype(of(list))> out;
    for (const json& element : list) {
        try {
            out.push_back(of(element));
        } catch (const std::exception& e) {
            throw std::runtime_error(what + (" " + std::to_string(out.size())) + ": " + e.what());
        }
    }
    return out;
}

/// The time or the spread in a field; only the latter may be 0.
double number(const json& j, const char* field, bool may_be_0) {
    const double v = j.at(field);
    if (std::isfinite(v) && (v > 0 || (may_be_0 && v == 0))) return v;
    throw std::runtime_error(std::string("field '") + field + "': expected a number " +
                             (may_be_0 ? "from 0 on" : "above 0") + ", found " +
                             j.at(field).dump());
}

/// The whole number in a field.
int count(const json& j, const char* field) {
    try {
        return fields::count(j.at(field), std::numeric_limits<std::int32_t>::max());
    } catch (const std::runtime_error& e) {
        throw std::runtime_error(std::string("field '") + field + "': " + e.what());
    }
}

/// What a warp issued, for each format of a kernel.
warp_codes code_of(const json& j) {
    const auto lists = j.get<std::vector<std::vector<int>>>();
    warp_codes out;
    if (lists.size() > std::size(out.of))
        throw std::runtime_error("field 'code': expected at most two lists");
    for (std::size_t i = 0; i < lists.size(); ++i) {
        const std::vector<int>& n = lists[i];
        if (n.size() != 6 || *std::min_element(n.begin(), n.end()) < 0)
            throw std::runtime_error("field 'code': expected lists of six counts, found " +
                                     j.dump());
        out.of[i] = {n[0], n[1], n[2], n[3], n[4], n[5]};
    }
    return out;
}

tuned_candidate candidate_of(const json& j, skeleton kind) {
    tuned_candidate out;
    out.policy = policy_of_json(kind, j.at("policy"));
    if (j.contains("registers")) out.registers = count(j, "registers");
    if (j.contains("shape")) {
        const json& shape = j["shape"];
        out.shape = {count(shape, "band"),
                     count(shape, "resident"),
                     {.cluster = count(shape, "cluster"), .width = count(shape, "width")}};
    }
    if (j.contains("code")) out.code = code_of(j["code"]);
    out.predicted_us = number(j, "predicted_us", false);
    out.is = fields::enumerator<verdict>(j.at("verdict"), verdict_count);
    out.why = j.value("why", "");
    if (j.contains("samples")) out.samples = count(j, "samples");
    if (out.samples > 0) {
        out.median_us = number(j, "median_us", false);
        out.spread = number(j, "spread", true);
    }
    if (j.contains("us")) out.us = j["us"].get<std::vector<double>>();
    for (const double us : out.us)
        if (!(std::isfinite(us) && us > 0))
            throw std::runtime_error("field 'us': expected numbers above 0, found " +
                                     j["us"].dump());
    return out;
}

tuned_problem problem_of(const json& j) {
    tuned_problem out;
    out.computes = computation_of_json(j.at("computes"));
    out.what = problem_of_json(out.computes.kind(), j.at("problem"));
    out.places = count(j, "places");
    out.decided = j.at("decided");
    out.candidates = each(j.at("candidates"), "candidate",
                          [&](const json& one) { return candidate_of(one, out.computes.kind()); });
    return out;
}

bool unbeaten(const tuned_candidate& c) { return c.is == verdict::chosen || c.is == verdict::tied; }

/// A policy that nothing beats on some problem, and how many it does so on.
struct unbeaten_policy {
    proven_policy proven;
    int problems = 0, places = 0;
};

/// Every policy that nothing beats on one of these problems.
std::vector<unbeaten_policy> unbeaten_of(const std::vector<const tuned_problem*>& problems) {
    std::vector<unbeaten_policy> all;
    for (const tuned_problem* p : problems)
        for (const tuned_candidate& one : p->candidates) {
            if (!unbeaten(one)) continue;
            auto at = std::find_if(all.begin(), all.end(), [&](const unbeaten_policy& k) {
                return k.proven.policy == one.policy;
            });
            if (at == all.end()) at = all.insert(all.end(), {{one.policy, {}}, 0, 0});
            ++at->problems;
            if (at->places < p->places) at->proven.evidence = one, at->places = p->places;
        }
    return all;
}

}  // namespace

tuning parse_tuning(const std::string& text, const std::string& file) try {
    const json root = json::parse(text, tool::bounded_nesting<json>());
    tuning out;
    out.arch = root.at("arch");
    const json& on = root.at("on");
    out.on = {on.at("gpu"),  on.at("driver"),     on.at("cuda"),
              on.at("date"), count(on, "sm_mhz"), count(on, "memory_mhz")};
    out.problems = each(root.at("problems"), "problem", problem_of);
    return out;
} catch (const std::exception& e) {
    throw std::runtime_error(file + " is no record of `catena tune`: " + e.what() +
                             "; remove it, or tune anew");
}

std::string tuning_text(const tuning& t) {
    const json on = {{"gpu", t.on.gpu},   {"driver", t.on.driver}, {"cuda", t.on.cuda},
                     {"date", t.on.date}, {"sm_mhz", t.on.sm_mhz}, {"memory_mhz", t.on.memory_mhz}};
    std::string out =
        "{\"arch\": " + json(t.arch).dump() + ",\n \"on\": " + on.dump() + ",\n \"problems\": [";
    const char* between = "\n";
    for (const tuned_problem& p : t.problems) {
        out += between + std::string(" {\"computes\": ") + computation_json(p.computes).dump() +
               ",\n  \"problem\": " + problem_json(p.what).dump() +
               ",\n  \"places\": " + std::to_string(p.places) +
               ", \"decided\": " + (p.decided ? "true" : "false") + ",\n  \"candidates\": [";
        const char* comma = "\n";
        for (const tuned_candidate& c : p.candidates) {
            out += comma + ("   " + candidate_json(c, p.computes, t.arch.c_str()).dump());
            comma = ",\n";
        }
        out += "]}";
        between = ",\n";
    }
    return out + "]}\n";
}

std::string tuning_path(const arch& target) {
    return "instances/" + std::string(target.name) + "/tuning.json";
}

tunings read_tunings(const std::filesystem::path& root) {
    tunings out;
    for (const arch& target : arch_registry) {
        const std::string text = tool::read_text(root / tuning_path(target));
        if (!text.empty())
            out[target.name] =
                std::make_shared<const tuning>(parse_tuning(text, tuning_path(target)));
    }
    return out;
}

tunings read_own_tunings(const std::filesystem::path& folder) {
    tunings out;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".json") continue;
        const std::string file = entry.path().string(), name = entry.path().stem().string();
        const arch* target = arch_named(name.c_str());
        if (target == nullptr || target->compute_capability == 0)
            throw std::runtime_error(file + " is called like no arch: a record is called such as " +
                                     "sm_90.json");
        tuning t = parse_tuning(tool::read_text(file), file);
        if (t.arch != name)
            throw std::runtime_error(file + " was measured on " + t.on.gpu + ", which is " +
                                     t.arch + ": call it " + t.arch +
                                     ".json, or tune on a GPU of " + name);
        if (t.on.gpu.starts_with("simulated "))
            throw std::runtime_error(file + " is of a " + t.on.gpu +
                                     ": tune without --simulate, on a GPU of " + name);
        out[name] = std::make_shared<const tuning>(std::move(t));
    }
    if (out.empty())
        throw std::runtime_error(folder.string() + " has no records: write one by `catena tune " +
                                 "--out " + (folder / "sm_90.json").string() + "`");
    return out;
}

std::vector<proven_policy> proven_policies(const tuning& t, const computation& c,
                                           const std::vector<policy>& listed) {
    std::vector<const tuned_problem*> open;
    for (const tuned_problem& p : t.problems)
        if (p.decided && p.computes == c &&
            std::any_of(p.candidates.begin(), p.candidates.end(), unbeaten))
            open.push_back(&p);

    std::vector<proven_policy> out;
    const auto prove = [&](const proven_policy& by) {
        out.push_back(by);
        std::erase_if(open, [&](const tuned_problem* p) {
            return std::any_of(p->candidates.begin(), p->candidates.end(), [&](const auto& one) {
                return unbeaten(one) && one.policy == by.policy;
            });
        });
    };
    for (const unbeaten_policy& one : unbeaten_of(open))
        if (std::find(listed.begin(), listed.end(), one.proven.policy) != listed.end())
            prove(one.proven);
    while (!open.empty()) {
        const std::vector<unbeaten_policy> all = unbeaten_of(open);
        prove(std::min_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
                  return a.problems != b.problems ? a.problems > b.problems
                                                  : simpler(a.proven.policy, b.proven.policy);
              })->proven);
    }
    return out;
}

std::vector<row> tuned_rows(const arch& target, const std::vector<row>& rows, const tunings& all) {
    const auto own = all.find(target.name);
    if (own == all.end() || rows.empty()) return rows;
    const tuned_on& on = own->second->on;
    std::vector<policy> listed;
    for (const row& r : rows) listed.push_back(r.policy);
    std::vector<row> out = rows;
    for (const proven_policy& p : proven_policies(*own->second, rows.front().computes, listed)) {
        const provenance evidence = {.kind = provenance_kind::measured,
                                     .gpu = on.gpu.c_str(),
                                     .cuda = on.cuda.c_str(),
                                     .date = on.date.c_str(),
                                     .median_us = p.evidence.median_us,
                                     .spread = p.evidence.spread};
        const auto at = std::find(listed.begin(), listed.end(), p.policy);
        if (at != listed.end()) {
            out[static_cast<std::size_t>(at - listed.begin())].evidence = evidence;
            continue;
        }
        row r = {.computes = rows.front().computes,
                 .policy = p.policy,
                 .order = order_of(p.policy),
                 .registers = p.evidence.registers,
                 .evidence = evidence};
        r.evidence.by_medians = true;
        if (objection(target, r).empty()) out.push_back(r);
    }
    return out;
}

}  // namespace catena::generator
