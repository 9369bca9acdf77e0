// catena coverage: the declared domain of an arch's instances as a table, holes marked.
#include "command.hpp"
#include "json_text.hpp"
#include "output.hpp"
#include "tables.hpp"

#include "catena/pick/domain.hpp"
#include "catena/pick/name.hpp"
#include "catena/pick/pick.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <memory>
#include <vector>

namespace catena::tool {
namespace {

struct coverage_options {
    std::string arch;
    output_options output;
};

/// One weight format at one number of columns.
struct cell {
    std::int64_t columns = 0;
    int problems = 0, served = 0;
    std::string by;      ///< what serves the plain problem: "matvec", "matmul"
    std::string absent;  ///< declared: why nothing should serve it
    std::string first;   ///< the first problem that nothing serves, and why
    bool hole() const { return served < problems && absent.empty(); }
};

struct format_line {
    format weights;
    std::vector<cell> cells;
};

std::string problem_text(const product_problem& p) {
    return fmt::format("k {}, rows {}, {} columns{}, alignment {}, epilogue {}", p.k,
                       p.member[0].rows, p.columns, p.expert ? " of experts" : "", p.alignment,
                       p.needs.epilogue.bits);
}

cell cell_of(const table& t, format weights, std::int64_t columns) {
    cell out;
    out.columns = columns;
    if (const char* why = absence_of(weights, columns, *t.target)) out.absent = why;
    each_group_problem(format_set::of(weights), columns, [&](const product_problem& p) {
        const picked best = pick(p, t);
        ++out.problems;
        if (best.row >= 0) {
            ++out.served;
            if (out.by.empty()) out.by = name(t.rows[best.row].computes.kind());
        } else if (out.first.empty()) {
            out.first = fmt::format("{}: {}", problem_text(p), sentence(best.nearest));
        }
    });
    return out;
}

std::vector<format_line> lines_of(const table& t) {
    std::vector<format_line> out;
    for (int f = 1; f < format_count; ++f) {
        const auto weights = static_cast<format>(f);
        if (info(weights).role != format_role::weight && !is_float(weights)) continue;
        out.push_back({weights, {}});
        for (const std::int64_t columns : domain_columns)
            out.back().cells.push_back(cell_of(t, weights, columns));
    }
    return out;
}

std::string cell_text(const cell& c) {
    if (c.served == c.problems) return c.by;
    return c.absent.empty() ? fmt::format("{}/{}", c.served, c.problems) : "absent";
}

std::string as_text(const table& t, const std::vector<format_line>& lines) {
    fmt::memory_buffer out;
    const auto put = std::back_inserter(out);
    fmt::format_to(put,
                   "Rows of {} for a weight format (down) at so many columns (across):\n\n{:<10}",
                   t.target->name, "");
    for (const std::int64_t columns : domain_columns) fmt::format_to(put, "{:>8}", columns);
    fmt::format_to(put, "\n");
    std::string notes;
    int holes = 0;
    for (const format_line& line : lines) {
        fmt::format_to(put, "{:<10}", name(line.weights));
        std::vector<std::int64_t> at;
        std::string first;
        for (const cell& c : line.cells) {
            fmt::format_to(put, "{:>8}", cell_text(c));
            if (!c.hole()) continue;
            if (at.empty()) first = c.first;
            at.push_back(c.columns);
        }
        fmt::format_to(put, "\n");
        holes += static_cast<int>(at.size());
        if (!at.empty())
            notes += fmt::format("hole: {} at {} columns; the first problem without a row: {}\n",
                                 name(line.weights), fmt::join(at, ", "), first);
        if (const std::string& why = line.cells.back().absent; !why.empty())
            notes += fmt::format("absent: {}: {}\n", name(line.weights), why);
    }
    fmt::format_to(put, "\n{}{} hole{}\n", notes, holes, holes == 1 ? "" : "s");
    return fmt::to_string(out);
}

std::string as_json(const table& t, const std::vector<format_line>& lines) {
    nlohmann::ordered_json root{{"arch", t.target->name},
                                {"formats", nlohmann::ordered_json::array()}};
    for (const format_line& line : lines) {
        nlohmann::ordered_json cells = nlohmann::ordered_json::array();
        for (const cell& c : line.cells)
            cells.push_back({{"columns", c.columns},
                             {"problems", c.problems},
                             {"served", c.served},
                             {"by", c.by},
                             {"absent", c.absent},
                             {"hole", c.hole()},
                             {"first_unserved", c.first}});
        root["formats"].push_back({{"format", name(line.weights)}, {"cells", cells}});
    }
    return json_text(root);
}

int print_coverage(const coverage_options& o) {
    const table t = table_for(o.arch);
    const std::vector<format_line> lines = lines_of(t);
    write_result(o.output, o.output.json ? as_json(t, lines) : as_text(t, lines));
    for (const format_line& line : lines)
        for (const cell& c : line.cells)
            if (c.hole()) return exit_check_failed;
    return exit_ok;
}

}  // namespace

void add_coverage(CLI::App& app, int& code) {
    auto o = std::make_shared<coverage_options>();
    CLI::App* command = app.add_subcommand(
        "coverage", "Show which weight formats and columns an instance set serves");
    command->footer(
        std::string("A hole, which neither a row nor a declared absence covers, is exit code 1. ") +
        exit_code_help);
    add_arch(*command, o->arch)->required();
    add_output_options(*command, o->output);
    command->callback([o, &code] { code = print_coverage(*o); });
}

}  // namespace catena::tool
