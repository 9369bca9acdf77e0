#include "generate_set.hpp"

#include "files.hpp"
#include "render_set.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>

namespace catena::generator {

namespace {

/// The sets of the archs named, in the registry's order.
std::vector<instance_set> sets_of(const catalogue& all, const std::vector<std::string>& archs) {
    std::string known;
    for (const arch& a : arch_registry)
        if (a.compute_capability != 0) known += " " + std::string(a.name);
    for (const std::string& name : archs)
        if (const arch* a = arch_named(name.c_str()); a == nullptr || a->compute_capability == 0)
            throw std::runtime_error("no arch is called '" + name + "': choose from" + known);
    std::vector<instance_set> sets = expand(computations_of(all), {});
    std::erase_if(sets, [&](const instance_set& set) {
        return std::find(archs.begin(), archs.end(), set.target->name) == archs.end();
    });
    return sets;
}

}  // namespace

int generate_set(const char* name, const catalogue& all, int argc, char** argv) try {
    if (argc < 3) throw std::runtime_error("usage: OUT ARCH...");
    const std::filesystem::path out = argv[1];
    const std::vector<instance_set> sets = sets_of(all, {argv + 2, argv + argc});
    for (const rendered_file& file : render_set(name, all, sets))
        if (!std::filesystem::exists(out / file.path) || read_text(out / file.path) != file.content)
            write_text(out / file.path, file.content);
    for (const instance_set& set : sets)
        std::printf("%s: %zu rows of %s, %zu chains\n", name, set.rows.size(), set.target->name,
                    all.chains.size());
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s_generate: %s\n", name, error.what());
    return 2;
}

}  // namespace catena::generator
