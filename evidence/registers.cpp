#include "registers.hpp"

#include "catena/pick/name.hpp"

#include "text_file.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace catena::evidence {

namespace {

std::string numbers_of(const warp_codes& all) {
    std::string out;
    for (const warp_code& c : all.of) {
        if (c == warp_code{}) break;
        for (const int count : {c.stage_issues, c.stage_cycles, c.result_issues, c.result_cycles,
                                c.product_issues, c.product_cycles})
            out += " " + std::to_string(count);
    }
    return out;
}

/// A whole number from 0 on that an int holds; else nothing.
std::optional<int> count_in(const std::string& word) {
    int count = 0;
    const char* const end = word.data() + word.size();
    const auto [read, error] = std::from_chars(word.data(), end, count);
    if (error != std::errc() || read != end || count < 0) return std::nullopt;
    return count;
}

int count_of_log(const std::string& digits) {
    if (const std::optional<int> count = count_in(digits)) return *count;
    throw std::runtime_error("the compiler's log has " + digits + " where a count was expected");
}

/// The counts that `words` ends with: six for each of none, one or two formats; else nothing.
std::optional<warp_codes> codes_in(std::istream& words) {
    std::vector<int> counts;
    for (std::string word; words >> word;) {
        const std::optional<int> count = count_in(word);
        if (!count) return std::nullopt;
        counts.push_back(*count);
    }
    warp_codes out;
    if (counts.size() % 6 != 0 || counts.size() / 6 > std::size(out.of)) return std::nullopt;
    for (std::size_t i = 0; i < counts.size(); i += 6)
        out.of[i / 6] = {counts[i],     counts[i + 1], counts[i + 2],
                         counts[i + 3], counts[i + 4], counts[i + 5]};
    return out;
}

}  // namespace

std::string warp_code_line(const std::string& symbol, const warp_codes& code) {
    return "a warp of '" + symbol + "' issues" + numbers_of(code) + "\n";
}

std::string symbol(const row& r, const arch& target) {
    std::string out = "catena_" + row_name(r, target.name);
    std::replace(out.begin(), out.end(), '.', '_');
    return out;
}

std::vector<compiled_kernel> parse_ptxas(const std::string& log) {
    static const std::regex entry("Compiling entry function '([^']+)'");
    static const std::regex frame(
        "(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes spill");
    static const std::regex used("Used (\\d+) registers");
    static const std::regex issues("a warp of '([^']+)' issues(.*)");
    std::vector<compiled_kernel> found;
    std::istringstream lines(log);
    std::smatch m;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, m, entry)) {
            found.push_back({.symbol = m[1]});
        } else if (!found.empty() && std::regex_search(line, m, frame)) {
            found.back().stack_bytes += count_of_log(m[1]);
            found.back().spilled_bytes += count_of_log(m[2]) + count_of_log(m[3]);
        } else if (!found.empty() && std::regex_search(line, m, used)) {
            found.back().registers = count_of_log(m[1]);
        } else if (std::regex_search(line, m, issues)) {
            std::istringstream counts(m[2]);
            const std::optional<warp_codes> code = codes_in(counts);
            for (compiled_kernel& k : found)
                if (k.symbol == m[1] && code) k.code = *code;
        }
    }
    return found;
}

records_by_name records_of(const arch& target, const std::vector<row>& rows,
                           const std::vector<compiled_kernel>& kernels) {
    records_by_name out;
    for (const row& r : rows) {
        const std::string wanted = symbol(r, target);
        for (const compiled_kernel& k : kernels)
            if (k.symbol == wanted) out[row_name(r, target.name)] = {k.registers, k.code};
    }
    return out;
}

std::string registers_path(const arch& target) {
    return "instances/" + std::string(target.name) + "/registers.txt";
}

records_by_name read_register_file(const std::filesystem::path& file) {
    records_by_name known;
    std::istringstream lines(tool::read_text(file));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.empty() || line.front() == '#') continue;
        std::istringstream words(line);
        std::string name, count;
        words >> name >> count;
        const int registers = count_in(count).value_or(0);
        const std::optional<warp_codes> code = codes_in(words);
        if (registers <= 0 || !code)
            throw std::runtime_error(
                file.string() + ":" + std::to_string(number) +
                ": expected '<row name> <registers>' and six counts or none, found '" + line + "'");
        known[name] = {registers, *code};
    }
    return known;
}

records_by_name read_registers(const std::filesystem::path& root) {
    records_by_name known;
    for (const arch& target : arch_registry)
        known.merge(read_register_file(root / registers_path(target)));
    return known;
}

std::string registers_text(const arch& target, const std::vector<row>& rows,
                           const records_by_name& known) {
    std::string out = "# Registers of a thread, as ptxas reports them for " +
                      std::string(target.name) +
                      ". Behind them, of a matvec: what a warp takes for\n# a stage "
                      "(issues, cycles), for the results of a group of rows, and what of a "
                      "stage is its product's.\n# Written by generate --registers LOG.\n";
    for (const row& r : rows) {
        const std::string name = row_name(r, target.name);
        const auto at = known.find(name);
        if (at == known.end()) continue;
        out +=
            name + " " + std::to_string(at->second.registers) + numbers_of(at->second.code) + "\n";
    }
    return out;
}

}  // namespace catena::evidence
