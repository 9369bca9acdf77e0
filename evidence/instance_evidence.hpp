// What machine code says about an instance without a GPU: whether it does what its policy says,
// what it asks of an SM, and whether its inner loop keeps up with memory.
#pragma once

#include "registers.hpp"
#include "sass.hpp"

#include <string>
#include <vector>

namespace catena::evidence {

/// Lengths of rows and columns for which shared memory is counted; and rows for which a time is
/// predicted, of one column.
inline constexpr int evidence_k = 4096;

/// The inner loop of a dot stage, of one thread and a byte of weights.
struct dot_stage {
    int instructions = 0;     ///< of one pass of the loop; 0: there is no such loop
    double weight_bytes = 0;  ///< that a warp multiplies in a pass
    double per_byte = 0, integer_per_byte = 0;  ///< dp4a counts as an integer instruction
};

struct instance_evidence {
    std::string name;
    long long sass_bytes = 0;
    int registers = 0;
    int blocks = 0;  ///< that an SM holds, with rows of evidence_k and every column of the policy
    int asked = 0;   ///< blocks that the launch bounds promise registers for
    long long shared_bytes = 0;
    int loads16 = 0, async_copies = 0, bulk_copies = 0, dp4a = 0;
    int mma = 0;           ///< or wgmma, as the policy says
    bool has_dot = false;  ///< a matvec of one format
    dot_stage dot;
    warp_codes code;         ///< of a matvec
    double stage_bytes = 0;  ///< of the weights that a warp of it multiplies in a stage of `code`
    double counted_us = 0;   ///< predicted, of a matvec, by `code`
    double by_bytes_us = 0;  ///< and by a usual number of instructions for each byte
    std::vector<std::string> faults;  ///< sentences; a fault is a mistake, whatever the arch
    bool keeps_up = true;             ///< with memory, by dot against the arch's allowance
};

/// Thread-instructions that a GPU of this arch can issue while it reads a byte, at 1.75 GHz: four a
/// cycle and SM, of 32 threads. The integer pipe takes half as many.
double issued_per_byte(const arch& target);

/// `kernels` and `code`: of the file that the row is compiled in.
instance_evidence evidence_of(const row& r, const arch& target,
                              const std::vector<compiled_kernel>& kernels,
                              const std::vector<sass_function>& code);

}  // namespace catena::evidence
