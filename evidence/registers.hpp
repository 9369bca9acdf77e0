// What ptxas and the machine code say about compiled kernels, and the record of it:
// instances/<arch>/registers.txt, one line a row, read by the generator as evidence for the rows'
// `registers` and `code`.
#pragma once

#include "catena/pick/row.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace catena::evidence {

/// The symbol of a row's kernel: its name, as profilers and ptxas show it.
std::string symbol(const row& r, const arch& target);

struct compiled_kernel {
    std::string symbol;
    int registers = 0;
    int stack_bytes = 0;    ///< of what it calls, too
    int spilled_bytes = 0;  ///< stores and loads, of what it calls, too
    warp_codes code = {};
};

/// A line for a log: what a warp issues, as warp_code.hpp counts.
std::string warp_code_line(const std::string& symbol, const warp_codes& code);

/// The kernels of a log of `nvcc -Xptxas -v`, with lines of warp_code_line behind.
std::vector<compiled_kernel> parse_ptxas(const std::string& log);

/// What is on record of a compiled row.
struct row_record {
    int registers = 0;  ///< of a thread, as ptxas reported
    warp_codes code = {};

    friend bool operator==(const row_record& a, const row_record& b) {
        return a.registers == b.registers && a.code == b.code;
    }
};
using records_by_name = std::map<std::string, row_record>;  ///< the rows' names

/// What goes on record of those of an arch's rows that `kernels` holds.
records_by_name records_of(const arch& target, const std::vector<row>& rows,
                           const std::vector<compiled_kernel>& kernels);

/// Reads a record. Throws, naming file and line, on a line that is neither "<row name> <registers>"
/// nor that with the counts of a warp's code behind, six for each of one or two formats.
records_by_name read_register_file(const std::filesystem::path& file);

/// Reads the record of every arch under `root`.
records_by_name read_registers(const std::filesystem::path& root);

/// The text of an arch's record: those of its rows that are in `known`, in order.
std::string registers_text(const arch& target, const std::vector<row>& rows,
                           const records_by_name& known);

/// Where an arch's record lies, below the root.
std::string registers_path(const arch& target);

}  // namespace catena::evidence
