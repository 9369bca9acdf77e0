// The rows of all tables. Rows that share computation and policy share a body, so one of them is
// run.
#pragma once

#include "catena/arch/arch.hpp"
#include "catena/instances/all.hpp"
#include "catena/instances/on_host.hpp"
#include "catena/pick/name.hpp"

#include <string>

namespace catena_test {

inline bool has_row(const catena::table& t, const catena::row& wanted) {
    for (int i = 0; i < t.row_count; ++i)
        if (t.rows[i].computes == wanted.computes && t.rows[i].policy == wanted.policy) return true;
    return false;
}

/// Was a host kernel compiled for the row? `host`: a table of instances::on_host.
inline bool runs(const catena::table& host, int row) { return host.kernels[row] != nullptr; }

/// The arch whose test runs the body of `r`: the first in the registry that has it.
inline std::string tested_on(const catena::row& r) {
    for (const catena::arch& a : catena::arch_registry)
        if (has_row(catena::instances::table_named(a.name), r)) return a.name;
    return "";
}

}  // namespace catena_test
