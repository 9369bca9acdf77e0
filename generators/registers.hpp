// What ptxas says about compiled kernels, and the record of it: instances/<arch>/registers.txt, one
// line a row, read by the generator as evidence for the rows' `registers`.
#pragma once

#include "expand.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace catena::generator {

/// The symbol of a row's kernel: its name, as profilers and ptxas show it.
std::string symbol(const row& r, const arch& target);

struct compiled_kernel {
    std::string symbol;
    int registers = 0;
    int stack_bytes = 0;    ///< of what it calls, too
    int spilled_bytes = 0;  ///< stores and loads, of what it calls, too
};

/// The kernels of a log of `nvcc -Xptxas -v`.
std::vector<compiled_kernel> parse_ptxas(const std::string& log);

/// Registers of the rows of `set` that `kernels` holds.
registers_by_name registers_of(const instance_set& set,
                               const std::vector<compiled_kernel>& kernels);

/// Reads the record of every arch under `root`. Throws, naming file and line, on a line that is not
/// "<row name> <registers>".
registers_by_name read_registers(const std::filesystem::path& root);

/// The text of an arch's record: its rows that are in `known`, in order.
std::string registers_text(const instance_set& set, const registers_by_name& known);

/// Where an arch's record lies, below the root.
std::string registers_path(const arch& target);

}  // namespace catena::generator
