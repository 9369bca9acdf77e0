#include "render_cuda.hpp"

namespace catena::generator {

namespace {

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
    std::string verdicts;
    for (const engine_verdict& v : set.verdicts) {
        std::string weights = "format_set{}";
        for (const format f : v.weights) weights += std::string(" | format::") + name(f);
        verdicts += "    {" + weights + ", " + std::to_string(v.least) + ", " +
                    std::to_string(v.most) + ", " + std::to_string(v.ratio) + "f,\n     \"" +
                    v.record + "\"},\n";
    }
    if (!verdicts.empty()) out += "constexpr engine_verdict verdicts[] = {\n" + verdicts + "};\n\n";
    std::string preferred;
    for (const preferred_row& p : set.preferred)
        preferred += "    {{" + std::to_string(p.of.k) + ", " + std::to_string(p.of.rows) + ", " +
                     std::to_string(p.of.columns) + "}, " + std::to_string(p.row) + "},\n";
    if (!preferred.empty())
        out += "constexpr preferred_row preferred[] = {\n" + preferred + "};\n\n";
    return out.empty() ? "" : "namespace {\n\n" + out + "}  // namespace\n\n";
}

std::string medians_code(const instance_set& set) {
    const auto given = [](const std::string& field, const std::string& data, std::size_t count,
                          const std::string& counted) {
        if (count == 0) return std::string();
        return "    t." + field + " = " + data + ";\n    t." + counted +
               "_count = " + std::to_string(count) + ";\n";
    };
    return given("measured", "medians", set.medians.size(), "measured") +
           given("engine", "engine", set.engine.size(), "engine") +
           given("verdicts", "verdicts", set.verdicts.size(), "verdict") +
           given("preferred", "preferred", set.preferred.size(), "preferred");
}

/// Files of an engine may be kept, and compiled with headers that came later.
std::string version_check(const naming& names) {
    if (names.space == naming{}.space) return "";
    const std::string here = headers_version;
    return "static_assert(std::string_view(headers_version) == \"" + here +
           "\",\n              \"Catena " + here +
           " generated this set: generate it anew with these headers\");\n\n";
}

rendered_file table_cpp(const instance_set& set, const naming& names) {
    const std::string name = set.target->name;
    const auto kernels = [&](const std::string& reader) {
        return "#define CATENA_ROW(...) " + reader + "(" + name + names.symbols +
               ", __VA_ARGS__)\n#include \"rows.inc\"\n#undef CATENA_ROW\n";
    };
    return {
        folder(set) + "table.cpp",
        "// The table of " + name + ".\n#include \"" + names.headers + name +
            ".hpp\"\n\n#include \"" + names.headers + "computations.hpp\"\n" + include_ops(names) +
            "#if CATENA_WITH_CUDA\n#include \"catena/launch/cuda.cuh\"\n#endif\n\n" +
            opened(names) + version_check(names) + table_data() + medians_data(set) +
            "#if CATENA_WITH_CUDA\n" + kernels("CATENA_KERNEL_DECLARATION") + "#endif\n\ntable " +
            name + "() {\n    table t;\n    t.target = arch_named(\"" + name +
            "\");\n    t.rows = rows;\n"
            "    t.row_count = sizeof(rows) / sizeof(rows[0]);\n" +
            medians_code(set) +
            "    t.chains = chains;\n"
            "    t.chain_count = sizeof(chains) / sizeof(chains[0]);\n" +
            (names.ops.empty() ? "" : "    t.ops = &ops::listed;\n") +
            "#if CATENA_WITH_CUDA\n    static const void* const kernels[] = {\n" +
            kernels("CATENA_KERNEL_ADDRESS") +
            "    };\n    t.kernels = kernels;\n    t.launch = launch_cuda;\n#endif\n"
            "    return t;\n}\n\n}  // namespace " +
            names.space + "\n"};
}

}  // namespace

std::vector<rendered_file> render_cuda(const instance_set& set, const naming& names) {
    return {rows_inc(set), table_cpp(set, names),
            set_header(set, names, "",
                       "/// The table. Without CUDA its rows are described and their kernels are "
                       "missing.\ncatena::table " +
                           std::string(set.target->name) + "();\n")};
}

}  // namespace catena::generator
