// The kernels of PTX files as rows of a table, and their cases on the interpreter.
#pragma once

#include "program.hpp"
#include "text.hpp"

#include "catena/pick/row.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// Cases are made for the arch whose blocks may have most shared memory.
std::uint32_t most_shared_bytes();

ptx::module read_ptx(const std::string& file);

/// The entry of a row: its name, as a name of C.
std::string entry_of(const catena::table& t, int row);

/// The row whose kernel an entry is, by its name; -1: no row's.
int row_of_entry(const catena::table& t, const std::string& entry);

/// Runs every kernel of the files: against the reference, and where the bits are not the device's
/// the same bytes as the host executor. `host` has the rows, with the host kernels that there are.
/// `every`: of the cases one in so many. Returns how many kernels were run; one that is of no row
/// fails.
int run_compiled(const catena::table& host, const std::vector<std::string>& files,
                 std::size_t every);

}  // namespace catena_test
