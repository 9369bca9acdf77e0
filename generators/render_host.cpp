#include "render_host.hpp"

#include <algorithm>

namespace catena::generator {

namespace {

/// Host kernels a file: a few seconds of compilation each.
constexpr std::size_t kernels_per_file = 8;

/// The distinct (computation, policy) of all sets, families together and cut to files.
struct host_files {
    std::vector<family_rows> usual;   ///< in every build
    std::vector<family_rows> others;  ///< with CATENA_EVERY_ROW
};

std::vector<family_rows> cut(std::vector<row> rows, const std::string& prefix) {
    std::stable_sort(rows.begin(), rows.end(), [](const row& a, const row& b) {
        return family(a.computes) < family(b.computes);
    });
    std::vector<family_rows> files;
    for (const family_rows& f : families(rows))
        for (std::size_t first = 0; first < f.rows.size(); first += kernels_per_file) {
            const std::size_t end = std::min(first + kernels_per_file, f.rows.size());
            files.push_back({prefix + f.name + "_" + std::to_string(first / kernels_per_file),
                             {f.rows.begin() + static_cast<std::ptrdiff_t>(first),
                              f.rows.begin() + static_cast<std::ptrdiff_t>(end)}});
        }
    return files;
}

host_files files_of(const std::vector<instance_set>& all) {
    std::vector<row> usual, others;
    const auto take = [&](bool wanted, std::vector<row>& to) {
        for (const instance_set& set : all)
            for (const row& r : set.rows) {
                const auto same = [&](const row& other) {
                    return other.computes == r.computes && other.numbers == r.numbers;
                };
                if (in_every_build(*set.target, r.computes) == wanted &&
                    std::none_of(usual.begin(), usual.end(), same) &&
                    std::none_of(others.begin(), others.end(), same))
                    to.push_back(r);
            }
    };
    take(true, usual);
    take(false, others);
    return {cut(std::move(usual), ""), cut(std::move(others), "other_")};
}

rendered_file kernels_cpp(const instance_set& host, const family_rows& f) {
    std::string out = "// Host kernels: " + f.name +
                      ".\n#include \"catena/instances/host_instance.hpp\"\n\n" +
                      "namespace catena::instances::host_" + f.name + " {\n\n";
    std::vector<computation> computations;
    for (const row& r : f.rows)
        if (std::find(computations.begin(), computations.end(), r.computes) == computations.end()) {
            out += "constexpr computation c" + std::to_string(computations.size()) + " = " +
                   code(r.computes) + ";\n";
            computations.push_back(r.computes);
        }
    const std::string count = std::to_string(f.rows.size());
    out += "\nextern const host_instance kernels[" + count + "];\nconst host_instance kernels[" +
           count + "] = {\n";
    for (const row& r : f.rows) {
        const auto at = std::find(computations.begin(), computations.end(), r.computes);
        out += "    host_instance_of<c" + std::to_string(at - computations.begin()) + ", policy" +
               code(r.numbers) + ">(),\n";
    }
    return {folder(host) + f.name + ".cpp",
            out + "};\n\n}  // namespace catena::instances::host_" + f.name + "\n"};
}

/// A piece of code for each file; those of the others only where they are compiled.
template <class Code>
std::string for_each_file(const host_files& files, const Code& code) {
    std::string out;
    for (const family_rows& f : files.usual) out += code(f);
    if (files.others.empty()) return out;
    out += "#if CATENA_EVERY_ROW\n";
    for (const family_rows& f : files.others) out += code(f);
    return out + "#endif\n";
}

rendered_file table_cpp(const instance_set& host, const host_files& files) {
    std::string out =
        "// The table of the host set, and the list of all host kernels.\n"
        "#include \"catena/instances/host.hpp\"\n\n"
        "#include \"catena/instances/host_instance.hpp\"\n\n"
        "namespace catena::instances {\n\n" +
        table_data();
    out += for_each_file(files, [](const family_rows& f) {
        return "namespace host_" + f.name + " { extern const host_instance kernels[" +
               std::to_string(f.rows.size()) + "]; }\n";
    });
    out += "\nconst host_family host_families[] = {\n";
    out += for_each_file(files, [](const family_rows& f) {
        return "    {host_" + f.name + "::kernels, " + std::to_string(f.rows.size()) + "},\n";
    });
    out +=
        "};\nconst int host_family_count = sizeof(host_families) / sizeof(host_family);\n\n"
        "table host() {\n    table t;\n    t.target = arch_named(\"host\");\n    t.rows = rows;\n"
        "    t.row_count = " +
        std::to_string(host.rows.size()) +
        ";\n    t.chains = chains;\n"
        "    t.chain_count = sizeof(chains) / sizeof(chains[0]);\n    return on_host(t);\n}\n\n"
        "}  // namespace catena::instances\n";
    return {folder(host) + "table.cpp", out};
}

}  // namespace

std::vector<rendered_file> render_host(const instance_set& host,
                                       const std::vector<instance_set>& all) {
    const host_files kernels = files_of(all);
    std::vector<rendered_file> files = {
        rows_inc(host), table_cpp(host, kernels),
        set_header(host, "#include \"catena/instances/on_host.hpp\"\n",
                   "/// The table of the host executor, kernels included.\ntable host();\n")};
    for (const auto* list : {&kernels.usual, &kernels.others})
        for (const family_rows& f : *list) files.push_back(kernels_cpp(host, f));
    return files;
}

}  // namespace catena::generator
