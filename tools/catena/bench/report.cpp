#include "catena/plan/step.hpp"

#include "report.hpp"

#include "../failure.hpp"
#include "../json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>

namespace catena::tool {
namespace {

/// "measured", of a machine that keeps time, else "predicted".
const char* kind_of(const candidate& c) { return c.measured ? "measured" : "predicted"; }

std::string verdict_text(const step_result& r) {
    if (r.lacks_kernel) return "NOT RUN: " + r.fault;
    if (!r.fault.empty()) return "FAILED: " + r.fault;
    std::string out;
    for (const comparison& c : r.comparisons)
        out += fmt::format("{}{:.1e}{}", out.empty() ? "" : ", ", c.nmse,
                           c.ok() ? "" : fmt::format(" TOO LARGE (limit {:.0e})", c.limit));
    return out;
}

const char* verdict_word(const step_result& r) {
    return r.ok() ? "agrees" : r.lacks_kernel ? "not run" : "failed";
}

std::string opening(const bench_report& r) {
    const candidate& best = r.all.front();
    return fmt::format(
        "matmul {}; instances of {}; checked on the {}; seed {}; {} bytes, {:.2f} us at the "
        "bandwidth of {}; catena {}",
        text(r.asked.shape), r.asked.rows.target->name, r.machine, r.asked.check.seed, best.bytes,
        best.attainable_us, r.asked.rows.limits().gpu, version);
}

std::string closing(const bench_report& r) {
    return r.measured()
               ? "Times are medians of launches in a CUDA graph, their operands not in the L2 "
                 "cache."
               : "Times are predicted by the cost model: nothing was measured, since no GPU "
                 "ran the instances.";
}

/// How many instances cannot serve for the same reason, with the first of them.
std::string refusals(const bench_report& r) {
    std::map<std::string, std::pair<int, std::string>> by_reason;
    for (const candidate& c : r.all)
        if (!c.serves()) {
            auto& [count, first] = by_reason.try_emplace(c.why_not, 0, c.instance).first->second;
            ++count;
        }
    std::string out;
    for (const auto& [why, of] : by_reason)
        out += fmt::format("  {:>4} x  {} (first: {})\n", of.first, why, of.second);
    return out.empty() ? out : "\ncannot serve it\n" + out;
}

}  // namespace

bool bench_report::measured() const { return all.front().measured.has_value(); }

int bench_report::exit_code() const {
    const auto any = [this](auto&& is) {
        return std::any_of(all.begin(), all.end(),
                           [&](const candidate& c) { return c.serves() && is(c.result); });
    };
    if (any([](const step_result& r) { return !r.ok() && !r.lacks_kernel; }))
        return exit_check_failed;
    return any([](const step_result& r) { return r.lacks_kernel; }) ? exit_incomplete : exit_ok;
}

std::string as_text(const bench_report& r) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "{}\n\n", opening(r));
    std::size_t widest = 8;
    for (const candidate& c : r.all)
        if (c.serves()) widest = std::max(widest, c.instance.size());
    fmt::format_to(put, "{:>12} {:>8} {:>8}  {:<{}}  {}\n",
                   r.measured() ? "measured us" : "predicted us", "of floor", "covered", "instance",
                   widest + 1, "NMSE");
    for (const candidate& c : r.all)
        if (c.serves())
            fmt::format_to(put, "{:>12.2f} {:>7.0f}% {:>7.2f}%  {:<{}}  {}\n", c.us(),
                           100 * c.attainable_us / c.us(), 100 * c.covered(),
                           c.instance + (c.picked ? "*" : ""), widest + 1, verdict_text(c.result));
    fmt::format_to(put,
                   "{}\n* the planner's pick; covered: results compared with the reference; "
                   "_deferred: it quantizes the activation too.\n{}\n",
                   refusals(r), closing(r));
    return fmt::to_string(out);
}

std::string as_markdown(const bench_report& r) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(
        put, "{}\n\n| instance | {} us | of floor | covered | NMSE |\n|---|--:|--:|--:|---|\n",
        opening(r), kind_of(r.all.front()));
    for (const candidate& c : r.all)
        if (c.serves())
            fmt::format_to(put, "| {}`{}`{} | {:.2f} | {:.0f}% | {:.2f}% | {} |\n",
                           c.picked ? "**" : "", c.instance, c.picked ? "**" : "", c.us(),
                           100 * c.attainable_us / c.us(), 100 * c.covered(),
                           verdict_text(c.result));
    fmt::format_to(put, "\nBold: the planner's pick. {}\n", closing(r));
    return fmt::to_string(out);
}

std::string as_csv(const bench_report& r) {
    std::string out =
        "catena,arch,machine,format,rows,columns,batch,instance,picked,time,us,spread,predicted_us,"
        "attainable_us,bytes,"
        "covered,nmse,verdict\n";
    const matmul_shape& s = r.asked.shape;
    for (const candidate& c : r.all) {
        if (!c.serves()) continue;
        double worst = 0;
        for (const comparison& of : c.result.comparisons) worst = std::max(worst, of.nmse);
        out += fmt::format(
            "{},{},{},{},{},{},{},{},{:d},{},{:.4f},{:.4f},{:.4f},{:.4f},{},{:.6f},{:.3e},{}\n",
            version, r.asked.rows.target->name, r.machine, name(s.weights), s.rows, s.k, s.columns,
            c.instance, c.picked, kind_of(c), c.us(), c.measured ? c.measured->spread : 0,
            c.predicted_us, c.attainable_us, c.bytes, c.covered(), worst, verdict_word(c.result));
    }
    return out;
}

std::string as_json(const bench_report& r) {
    using value = nlohmann::ordered_json;
    const matmul_shape& s = r.asked.shape;
    value root{{"matmul",
                {{"format", name(s.weights)},
                 {"rows", s.rows},
                 {"columns", s.k},
                 {"batch_columns", s.columns},
                 {"text", text(s)}}},
               {"arch", r.asked.rows.target->name},
               {"machine", r.machine},
               {"seed", r.asked.check.seed},
               {"instances", value::array()},
               {"cannot_serve", value::array()}};
    for (const candidate& c : r.all) {
        if (!c.serves()) {
            root["cannot_serve"].push_back({{"instance", c.instance}, {"why", c.why_not}});
            continue;
        }
        value v{{"instance", c.instance},
                {"picked", c.picked},
                {"time", kind_of(c)},
                {"us", c.us()},
                {"predicted_us", c.predicted_us},
                {"attainable_us", c.attainable_us},
                {"bytes", c.bytes},
                {"covered", c.covered()},
                {"verdict", verdict_word(c.result)},
                {"comparisons", value::array()}};
        if (c.measured) v["spread"] = c.measured->spread;
        if (!c.result.fault.empty()) v["fault"] = c.result.fault;
        for (const comparison& of : c.result.comparisons)
            v["comparisons"].push_back({{"of", of.of}, {"nmse", of.nmse}, {"limit", of.limit}});
        root["instances"].push_back(std::move(v));
    }
    return json_text(root);
}

}  // namespace catena::tool
