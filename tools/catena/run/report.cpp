#include "report.hpp"

#include "json_text.hpp"
#include "printable.hpp"

#include "catena/pick/name.hpp"
#include "catena/plan/step.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace catena::tool {
namespace {

struct totals {
    std::int64_t launches = 0;
    std::int64_t bytes = 0;
    double computed = 0, rows = 0;  ///< of matrices
    std::vector<comparison> worst;  ///< of each kind of output
};

/// Is `a` nearer to its limit, or further beyond it?
bool worse(const comparison& a, const comparison& b) {
    if (a.ok() != b.ok()) return b.ok();
    return !(a.nmse * b.limit <= b.nmse * a.limit);
}

totals totals_of(const run_report& r) {
    totals t;
    for (std::size_t i = 0; i < r.results.size(); ++i) {
        const step_result& result = r.results[i];
        const step& s = r.planned.steps()[i];
        t.launches += result.launched;
        if (result.launched) t.bytes += s.bytes;
        if (s.what.kind() != skeleton::row) {
            t.computed += result.computed;
            t.rows += result.rows;
        }
        for (const comparison& c : result.comparisons) {
            const auto known = std::find_if(t.worst.begin(), t.worst.end(),
                                            [&](const comparison& w) { return w.of == c.of; });
            if (known == t.worst.end())
                t.worst.push_back(c);
            else if (worse(c, *known))
                *known = c;
        }
    }
    return t;
}

double share(double part, double whole) { return whole == 0 ? 1 : part / whole; }

/// "1 step", "2 steps".
std::string counted(std::int64_t n, const char* what, const char* several) {
    return fmt::format("{} {}", n, n == 1 ? what : several);
}
std::string steps_of(std::int64_t n) { return counted(n, "step", "steps"); }

const char* name_of(verdict v) {
    switch (v) {
        case verdict::agrees:
            return "agrees";
        case verdict::failed:
            return "failed";
        case verdict::follows:
            return "follows";
        case verdict::not_run:
            return "not run";
    }
    return "";
}

/// What a line says behind its comparisons.
std::string remark(const run_report& r, const step_result& of) {
    const auto node = [&r](int step) {
        return r.planned.steps()[static_cast<std::size_t>(step)].launch_at;
    };
    std::string says;
    switch (of.outcome()) {
        case verdict::agrees:
            return "";
        case verdict::failed:
            if (of.fault.empty()) return "";  // a comparison says it
            says = "FAILED";
            break;
        case verdict::follows:
            says = fmt::format("FOLLOWS from the step at node {}", node(of.follows));
            break;
        case verdict::not_run:
            says = "NOT RUN";
            if (of.follows >= 0) says += fmt::format(", as the step at node {}", node(of.follows));
            break;
    }
    return of.fault.empty() ? says : says + ": " + of.fault;
}

/// The last line: what failed, what follows from that, what did not run.
std::string summary(const run_report& r) {
    const auto failed = r.steps(verdict::failed), follows = r.steps(verdict::follows),
               not_run = r.steps(verdict::not_run);
    std::string says;
    const auto add = [&says](const std::string& part) {
        says += (says.empty() ? "" : "; ") + part;
    };
    if (failed > 0) add(steps_of(failed) + " FAILED");
    if (follows > 0)
        add(fmt::format("{} {} what a step at fault should have made", steps_of(follows),
                        follows == 1 ? "reads" : "read"));
    if (not_run > 0) add(steps_of(not_run) + " did NOT RUN, since this build lacks kernels");
    if (failed + follows == 0) add(says.empty() ? "all within their limits" : "no step failed");
    return says;
}

const char* chain_name(const run_report& r, const step& s) {
    return r.planned.rows()
        .chains[r.planned.chains()[static_cast<std::size_t>(s.chain)].chain]
        .name;
}

nlohmann::ordered_json comparisons_json(const std::vector<comparison>& all) {
    auto list = nlohmann::ordered_json::array();
    for (const comparison& c : all)
        list.push_back({{"of", c.of}, {"nmse", c.nmse}, {"limit", c.limit}, {"ok", c.ok()}});
    return list;
}

}  // namespace

std::string as_text(const run_report& r) {
    fmt::memory_buffer out;
    const auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
        out.push_back('\n');
    };
    line("graph {}, {}; instances of {}; on the {}; seed {}", printable(r.graph.model),
         printable(r.graph.case_name), r.planned.rows().target->name, r.machine, r.asked.seed);
    std::size_t widest = 0;
    for (std::size_t i = 0; i < r.results.size(); ++i)
        widest = std::max(widest, row_name(r.planned.rows(), r.planned.steps()[i].row).size());
    line("\n{:>6}  {:<30} {:<{}} {:>10} {:>8}  {}", "node", "chain", "instance", widest, "bytes",
         "covered", "NMSE");
    for (std::size_t i = 0; i < r.results.size(); ++i) {
        const step& s = r.planned.steps()[i];
        const step_result& result = r.results[i];
        std::string says;
        for (const comparison& c : result.comparisons)
            says += fmt::format("{}{} {:.1e}{}", says.empty() ? "" : "; ", c.of, c.nmse,
                                c.ok() ? "" : " TOO LARGE");
        if (const std::string more = remark(r, result); !more.empty())
            says += (says.empty() ? "" : "; ") + more;
        line("{:>6}  {:<30} {:<{}} {:>10} {:>7.1f}%  {}", s.launch_at, chain_name(r, s),
             row_name(r.planned.rows(), s.row), widest, s.bytes,
             100 * share(result.computed, result.rows), says);
    }
    const totals t = totals_of(r);
    line("\n{} of {} ran, {}, {}; {:.2f}% of the matrices' results computed and compared",
         t.launches, steps_of(std::ssize(r.planned.steps())),
         counted(t.launches, "launch", "launches"), counted(t.bytes, "byte", "bytes"),
         100 * share(t.computed, t.rows));
    for (const comparison& c : t.worst)
        line("  worst NMSE of {:<26} {:.2e} (limit {:.0e})", c.of, c.nmse, c.limit);
    line("{}", summary(r));
    return fmt::to_string(out);
}

std::string as_json(const run_report& r) {
    using value = nlohmann::ordered_json;
    const totals t = totals_of(r);
    value root;
    root["graph"] = {{"model", r.graph.model},
                     {"case", r.graph.case_name},
                     {"nodes", r.graph.nodes.size()},
                     {"file", r.graph.file}};
    root["arch"] = r.planned.rows().target->name;
    root["machine"] = r.machine;
    root["seed"] = r.asked.seed;
    root["steps"] = value::array();
    for (std::size_t i = 0; i < r.results.size(); ++i) {
        const step& s = r.planned.steps()[i];
        const step_result& result = r.results[i];
        const auto nodes = r.planned.covered(s);
        value v{{"chain", chain_name(r, s)},
                {"instance", row_name(r.planned.rows(), s.row)},
                {"launch_at", s.launch_at},
                {"nodes", std::vector<std::int32_t>(nodes.begin(), nodes.end())},
                {"bytes", s.bytes},
                {"covered", share(result.computed, result.rows)},
                {"comparisons", comparisons_json(result.comparisons)},
                {"verdict", name_of(result.outcome())},
                {"ok", result.ok()}};
        if (result.follows >= 0) v["follows"] = result.follows;
        if (!result.fault.empty()) v["fault"] = result.fault;
        root["steps"].push_back(std::move(v));
    }
    root["total"] = {{"steps", r.results.size()},
                     {"steps_planned", r.planned.steps().size()},
                     {"launches", t.launches},
                     {"failed", r.steps(verdict::failed)},
                     {"follows", r.steps(verdict::follows)},
                     {"not_run", r.steps(verdict::not_run)},
                     {"bytes", t.bytes},
                     {"covered", share(t.computed, t.rows)},
                     {"worst", comparisons_json(t.worst)}};
    return json_text(root);
}

}  // namespace catena::tool
