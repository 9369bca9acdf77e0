// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash 2b3d7b0b020d275d.
// The table of the host set.
#include "catena/instances/host.hpp"

#include "catena/instances/computations.hpp"

namespace CATENA_NAMESPACE::instances {

namespace {

constexpr row rows[] = {
#define CATENA_ROW CATENA_TABLE_ROW
#include "rows.inc"
#undef CATENA_ROW
};

constexpr lowered_chain chains[] = {
#include "../chains.inc"
};

}  // namespace

table host() {
    table t;
    t.target = arch_named("host");
    t.rows = rows;
    t.row_count = sizeof(rows) / sizeof(rows[0]);
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
    return on_host(t);
}

}  // namespace CATENA_NAMESPACE::instances
