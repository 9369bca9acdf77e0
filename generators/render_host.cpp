#include "render_host.hpp"

namespace catena::generator {

std::vector<rendered_file> render_host(const instance_set& host, const naming& names) {
    return {rows_inc(host),
            {folder(host) + "table.cpp",
             "// The table of the host set.\n#include \"catena/instances/host.hpp\"\n\n"
             "#include \"catena/instances/computations.hpp\"\n\n"
             "namespace CATENA_NAMESPACE::instances {\n\n" +
                 table_data() +
                 "table host() {\n    table t;\n    t.target = arch_named(\"host\");\n"
                 "    t.rows = rows;\n    t.row_count = sizeof(rows) / sizeof(rows[0]);\n"
                 "    t.chains = chains;\n"
                 "    t.chain_count = sizeof(chains) / sizeof(chains[0]);\n"
                 "    return on_host(t);\n}\n\n}  // namespace CATENA_NAMESPACE::instances\n"},
            set_header(host, names, "#include \"catena/instances/on_host.hpp\"\n",
                       "/// The table of the host executor, kernels included.\ntable host();\n")};
}

}  // namespace catena::generator
