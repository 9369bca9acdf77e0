#include "registers.hpp"

#include "catena/pick/name.hpp"

#include "files.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace catena::generator {

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
    std::vector<compiled_kernel> found;
    std::istringstream lines(log);
    std::smatch m;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, m, entry)) {
            found.push_back({.symbol = m[1]});
        } else if (!found.empty() && std::regex_search(line, m, frame)) {
            found.back().stack_bytes += std::stoi(m[1]);
            found.back().spilled_bytes += std::stoi(m[2]) + std::stoi(m[3]);
        } else if (!found.empty() && std::regex_search(line, m, used)) {
            found.back().registers = std::stoi(m[1]);
        }
    }
    return found;
}

registers_by_name registers_of(const instance_set& set,
                               const std::vector<compiled_kernel>& kernels) {
    registers_by_name out;
    for (const row& r : set.rows) {
        const std::string wanted = symbol(r, *set.target);
        for (const compiled_kernel& k : kernels)
            if (k.symbol == wanted) out[row_name(r, set.target->name)] = k.registers;
    }
    return out;
}

std::string registers_path(const arch& target) {
    return "instances/" + std::string(target.name) + "/registers.txt";
}

registers_by_name read_registers(const std::filesystem::path& root) {
    registers_by_name known;
    for (const arch& target : arch_registry) {
        std::istringstream lines(read_text(root / registers_path(target)));
        int number = 0;
        for (std::string line; std::getline(lines, line);) {
            ++number;
            if (line.empty() || line.front() == '#') continue;
            std::istringstream words(line);
            std::string name, rest;
            int registers = 0;
            if (!(words >> name >> registers) || registers <= 0 || words >> rest)
                throw std::runtime_error(registers_path(target) + ":" + std::to_string(number) +
                                         ": expected '<row name> <registers>', found '" + line +
                                         "'");
            known[name] = registers;
        }
    }
    return known;
}

std::string registers_text(const instance_set& set, const registers_by_name& known) {
    std::string out = "# Registers of a thread, as ptxas reports them for " +
                      std::string(set.target->name) + ". Written by generate --registers LOG.\n";
    for (const row& r : set.rows) {
        const std::string name = row_name(r, set.target->name);
        const auto at = known.find(name);
        if (at != known.end()) out += name + " " + std::to_string(at->second) + "\n";
    }
    return out;
}

}  // namespace catena::generator
