#include "render.hpp"

#include "render_cuda.hpp"
#include "render_host.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <tuple>

namespace catena::generator {

namespace {

constexpr const char* stamp =
    " Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, "
    "regenerate. Hash ";

std::string hash_of(const std::string& text) {  // FNV-1a
    std::uint64_t hash = 14695981039346656037ull;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
    return digits;
}

/// all.hpp: the sets that a program links, by name.
std::string all_header(const std::vector<instance_set>& sets) {
    std::string out =
        "// The instance sets that this program links, by the name of their arch. A set is there "
        "when its\n"
        "// target catena::instances_<arch> is linked, which defines CATENA_HAS_<ARCH>.\n"
        "#pragma once\n\n";
    for (const instance_set& set : sets)
        out += "#if defined(" + has_macro(set) + ")\n#include \"catena/instances/" +
               std::string(set.target->name) + ".hpp\"\n#endif\n";
    out +=
        "#include \"catena/error/message.hpp\"\n#include \"catena/pick/row.hpp\"\n\n"
        "#include <string_view>\n\n"
        "namespace CATENA_NAMESPACE::instances {\n\n"
        "// Each file has its own of what follows: those of one program may be compiled with "
        "different "
        "sets.\n\n"
        "/// The names of the linked sets, a space before each.\n"
        "constexpr char built_in[] = \"\"\n";
    for (const instance_set& set : sets)
        out += "#if defined(" + has_macro(set) + ")\n    \" " + set.target->name + "\"\n#endif\n";
    out +=
        "    ;\n\n"
        "/// The table of `arch`. When its set is not linked: a table without rows, whose state "
        "names those\n"
        "/// that are.\n"
        "static inline table table_named(const char* arch) {\n"
        "    [[maybe_unused]] const std::string_view wanted = arch == nullptr ? \"\" : arch;\n";
    for (const instance_set& set : sets)
        out += "#if defined(" + has_macro(set) + ")\n    if (wanted == \"" + set.target->name +
               "\") return " + set.target->name + "();\n#endif\n";
    out +=
        "    table none;\n"
        "    none.state = failure(status_code::no_instances,\n"
        "                         \"no instances for arch '%.24s': built in are%s; link \"\n"
        "                         \"catena::instances_<arch>\",\n"
        "                         arch == nullptr ? \"\" : arch, sizeof(built_in) > 1 ? built_in : "
        "\" none\");\n"
        "    return none;\n"
        "}\n\n"
        "}  // namespace CATENA_NAMESPACE::instances\n";
    return out;
}

}  // namespace

std::string stamped(const std::string& comment, const std::string& content) {
    return comment + stamp + hash_of(content) + ".\n" + content;
}

bool is_stamped(const std::string& text) {
    return text.substr(0, text.find('\n')).find(stamp) != std::string::npos;
}

std::vector<rendered_file> render(const std::vector<lowered_chain>& chains,
                                  const std::vector<instance_set>& sets) {
    const naming names;
    std::vector<rendered_file> files = {chains_inc(chains),
                                        {"include/" + names.headers + "all.hpp", all_header(sets)},
                                        computations_header(sets, names)};
    const auto append = [&](std::vector<rendered_file> more) {
        files.insert(files.end(), more.begin(), more.end());
    };
    for (const instance_set& set : sets)
        append(is_host(set) ? render_host(set, names) : render_cuda(set, names));
    const auto by_kind_and_path = [](const rendered_file& a, const rendered_file& b) {
        const auto ending = [](const rendered_file& f) { return f.path.substr(f.path.rfind('.')); };
        const auto folder = [](const rendered_file& f) {
            return f.path.substr(0, f.path.rfind('/'));
        };
        return std::tuple(folder(a), ending(a), a.path) < std::tuple(folder(b), ending(b), b.path);
    };
    std::sort(files.begin(), files.end(), by_kind_and_path);
    for (rendered_file& file : files) file.content = stamped("//", file.content);
    return files;
}

}  // namespace catena::generator
