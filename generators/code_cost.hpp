// What the rows of a set cost, in machine code and in time of a build: nvcc is asked.
#pragma once

#include "nvcc.hpp"
#include "render_set.hpp"

#include "catena/pick/row.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace catena::generator {

struct code_cost {
    std::int64_t bytes = 0;  ///< of machine code
    /// Processor time that nvcc takes for a file with this row alone, above that for a file without
    /// rows.
    double seconds = 0;
};

struct code_costs {
    std::vector<code_cost> rows;  ///< in the order of the rows
    double empty_file_seconds = 0;
};

/// The nvcc of a build, and the folders of Catena's headers.
struct device_compiler {
    std::string nvcc;
    std::vector<std::filesystem::path> includes;
    naming names = naming_of("alone");  ///< ops of one's own need the names of their set
};

/// Compiles a row of `target` alone, whatever catalogue it is of. What nvcc reads lies in the
/// folder `scratch`, which is removed. Throws as compile does.
evidence::compiled_file compile_alone(const arch& target, const row& r, const device_compiler& by,
                                      const std::filesystem::path& scratch);

/// The symbol of the kernel that this makes.
std::string symbol_alone(const arch& target, const row& r, const naming& names);

/// Is told how many of all rows are compiled, and the name of the one that comes next.
using compile_progress = std::function<void(int done, int all, const std::string& name)>;

/// Compiles each row of `target` alone, on all cores. Sources are written below `scratch`, which is
/// removed. Throws with nvcc's words if it refuses one.
code_costs code_costs_of(const arch& target, const std::vector<row>& rows,
                         const device_compiler& by, const std::filesystem::path& scratch,
                         const compile_progress& progress = {});

}  // namespace catena::generator
