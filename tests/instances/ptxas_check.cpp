// ptxas_check NVCC ARCH BUILD LOG FAMILY... : checks what ptxas reports of families of an arch's
// set (all: every one): every row is there, none spills, waits for each wgmma or takes their groups
// apart, registers fit the launch bounds and are those on record, as is what a warp of a matvec
// issues. What the build has compiled, it has kept in BUILD/compiled; ptxas is run on what it has
// as PTX; the rest is compiled. The words go to LOG.
#include "catena_catalogue.hpp"
#include "nvcc.hpp"
#include "policies.hpp"
#include "registers.hpp"
#include "sass.hpp"
#include "text_file.hpp"
#include "tuning.hpp"
#include "warp_code.hpp"

#include "catena/pick/config.hpp"
#include "catena/pick/name.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

namespace {

using namespace catena;
using namespace catena::evidence;
using namespace catena::generator;

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

/// What ptxas says of a family, as the build has kept it, or now; and what its matvecs' warps
/// issue.
std::string words(const std::string& family, const instance_set& set, const std::string& nvcc,
                  const std::filesystem::path& build, const std::string& log) {
    const arch& target = *set.target;
    const std::filesystem::path kept = build / "compiled" / target.name;
    const bool matvec = family.compare(0, 6, "matvec") == 0;
    if (!matvec && std::filesystem::exists(kept / (family + ".cu")))
        return tool::read_text(kept / (family + ".cu"));
    std::printf("compiling %s of %s\n", family.c_str(), target.name);
    std::fflush(stdout);
    const compiled_file compiled =
        assemble(nvcc, target, {CATENA_SOURCE_DIR "/include"}, family, log);
    std::string out = compiled.said;
    if (matvec)
        for (const sass_function& f : read_sass(compiled.cubin, target))
            for (const row& r : set.rows)
                if (symbol(r, target) == f.name) out += warp_code_line(f.name, warp_code_of(r, f));
    return out;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 6) throw std::runtime_error("usage: ptxas_check NVCC ARCH BUILD LOG FAMILY...");
    const arch* target = arch_named(argv[2]);
    if (target == nullptr) throw std::runtime_error(std::string(argv[2]) + " is no arch");
    const std::set<std::string> families(argv + 5, argv + argc);
    const bool whole = families.count("all") != 0;

    const records_by_name known = read_registers(CATENA_SOURCE_DIR);
    const tunings measured = read_tunings(CATENA_SOURCE_DIR);
    std::string log, complaints;
    std::set<std::string> compiled;
    bool off_record = false;
    for (const instance_set& set : expand(computations_of(catena_catalogue()), {}, measured)) {
        if (set.target != target) continue;
        for (const row& r : set.rows) {
            const std::string f = family(r.computes);
            if (!whole && families.count(f) == 0) continue;
            if (!compiled.insert(f).second) continue;
            log += words(f, set, argv[1], argv[3], argv[4]);
        }
        for (const std::string& f : families)
            if (!whole && compiled.count(f) == 0)
                throw std::runtime_error(f + " is no family of " + target->name);
        const std::vector<compiled_kernel> kernels = parse_ptxas(log);
        const records_by_name now = records_of(*target, set.rows, kernels);
        for (const row& r : set.rows) {
            if (compiled.count(family(r.computes)) == 0) continue;
            const std::string name = row_name(r, target->name);
            complaints += faults(r, name, kernels, *target);
            if (now.count(name) != 0 && lacks_counts(r, now.at(name).code))
                complaints += name +
                              " has a format without a way that fills a stage and multiplies one: "
                              "see evidence/warp_code.cpp\n";
            const auto on_record = known.find(name);
            const row_record was = on_record == known.end() ? row_record{} : on_record->second;
            if (now.count(name) == 0 || now.at(name) == was) continue;
            off_record = true;
            complaints += name + " uses " + std::to_string(now.at(name).registers) +
                          " registers, " + std::to_string(was.registers) + " are on record; " +
                          warp_code_line(name, now.at(name).code);
        }
    }
    if (log.find("are serialized") != std::string::npos)
        complaints +=
            "a warpgroup's multiplications are serialized: " + std::string(argv[4]) + "\n";
    if (log.find("warpgroup.arrive is injected") != std::string::npos)
        complaints +=
            "a group of a warpgroup's multiplications is taken apart: " + std::string(argv[4]) +
            "\n";
    tool::write_text(argv[4], log);
    std::printf("%s", complaints.c_str());
    if (off_record) std::printf("to put them on record: generate --registers %s\n", argv[4]);
    return complaints.empty() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "ptxas_check: %s\n", error.what());
    return 2;
}
