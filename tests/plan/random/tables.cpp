#include "tables.hpp"

namespace catena_test {

using namespace catena;

namespace {

constexpr row rows[] = {
#include "../../../instances/host/rows.inc"
};

constexpr lowered_chain chains[] = {
#include "../../../instances/chains.inc"
};

}  // namespace

table shipped_table() {
    table t;
    t.target = arch_named("host");
    t.rows = rows;
    t.row_count = sizeof(rows) / sizeof(rows[0]);
    t.chains = chains;
    t.chain_count = sizeof(chains) / sizeof(chains[0]);
    return t;
}

}  // namespace catena_test
