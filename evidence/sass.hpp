// The machine code of a cubin, as far as Catena asks about it: how many instructions of which kind,
// and where they lead. No tool of the toolkit but nvcc is needed.
#pragma once

#include "catena/arch/arch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace catena::evidence {

/// What an instruction is to a kernel that streams weights.
enum class sass_kind : std::uint8_t {
    integer,   ///< on the integer pipe, which issues every other cycle
    fma,       ///< FFMA
    multiply,  ///< other floats, integer multiplications, moves made of them
    dp4a,
    mma,
    wgmma,       ///< a warpgroup's mma
    memory,      ///< loads, stores, shuffles, barriers in memory
    store,       ///< to global memory
    load16,      ///< 16 bytes of a thread, from global memory
    async_copy,  ///< cp.async
    bulk_copy,   ///< cp.async.bulk
    convert,     ///< conversions and reciprocals, at a quarter of the rate or less
    uniform,     ///< once for a warp
    control,
};

struct sass_instruction {
    std::uint32_t at;      ///< byte of its function
    std::uint32_t target;  ///< of a branch; else 0
    sass_kind kind;
    bool branch;                 ///< or CALL.REL, with which ptxas also jumps
    bool always = true;          ///< no predicate decides whether it is executed
    bool leaves = false;         ///< EXIT, RET: nothing follows
    std::uint32_t constant = 0;  ///< that it has in place of a register, or bits of something else
    // What the instruction tells the scheduler. A scoreboard holds those that need what comes late.
    int stall = 1;         ///< cycles until the warp may issue its next
    int result_to = none;  ///< the scoreboard that is held until its result is there
    int read_to = none;    ///< and until it has read its operands
    unsigned waits = 0;    ///< a bit for each scoreboard that it waits for
    static constexpr int none = 7;
};

struct sass_function {
    std::string name;
    std::vector<sass_instruction> code;

    int count(sass_kind kind) const;
};

/// Functions in the order of the file. Throws, naming function, byte and opcode, on an instruction
/// that it does not know.
std::vector<sass_function> read_sass(const std::string& cubin, const arch& target);

/// Bytes of machine code of all kernels and functions.
std::int64_t sass_bytes(const std::string& cubin);

}  // namespace catena::evidence
