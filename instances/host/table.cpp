// Generated from generators/catalogue.hpp and generators/policies.cpp: do not edit, regenerate. Hash afa49799bc99c35d.
// The table of the host set.
#include "catena/instances/host.hpp"

#include "catena/instances/computations.hpp"

namespace catena::instances {

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

}  // namespace catena::instances
