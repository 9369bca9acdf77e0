// Expands the catalogue and the policies into instances/ and include/catena/instances/.
#include "catena_catalogue.hpp"
#include "engine.hpp"
#include "files.hpp"
#include "registers.hpp"
#include "render.hpp"
#include "text_file.hpp"
#include "tuning.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>

namespace {

using namespace catena::evidence;
using namespace catena::generator;
using catena::warp_codes, catena::tool::read_text, catena::tool::write_text;

/// Takes over what ptxas reported. A log need not cover every arch or row. A matvec that nobody
/// counted was only compiled in the file of those that were asked for.
records_by_name record_registers(const std::filesystem::path& root, const std::string& log) {
    const tunings tuned = read_tunings(root);
    const std::vector<compiled_kernel> kernels = parse_ptxas(read_text(log));
    if (kernels.empty())
        throw std::runtime_error(log + " names no kernel: give the output of nvcc -Xptxas -v");
    records_by_name known = read_registers(root);
    for (const instance_set& set : expand(computations_of(catena_catalogue()), {}, tuned)) {
        const records_by_name measured = records_of(*set.target, set.rows, kernels);
        if (measured.empty()) continue;
        for (const auto& [name, record] : measured) {
            const bool counted = !(record.code == warp_codes{});
            if (counted || known[name].code == warp_codes{}) known[name] = record;
        }
        write_text(root / registers_path(*set.target),
                   registers_text(*set.target, set.rows, known));
        std::printf("%s: %zu rows\n", registers_path(*set.target).c_str(), measured.size());
    }
    return known;
}

}  // namespace

int main(int argc, char** argv) try {
    CLI::App app{
        "Expands generators/catalogue.hpp and generators/policies.cpp into the instance sets."};
    std::string root = CATENA_SOURCE_DIR;
    std::string log;
    bool check = false;
    app.add_option("--root", root, "Project root to read from and write to")
        ->check(CLI::ExistingDirectory);
    app.add_option("--registers", log, "Output of nvcc -Xptxas -v, to record registers from")
        ->check(CLI::ExistingFile);
    app.add_flag("--check", check, "Write nothing; exit with 1 when a file differs");
    CLI11_PARSE(app, argc, argv);
    if (!std::filesystem::exists(std::filesystem::path(root) / "generators/catalogue.hpp"))
        throw std::runtime_error(root +
                                 " is not the project's root: it has no generators/catalogue.hpp");

    const records_by_name records =
        log.empty() ? read_registers(root) : record_registers(root, log);
    const catalogue all = catena_catalogue();
    const tunings measured = read_tunings(root);
    const std::vector<rendered_file> files =
        render(all.chains, expand(computations_of(all), records, measured, read_engine(root)));
    const std::vector<difference> found = check ? compare(files, root) : update(files, root);
    for (const difference& d : found) std::printf("%s\n", sentence(d).c_str());
    if (check && !found.empty()) std::printf("to mend it: generate --root %s\n", root.c_str());
    if (!check) std::printf("%zu files, %zu written or removed\n", files.size(), found.size());
    return check && !found.empty() ? 1 : 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "generate: %s\n", error.what());
    return 2;
}
