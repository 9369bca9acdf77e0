#include "render_parts.hpp"

#include <algorithm>
#include <cctype>

namespace catena::generator {

std::string has_macro(const instance_set& set) {
    std::string out = "CATENA_HAS_" + std::string(set.target->name);
    for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return out;
}

std::string folder(const instance_set& set) {
    return "instances/" + std::string(set.target->name) + "/";
}

std::vector<family_rows> families(const std::vector<row>& rows) {
    std::vector<family_rows> out;
    for (const row& r : rows) {
        const std::string name = family(r.computes);
        if (out.empty() || out.back().name != name) out.push_back({name, {}});
        out.back().rows.push_back(r);
    }
    return out;
}

std::string opened(const naming& names, const char* part) {
    const std::string begin = "namespace " + names.space + part + " {\n\n";
    if (names.space == naming{}.space) return begin;
    return begin + "using namespace catena;\nusing namespace catena::instances;\n\n";
}

std::string include_ops(const naming& names) {
    return names.ops.empty() ? "" : "#include \"" + names.ops + "\"\n";
}

rendered_file chains_inc(const std::vector<lowered_chain>& chains) {
    std::string out = "// The chains of the catalogue, lowered.\n";
    for (const lowered_chain& c : chains) out += code(c) + ",\n";
    return {"instances/chains.inc", out};
}

rendered_file computations_header(const std::vector<instance_set>& sets, const naming& names) {
    std::vector<computation> all;
    for (const instance_set& set : sets)
        for (const row& r : set.rows)
            if (std::find(all.begin(), all.end(), r.computes) == all.end())
                all.push_back(r.computes);
    const std::string space = names.space + "::computations";
    std::string out =
        "// What the rows of every instance set compute, by the names that the rows use.\n"
        "#pragma once\n\n#include \"catena/instances/rows.hpp\"\n\n" +
        opened(names, "::computations");
    for (const computation& c : all) {
        const std::string value = code(c);
        const std::string type = c.kind() == skeleton::row ? "row" : "product";
        out += value[0] == '{'
                   ? "inline constexpr " + type + "_computation " + computation_name(c) +
                         " =\n    " + value + ";\n"
                   : "inline constexpr auto " + computation_name(c) + " = " + value + ";\n";
    }
    return {"include/" + names.headers + "computations.hpp",
            out + "\n}  // namespace " + space + "\n"};
}

rendered_file rows_inc(const instance_set& set) {
    std::string out =
        "// The rows of " + std::string(set.target->name) + ": see catena/instances/rows.hpp.\n";
    for (const family_rows& f : families(set.rows)) {
        out += "// " + f.name + "\n";
        for (const row& r : f.rows) out += code(r) + "\n";
    }
    return {folder(set) + "rows.inc", out};
}

rendered_file set_header(const instance_set& set, const naming& names, const std::string& includes,
                         const std::string& declarations) {
    const std::string name = set.target->name;
    const bool own = names.space == naming{}.space;
    const std::string library = own ? "catena::instances_" + name : names.space;
    return {"include/" + names.headers + name + ".hpp",
            "// The instance set of " + name + " (" + set.target->gpu + "): link " + library +
                ".\n#pragma once\n\n" + includes +
                "#include \"catena/pick/row.hpp\"\n\nnamespace " + names.space + " {\n\n" +
                declarations + "\n}  // namespace " + names.space + "\n"};
}

std::string table_data() {
    return "namespace {\n\n"
           "constexpr row rows[] = {\n#define CATENA_ROW CATENA_TABLE_ROW\n"
           "#include \"rows.inc\"\n#undef CATENA_ROW\n};\n\n"
           "constexpr lowered_chain chains[] = {\n#include \"../chains.inc\"\n};\n\n"
           "}  // namespace\n\n";
}

}  // namespace catena::generator
