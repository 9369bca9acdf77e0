#include "render_parts.hpp"

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

rendered_file rows_inc(const instance_set& set) {
    std::string out =
        "// The rows of " + std::string(set.target->name) + ": see catena/instances/rows.hpp.\n";
    for (const family_rows& f : families(set.rows)) {
        out += "// " + f.name + "\n";
        for (const row& r : f.rows) out += code(r) + "\n";
    }
    return {folder(set) + "rows.inc", out};
}

rendered_file set_header(const instance_set& set, const std::string& includes,
                         const std::string& declarations) {
    const std::string name = set.target->name;
    return {"include/catena/instances/" + name + ".hpp",
            "// The instance set of " + name + " (" + set.target->gpu +
                "): link catena::instances_" + name + ".\n#pragma once\n\n" + includes +
                "#include \"catena/pick/row.hpp\"\n\n" + "namespace catena::instances {\n\n" +
                declarations + "\n}  // namespace catena::instances\n"};
}

std::string table_data() {
    return "namespace {\n\n"
           "constexpr row rows[] = {\n#define CATENA_ROW CATENA_TABLE_ROW\n"
           "#include \"rows.inc\"\n#undef CATENA_ROW\n};\n\n"
           "constexpr lowered_chain chains[] = {\n#include \"../chains.inc\"\n};\n\n"
           "}  // namespace\n\n";
}

}  // namespace catena::generator
