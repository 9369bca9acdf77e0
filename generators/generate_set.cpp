#include "generate_set.hpp"

#include "files.hpp"
#include "needed.hpp"
#include "render_set.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>

namespace catena::generator {

namespace {

/// The archs that have a name of `names`, in the registry's order.
std::vector<const arch*> archs_named(const std::vector<std::string>& names) {
    std::string known;
    std::vector<const arch*> out;
    for (const arch& a : arch_registry) {
        if (a.compute_capability == 0) continue;
        known += " " + std::string(a.name);
        if (std::find(names.begin(), names.end(), a.name) != names.end()) out.push_back(&a);
    }
    for (const std::string& name : names)
        if (std::none_of(out.begin(), out.end(), [&](const arch* a) { return a->name == name; }))
            throw std::runtime_error("no arch is called '" + name + "': choose from" + known);
    return out;
}

}  // namespace

int generate_set(const char* name, const catalogue& all, policy_change change, int argc,
                 char** argv) try {
    std::vector<std::string> archs, graphs;
    for (int i = 2; i < argc; ++i) {
        const std::string one = argv[i];
        (one.find('.') == one.npos ? archs : graphs).push_back(one);
    }
    if (archs.empty()) throw std::runtime_error("usage: OUT ARCH... [GRAPH.json|GRAPH.json.gz]...");
    const std::filesystem::path out = argv[1];
    const std::vector<computation> computations = computations_of(all);
    std::vector<instance_set> sets;
    for (const arch* target : archs_named(archs))
        sets.push_back(expand_for(*target, computations, change));
    if (!graphs.empty()) keep_needed(sets, all, graphs);
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
