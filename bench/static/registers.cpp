// bench_static registers: what ptxas reports of an arch's families. Every row is there, none
// spills, waits for each wgmma or takes their groups apart, registers fit the launch bounds and are
// those on record, as is what a warp of a matvec issues.
#include "registers.hpp"
#include "commands.hpp"
#include "families.hpp"
#include "sass.hpp"
#include "text_file.hpp"
#include "warp_code.hpp"

#include "catena/pick/config.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

namespace catena::bench {

namespace {

using namespace catena::evidence;

/// Every fault of a compiled row, as a sentence.
std::string faults(const row& r, const std::string& name,
                   const std::vector<compiled_kernel>& kernels, const arch& target) {
    for (const compiled_kernel& k : kernels) {
        if (k.symbol != symbol(r, target)) continue;
        std::string out;
        if (k.spilled_bytes != 0)
            out += name + " spills " + std::to_string(k.spilled_bytes) + " bytes\n";
        if (k.stack_bytes != 0)
            out += name + " keeps " + std::to_string(k.stack_bytes) + " bytes in local memory\n";
        if (blocks_by_registers(k.registers, r.policy.threads(), target) < r.policy.min_blocks())
            out += name + " needs more registers than its launch bounds allow\n";
        return out;
    }
    return name + " was not compiled\n";
}

/// Is a matvec not counted for one of the formats that a record has counts for?
bool lacks_counts(const row& r, const warp_codes& codes) {
    if (r.computes.kind() != skeleton::matvec) return false;
    const int formats =
        std::min(r.computes.product().weights.size(), static_cast<int>(std::size(codes.of)));
    return std::count(codes.of, codes.of + formats, warp_code{}) != 0;
}

/// What ptxas said of families, once where they were compiled together, and behind that what their
/// matvecs' warps issue.
std::string words(const std::vector<compiled_family>& files, const arch& target) {
    std::string out;
    for (const compiled_family& f : files)
        if (out.find(f.result.said) == std::string::npos) out += f.result.said;
    for (const compiled_family& f : files) {
        if (f.family.rows.front().computes.kind() != skeleton::matvec) continue;
        for (const sass_function& code : read_sass(f.result.cubin, target))
            for (const row& r : f.family.rows)
                if (symbol(r, target) == code.name)
                    out += warp_code_line(code.name, warp_code_of(r, code));
    }
    return out;
}

/// What is wrong with the rows of a family, beside what is on record of them.
std::string complaints_about(const compiled_family& f, const arch& target,
                             const std::vector<compiled_kernel>& kernels,
                             const records_by_name& known, bool& off_record) {
    std::string out;
    const records_by_name now = records_of(target, f.family.rows, kernels);
    for (const row& r : f.family.rows) {
        const std::string name = row_name(r, target.name);
        out += faults(r, name, kernels, target);
        if (now.count(name) == 0) continue;
        if (lacks_counts(r, now.at(name).code))
            out += name +
                   " has a format without a way that fills a stage and multiplies one: "
                   "see evidence/warp_code.cpp\n";
        const auto on_record = known.find(name);
        const row_record was = on_record == known.end() ? row_record{} : on_record->second;
        if (now.at(name) == was) continue;
        off_record = true;
        out += name + " uses " + std::to_string(now.at(name).registers) + " registers, " +
               std::to_string(was.registers) + " are on record; " +
               warp_code_line(name, now.at(name).code);
    }
    return out;
}

struct registers_request {
    family_options of;
    std::string log_file;
};

int run(const registers_request& asked) {
    const arch& target = asked.of.target();
    const std::vector<compiled_family> files = make_families(kept_family, asked.of);
    const std::string log = words(files, target);
    std::string complaints;
    const std::vector<compiled_kernel> kernels = parse_ptxas(log);
    const records_by_name known = read_registers(CATENA_SOURCE_DIR);
    bool off_record = false;
    for (const compiled_family& f : files)
        complaints += complaints_about(f, target, kernels, known, off_record);
    if (log.find("are serialized") != std::string::npos)
        complaints += "a warpgroup's multiplications are serialized: " + asked.log_file + "\n";
    if (log.find("warpgroup.arrive is injected") != std::string::npos)
        complaints +=
            "a group of a warpgroup's multiplications is taken apart: " + asked.log_file + "\n";
    tool::write_text(asked.log_file, log);
    std::printf("%s", complaints.c_str());
    if (off_record)
        std::printf("to put them on record: generate --registers %s\n", asked.log_file.c_str());
    return complaints.empty() ? 0 : 1;
}

}  // namespace

void add_registers(CLI::App& app, int& code) {
    const auto asked = std::make_shared<registers_request>();
    CLI::App& command = *app.add_subcommand(
        "registers",
        "Checks what ptxas reports of an arch's instances: none spills, registers fit the launch "
        "bounds, and they and what a warp of a matvec issues are those on record. Exit code 1: "
        "something else was found.");
    add_family_options(command, asked->of);
    command.add_option("--log", asked->log_file, "What ptxas said, for generate --registers")
        ->required();
    command.callback([asked, &code] { code = run(*asked); });
}

}  // namespace catena::bench
