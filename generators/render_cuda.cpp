#include "render_cuda.hpp"

#include "registers.hpp"

namespace catena::generator {

namespace {

std::string family_namespace(const instance_set& set, const family_rows& f) {
    return std::string(set.target->name) + "_" + f.name;
}

/// `computes`: how the file spells what the row computes.
std::string kernel_code(const row& r, const instance_set& set, int index,
                        const std::string& computes) {
    const std::string number = std::to_string(index);
    const std::string args = std::string(name(r.computes.kind)) + "_args", p = "p" + number;
    // A block of a matvec may have the warps of as many as the policy promises (share_of). The
    // registers are the same; without the 1 ptxas keeps to fewer, and spills.
    const bool wide = r.computes.kind == skeleton::matvec;
    const std::string bounds =
        wide ? p + ".threads * " + p + ".min_blocks, 1" : p + ".threads, " + p + ".min_blocks";
    return "constexpr policy " + p + " = " + code(r.numbers) + ";\n" +
           "extern \"C\" __global__ __launch_bounds__(" + bounds + ") void\n" +
           symbol(r, *set.target) + "(const __grid_constant__ " + args + " args) {\n" +
           "    run_on_device<" + computes + ", " + p + ">(args);\n}\n\n";
}

rendered_file kernels_cu(const instance_set& set, const family_rows& f) {
    std::string out = "// " + std::string(set.target->name) + ": " + f.name + ".\n" +
                      "#include \"catena/instances/device_instance.cuh\"\n\n" +
                      "namespace catena::instances::" + family_namespace(set, f) + " {\n\n";
    const computation& c = f.rows.front().computes;
    if (c.kind != skeleton::row)
        out += "constexpr format_set weights = " + code(c.weights) + ";\n\n";
    std::vector<computation> computations;  // of a row skeleton
    for (std::size_t i = 0; i < f.rows.size(); ++i) {
        const row& r = f.rows[i];
        std::string computes = "weights";
        if (r.computes.kind == skeleton::row) {
            if (computations.empty() || computations.back() != r.computes) {
                out += "constexpr computation c" + std::to_string(computations.size()) + " = " +
                       code(r.computes) + ";\n\n";
                computations.push_back(r.computes);
            }
            computes = "c" + std::to_string(computations.size() - 1);
        } else if (r.computes.kind == skeleton::matmul) {
            computes = "format::" + std::string(name(r.computes.activation)) + ", weights";
        }
        out += kernel_code(r, set, static_cast<int>(i), computes);
    }
    const std::string count = std::to_string(f.rows.size());
    out += "extern const void* const kernels[" + count + "];\nconst void* const kernels[" + count +
           "] = {\n";
    for (const row& r : f.rows)
        out += "    reinterpret_cast<const void*>(&" + symbol(r, *set.target) + "),\n";
    out += "};\n\n}  // namespace catena::instances::" + family_namespace(set, f) + "\n";
    return {folder(set) + f.name + ".cu", out};
}

std::string medians_data(const instance_set& set) {
    std::string out;
    for (const measurement& m : set.medians)
        out += "    {" + std::to_string(m.problem) + "u, " + std::to_string(m.row) + ", " +
               std::to_string(m.median_us) + "f, " + std::to_string(m.spread) + "f},\n";
    if (!out.empty()) out = "constexpr measurement medians[] = {\n" + out + "};\n\n";
    std::string engine;
    for (const engine_median& e : set.engine)
        engine += "    {" + std::to_string(e.steps) + "u, " + std::to_string(e.engine_us) + "f, " +
                  std::to_string(e.catena_us) + "f},\n";
    if (!engine.empty()) out += "constexpr engine_median engine[] = {\n" + engine + "};\n\n";
    return out.empty() ? "" : "namespace {\n\n" + out + "}  // namespace\n\n";
}

std::string medians_code(const instance_set& set) {
    const auto given = [](const std::string& field, const std::string& data, std::size_t count) {
        if (count == 0) return std::string();
        return "    t." + field + " = " + data + ";\n    t." + field +
               "_count = " + std::to_string(count) + ";\n";
    };
    return given("measured", "medians", set.medians.size()) +
           given("engine", "engine", set.engine.size());
}

rendered_file table_cpp(const instance_set& set) {
    const std::string name = set.target->name;
    const std::vector<family_rows> all = families(set.rows);
    std::string out = "// The table of " + name + ".\n#include \"catena/instances/" + name +
                      ".hpp\"\n\n" +
                      "#if CATENA_WITH_CUDA\n#include \"catena/instances/gather.hpp\"\n"
                      "#include \"catena/launch/cuda.cuh\"\n#endif\n\n"
                      "namespace catena::instances {\n\n" +
                      table_data() + medians_data(set) + "#if CATENA_WITH_CUDA\n";
    for (const family_rows& f : all)
        out += "namespace " + family_namespace(set, f) + " { extern const void* const kernels[" +
               std::to_string(f.rows.size()) + "]; }\n";
    out += "#endif\n\ntable " + name + "() {\n    table t;\n    t.target = arch_named(\"" + name +
           "\");\n    t.rows = rows;\n    t.row_count = " + std::to_string(set.rows.size()) +
           ";\n" + medians_code(set) +
           "    t.chains = chains;\n    t.chain_count = sizeof(chains) / sizeof(chains[0]);\n"
           "#if CATENA_WITH_CUDA\n    static const auto kernels = gather(";
    for (std::size_t i = 0; i < all.size(); ++i)
        out +=
            (i == 0 ? "\n        " : ",\n        ") + family_namespace(set, all[i]) + "::kernels";
    out +=
        ");\n    static_assert(sizeof(kernels) / sizeof(void*) == sizeof(rows) / sizeof(row));\n"
        "    t.kernels = kernels.data();\n    t.launch = launch_cuda;\n#endif\n    return t;\n}\n\n"
        "}  // namespace catena::instances\n";
    return {folder(set) + "table.cpp", out};
}

}  // namespace

std::vector<rendered_file> render_cuda(const instance_set& set) {
    const std::string name = set.target->name;
    std::vector<rendered_file> files = {
        rows_inc(set), table_cpp(set),
        set_header(
            set, "",
            "/// The table. Without CUDA its rows are described and their kernels are missing.\n"
            "table " +
                name + "();\n")};
    for (const family_rows& f : families(set.rows)) files.push_back(kernels_cu(set, f));
    return files;
}

}  // namespace catena::generator
