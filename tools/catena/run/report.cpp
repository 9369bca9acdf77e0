#include "report.hpp"

#include "catena/pick/name.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace catena::tool {
namespace {

struct totals {
    int failed = 0;
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
        t.failed += !result.ok();
        t.bytes += s.bytes;
        if (s.what.needs.kind != skeleton::row) {
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
    line("graph {}, {}; instances of {}; on the {}; seed {}", r.graph.model, r.graph.case_name,
         r.planned.rows().target->name, r.machine, r.asked.seed);
    std::size_t widest = 0;
    for (std::size_t i = 0; i < r.results.size(); ++i)
        widest = std::max(widest, row_name(r.planned.rows(), r.planned.steps()[i].row).size());
    line("\n{:>6}  {:<30} {:<{}} {:>10} {:>8}  {}", "node", "chain", "instance", widest, "bytes",
         "covered", "NMSE");
    for (std::size_t i = 0; i < r.results.size(); ++i) {
        const step& s = r.planned.steps()[i];
        const step_result& result = r.results[i];
        std::string nmse;
        for (const comparison& c : result.comparisons)
            nmse += fmt::format("{}{} {:.1e}{}", nmse.empty() ? "" : "; ", c.of, c.nmse,
                                c.ok() ? "" : " TOO LARGE");
        line("{:>6}  {:<30} {:<{}} {:>10} {:>7.1f}%  {}{}", s.launch_at, chain_name(r, s),
             row_name(r.planned.rows(), s.row), widest, s.bytes,
             100 * share(result.computed, result.rows), nmse,
             result.fault.empty() ? "" : "FAILED: " + result.fault);
    }
    const totals t = totals_of(r);
    line(
        "\n{} of {} steps ran, {} launches, {} bytes; {:.2f}% of the matrices' results computed "
        "and compared",
        r.results.size(), r.planned.steps().size(), r.results.size(), t.bytes,
        100 * share(t.computed, t.rows));
    for (const comparison& c : t.worst)
        line("  worst NMSE of {:<26} {:.2e} (limit {:.0e})", c.of, c.nmse, c.limit);
    line("{}",
         t.failed == 0 ? "all within their limits" : fmt::format("{} steps FAILED", t.failed));
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
                {"ok", result.ok()}};
        if (!result.fault.empty()) v["fault"] = result.fault;
        root["steps"].push_back(std::move(v));
    }
    root["total"] = {{"steps", r.results.size()},
                     {"steps_planned", r.planned.steps().size()},
                     {"launches", r.results.size()},
                     {"failed", t.failed},
                     {"bytes", t.bytes},
                     {"covered", share(t.computed, t.rows)},
                     {"worst", comparisons_json(t.worst)}};
    return root.dump(1, ' ', false, value::error_handler_t::replace) + "\n";
}

}  // namespace catena::tool
