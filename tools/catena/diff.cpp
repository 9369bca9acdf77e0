// catena diff: what differs between two explanations, each a report of explain --json or made here.
#include "command.hpp"
#include "json_text.hpp"
#include "nesting.hpp"
#include "optimized.hpp"
#include "output.hpp"
#include "printable.hpp"
#include "report.hpp"
#include "tables.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace catena::tool {
namespace {

using value = nlohmann::ordered_json;

struct diff_options {
    std::string a, b;  ///< b empty: it is a
    std::vector<std::string> archs = {"sm_90"};
    std::string measured;  ///< a record of launches; empty: none
    bool optimized = false, arch_is_named = false;
    output_options output;
};

/// How often each instance, placement of a norm or reason occurs, on both sides.
using counts = std::map<std::string, std::array<int, 2>>;

struct quantity {
    const char* name;
    const char* path;  ///< in a report
};

constexpr quantity quantities[] = {
    {"launches", "/launches/planned"},
    {"if the engine fuses", "/launches/planned_engine_fused"},
    {"steps", "/launches/steps"},
    {"groups in one launch", "/groups/planned_after_alloc"},
    {"bytes of steps", "/bytes"},
    {"workspace bytes", "/workspace_bytes"},
    {"steps' us, predicted", "/predicted/steps_us"},
    {"engine's us, floor", "/predicted/engine_floor_us"},
    {"tokens/s, predicted", "/predicted/tokens_per_s"},
};

/// Totals where both reports have measured times.
constexpr quantity measured_quantities[] = {
    {"steps measured as planned", "/measured/same_instance/steps"},
    {"their us, measured", "/measured/same_instance/us"},
    {"their us, predicted", "/measured/same_instance/predicted_us"},
    {"of them slower than predicted", "/measured/slower/steps"},
};

/// The file as a report of explain, if it is one; else null.
value report_in(const std::string& file) {
    try {
        std::ifstream in(file, std::ios::binary);
        value v = value::parse(in, tool::bounded_nesting<value>(), false);
        const bool is = v.is_object() && v.contains("catena") && v.contains("steps");
        return is ? v : value();
    } catch (const std::runtime_error&) {  // it nests too deep: the reader of graphs says so
        return value();
    }
}

value explained(const std::string& file, const std::string& arch, bool in_better_order,
                const diff_options& o) {
    json::graph g = json::read(file);
    if (in_better_order) g = optimized(g);
    target_options target{arch, ""};
    const auto record = record_and_target(o.measured, o.arch_is_named, target);
    return value::parse(
        as_json(make_report(g, table_for(target), record ? &*record : nullptr), false));
}

double number(const value& report, const quantity& q, const std::string& file) {
    const value::json_pointer at(q.path);
    if (!report.contains(at) || !report[at].is_number())
        throw failure(fmt::format("{}: no report of this version's catena explain: it lacks {}",
                                  file, q.path));
    return report[at].get<double>();
}

counts count_of(const std::array<value, 2>& sides, const char* list, const char* key) {
    counts all;
    for (std::size_t side = 0; side < 2; ++side)
        for (const value& one : sides[side].value(list, value::array()))
            ++all[one.value(key, std::string("?"))][side];
    return all;
}

/// An instance's name without its arch, so that the same kernels of two archs meet.
counts without_arch(const counts& instances) {
    counts all;
    for (const auto& [name, n] : instances)
        for (std::size_t side = 0; side < 2; ++side)
            all[name.substr(0, name.rfind('.'))][side] += n[side];
    return all;
}

value differing(const counts& all) {
    value out = value::object();
    for (const auto& [name, n] : all)
        if (n[0] != n[1]) out[name] = n;
    return out;
}

/// Launches that were measured as planned: how many, their time, and how many are slower than
/// predicted.
struct launch_times {
    int launches = 0, slower = 0;
    double us = 0, predicted_us = 0;

    double mean() const { return us / launches; }
    value as_json() const {  // null: no launch was measured
        if (launches == 0) return {};
        return {{"launches", launches},
                {"us", mean()},
                {"predicted_us", predicted_us / launches},
                {"slower", slower}};
    }
};

/// The mean times of a launch on both sides, by chain and work, where one side alone is measured or
/// the measured times differ by a hundredth at least.
value measured_difference(const std::array<value, 2>& sides) {
    std::map<std::string, std::array<launch_times, 2>> all;
    for (std::size_t side = 0; side < 2; ++side)
        for (const value& s : sides[side].value("steps", value::array())) {
            const value measured = s.value("measured", value::object());
            if (!measured.contains("us") || measured.contains("instance")) continue;
            launch_times& t = all[s.value("chain", std::string("?")) + ": " +
                                  s.value("work", std::string())][side];
            ++t.launches, t.slower += measured.value("slower", false);
            t.us += measured["us"].get<double>();
            t.predicted_us += s.value("predicted_us", 0.0);
        }
    value out = value::object();
    for (const auto& [work, t] : all) {
        const bool both = t[0].launches > 0 && t[1].launches > 0;
        if (!both || std::abs(t[1].mean() - t[0].mean()) >= 0.01 * t[0].mean())
            out[work] = {t[0].as_json(), t[1].as_json()};
    }
    return out;
}

value difference(const std::array<value, 2>& sides, const std::array<std::string, 2>& names) {
    value out{{"a", names[0]}, {"b", names[1]}, {"totals", value::object()}};
    for (const quantity& q : quantities)
        out["totals"][q.name] = {number(sides[0], q, names[0]), number(sides[1], q, names[1])};
    const counts instances = count_of(sides, "steps", "instance");
    const bool one_arch = sides[0].value("arch", value()) == sides[1].value("arch", value());
    out["instances"] = differing(one_arch ? instances : without_arch(instances));
    out["norms"] = differing(count_of(sides, "norms", "placement"));
    out["not_fused"] = differing(count_of(sides, "not_fused", "reason"));
    if (sides[0].contains("measured") && sides[1].contains("measured")) {
        for (const quantity& q : measured_quantities)
            out["totals"][q.name] = {number(sides[0], q, names[0]), number(sides[1], q, names[1])};
        out["measured_us"] = measured_difference(sides);
    }
    return out;
}

/// "7.0! 5.2": measured, whether that is slower, and predicted.
std::string times_text(const value& side) {
    if (side.is_null()) return fmt::format("{:>12}  {:>9}", "-", "-");
    return fmt::format("{:>12.1f}{} {:>9.1f}", side["us"].get<double>(),
                       side["slower"].get<int>() > 0 ? '!' : ' ',
                       side["predicted_us"].get<double>());
}

void put_measured(fmt::memory_buffer& out, const value& differing) {
    const auto put = std::back_inserter(out);
    fmt::format_to(
        put, "\nus of a launch, mean, by chain and work{}\n",
        differing.empty() ? ": no difference" : "; ! more than a quarter slower than predicted");
    if (differing.empty()) return;
    fmt::format_to(put, "{:>12}  {:>9} {:>12}  {:>9} {:>12}\n", "A", "predicted", "B", "predicted",
                   "B - A");
    for (const auto& [work, t] : differing.items()) {
        const bool both = !t[0].is_null() && !t[1].is_null();
        const std::string change =
            both ? fmt::format("{:+.1f}", t[1]["us"].get<double>() - t[0]["us"].get<double>()) : "";
        fmt::format_to(put, "{} {} {:>12}  {}\n", times_text(t[0]), times_text(t[1]), change,
                       printable(work));
    }
}

std::string as_text(const value& d) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put, "A  {}\nB  {}\n\n", printable(d["a"].get<std::string>()),
                   printable(d["b"].get<std::string>()));
    fmt::format_to(put, "{:>12} {:>12} {:>12}\n", "A", "B", "B - A");
    for (const auto& [name, v] : d["totals"].items()) {
        const double a = v[0].get<double>(), b = v[1].get<double>();
        fmt::format_to(put, "{:>12.0f} {:>12.0f} {:>+12.0f}  {}\n", a, b, b - a, name);
    }
    for (const auto& [list, title] : {std::pair{"instances", "steps of an instance"},
                                      {"norms", "norms by the launch that makes them"},
                                      {"not_fused", "nodes not fused, or not as far, by reason"}}) {
        fmt::format_to(put, "\n{}{}\n", title, d[list].empty() ? ": no difference" : "");
        for (const auto& [name, n] : d[list].items())
            fmt::format_to(put, "{:>12} {:>12} {:>+12}  {}\n", n[0].get<int>(), n[1].get<int>(),
                           n[1].get<int>() - n[0].get<int>(), printable(name));
    }
    if (d.contains("measured_us")) put_measured(out, d["measured_us"]);
    return fmt::to_string(out);
}

int diff(const diff_options& o) {
    refuse_unwritable(o.output.file);
    if (o.b.empty() && o.archs.size() == 1 && !o.optimized)
        throw failure(
            "one file and one arch make no difference: name a second file, two archs "
            "(--arch sm_80,sm_90), or --optimized");
    std::array<value, 2> sides;
    std::array<std::string, 2> names;
    int planned = 0;
    for (std::size_t side = 0; side < 2; ++side) {
        const std::string& file = side == 0 || o.b.empty() ? o.a : o.b;
        const std::string& arch = side == 0 ? o.archs.front() : o.archs.back();
        const bool better = o.optimized && side == 1;
        sides[side] = report_in(file);
        if (!sides[side].is_null() && (o.b.empty() || o.optimized))
            throw failure(file +
                          ": is a report of explain, whose graph cannot be planned again: "
                          "name a graph file");
        if (sides[side].is_null()) sides[side] = explained(file, arch, better, o), ++planned;
        names[side] = fmt::format("{}, {}{}", file, sides[side].value("arch", std::string("?")),
                                  better ? ", optimized" : "");
    }
    if (!o.measured.empty() && planned == 0)
        throw failure("both files are reports of explain: name the record of --measured there");
    const value d = difference(sides, names);
    write_result(o.output, o.output.json ? json_text(d) : as_text(d));
    return exit_ok;
}

}  // namespace

void add_diff(CLI::App& app, int& code) {
    auto o = std::make_shared<diff_options>();
    CLI::App* command = app.add_subcommand("diff",
                                           "Say how the plans of A and B differ: launches, bytes, "
                                           "predicted times, instances, and what "
                                           "is not fused. B is A if it is left out.");
    command->footer(exit_code_help);
    const char* const file_help = "A graph file, or what explain --json wrote";
    command->add_option("A", o->a, file_help)->required()->type_name("FILE");
    command->add_option("B", o->b, file_help)->type_name("FILE");
    command->add_option("--arch", o->archs, "An instance set for both, or A's,B's")
        ->delimiter(',')
        ->expected(1, 2)
        ->type_name("ARCH")
        ->capture_default_str();
    command->add_flag("--optimized", o->optimized,
                      "Plan B as if the engine had asked for an order before it allocated");
    command->add_option("--measured", o->measured, measured_help)->type_name("FILE");
    add_output_options(*command, o->output);
    command->callback([o, command, &code] {
        o->arch_is_named = command->count("--arch") > 0;
        code = diff(*o);
    });
}

}  // namespace catena::tool
