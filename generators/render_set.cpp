#include "render_set.hpp"

#include "render_cuda.hpp"

#include "catena/pick/name.hpp"

#include <algorithm>
#include <utility>

namespace catena::generator {

namespace {

/// A row's launch, formats and policy: its name, as the macros take it.
std::string name_arguments(const row& r) {
    const computation& c = r.computes;
    return launch_part(c) + ", " + formats_part(c) + ", " + policy_part(r.policy);
}

std::string includes(const naming& names, const std::string& instances) {
    return "#include \"" + names.headers + "computations.hpp\"\n#include \"catena/instances/" +
           instances + "\"\n" + include_ops(names) + "\n";
}

/// A computation and policy once, however many sets have it.
rendered_file kernels_cpp(const std::vector<instance_set>& sets, skeleton kind,
                          const naming& names) {
    std::vector<std::pair<computation, policy>> seen;
    std::string kernels;
    for (const instance_set& set : sets)
        for (const row& r : set.rows) {
            const std::pair<computation, policy> body(r.computes, r.policy);
            if (r.computes.kind() != kind ||
                std::find(seen.begin(), seen.end(), body) != seen.end())
                continue;
            seen.push_back(body);
            kernels += "    CATENA_HOST_KERNEL(" + computation_name(r.computes) + ", " +
                       policy_part(r.policy) + ")\n";
        }
    const std::string family = std::string(name(kind)) + "_kernels";
    return {"instances/host/" + std::string(name(kind)) + ".cpp",
            includes(names, "host_instance.hpp") + opened(names) +
                "constexpr host_instance kernels[] = {\n" + kernels +
                "    {}};  // an end, for there may be none\n\nextern const host_family " + family +
                ";\nconst host_family " + family +
                " = {kernels, sizeof(kernels) / sizeof(kernels[0]) - 1};\n\n}  // namespace " +
                names.space + "\n"};
}

std::vector<rendered_file> on_host(const naming& names) {
    std::string declared, listed;
    for (const skeleton kind : skeletons) {
        declared += "extern const host_family " + std::string(name(kind)) + "_kernels;\n";
        listed += std::string(listed.empty() ? "" : ", ") + "&" + name(kind) + "_kernels";
    }
    return {{"include/" + names.headers + "on_host.hpp",
             "// The sets with host kernels: what runs a plan for any arch without its GPU.\n"
             "#pragma once\n\n#include \"catena/instances/on_host.hpp\"\n\nnamespace " +
                 names.space +
                 " {\n\nextern const catena::instances::host_family* const host_families[];\n"
                 "extern const int host_family_count;\n\n/// `described`, one of these sets, with "
                 "host kernels and the host "
                 "executor's launch.\ncatena::table on_host(const catena::table& described);\n\n}  "
                 "// namespace " +
                 names.space + "\n"},
            {"instances/host/on_host.cpp",
             "#include \"" + names.headers + "on_host.hpp\"\n\n" + opened(names) + declared +
                 "\nconst host_family* const host_families[] = {" + listed +
                 "};\nconst int host_family_count = 3;\n\n"
                 "table on_host(const table& described) {\n"
                 "    return catena::instances::on_host(described, host_families, "
                 "host_family_count);\n}\n\n}  "
                 "// namespace " +
                 names.space + "\n"}};
}

}  // namespace

naming naming_of(const std::string& name, const std::string& ops_header) {
    return {.space = name, .headers = name + "/", .symbols = "_" + name, .ops = ops_header};
}

rendered_file kernels_cu(const instance_set& set, skeleton kind, const naming& names) {
    std::string out = includes(names, "device_instance.cuh") + opened(names);
    for (const row& r : set.rows)
        if (r.computes.kind() == kind)
            out += "CATENA_KERNEL(" + std::string(set.target->name) + names.symbols + ", " +
                   name_arguments(r) + ", " + computation_name(r.computes) + ")\n";
    return {folder(set) + name(kind) + ".cu", out + "\n}  // namespace " + names.space + "\n"};
}

std::vector<rendered_file> render_set(const std::string& name, const catalogue& all,
                                      const std::vector<instance_set>& sets) {
    const naming names = naming_of(name, all.ops_header);
    std::vector<rendered_file> files = {chains_inc(all.chains), computations_header(sets, names)};
    const auto append = [&](const std::vector<rendered_file>& more) {
        files.insert(files.end(), more.begin(), more.end());
    };
    for (const instance_set& set : sets) {
        append(render_cuda(set, names));
        for (const skeleton kind : skeletons) append({kernels_cu(set, kind, names)});
    }
    for (const skeleton kind : skeletons) append({kernels_cpp(sets, kind, names)});
    append(on_host(names));
    return files;
}

}  // namespace catena::generator
