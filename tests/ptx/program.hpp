// A kernel ready to run: instructions with their registers, in one sequence with the functions that
// it calls. A register of a warp is a unit of 32 lanes of 4 bytes, or two units of 8; constants and
// special registers are units that nobody writes. Predicates are a bit a lane.
#pragma once

#include "text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptx {

using lanes = std::uint32_t;
inline constexpr int warp_lanes = 32;
inline constexpr lanes all_lanes = 0xffffffffu;
inline constexpr std::size_t unit_bytes = 4 * warp_lanes;

/// Where shared memory begins in its window: in front of it lies what the system keeps.
inline constexpr std::uint32_t shared_base = 1024;
/// The window of shared memory, and of a lane's local memory, among generic addresses.
inline constexpr std::uint64_t shared_window = std::uint64_t{0x51} << 56;
inline constexpr std::uint64_t local_window = std::uint64_t{0x52} << 56;

struct warp;
struct instruction;
using action = void (*)(warp&, const instruction&, lanes);

enum class flow : std::uint8_t {
    next,  ///< each lane for itself
    rest,  ///< the same, and other warps may go first
    branch,
    call,
    leave,     ///< ret, exit
    together,  ///< the lanes that a register names meet
    aligned,   ///< all lanes of the warp, at this very instruction
    barrier,   ///< all threads of the block
    vote,      ///< a barrier that says whether a predicate is true in any of them
    cluster,   ///< all threads of the cluster have arrived
    phase      ///< until the phase of an mbarrier has completed, or the grid before
};

struct instruction {
    action run = nullptr;
    flow how = flow::next;
    bool negated = false;
    std::int32_t guard = -1;           ///< a predicate
    std::int32_t target = -1;          ///< of a branch; the entry of a called function
    std::int64_t offset = 0;           ///< added to an address; immediates, a byte each
    const std::int32_t* at = nullptr;  ///< units and predicates, as the action has them
    std::int32_t mask = -1;            ///< together: the unit that names the lanes
    std::int32_t line = 0;
};

/// What a call copies, unit to unit, and where the callee keeps who called.
struct call_site {
    std::vector<std::pair<int, int>> in, out;  ///< from, to
    int return_unit = 0;
};

enum class special { tid, ntid, ctaid, nctaid, laneid, clusterid, cluster_ctarank, cluster_nctaid };

struct constant {
    int unit;
    bool wide;
    std::uint64_t bits;
};

struct program {
    std::string name;
    std::vector<instruction> code;
    int entry = 0;
    int units = 0, predicates = 0;
    int never = -1, always = -1;  ///< predicates that are constant, where there are such
    std::vector<constant> constants;
    std::vector<std::pair<special, int>> specials;
    std::vector<call_site> calls;
    std::vector<std::string> lines;      ///< what stands there, per instruction
    std::vector<std::int32_t> operands;  ///< into which instructions point
    std::size_t parameter_bytes = 0, local_bytes = 0;
    std::size_t static_shared = 0;  ///< dynamic shared memory begins behind it
    int max_threads = 0;
    struct global {
        std::string name;
        std::shared_ptr<std::vector<std::byte>> bytes;
        std::byte* at;  ///< aligned, within
        std::size_t size;
    };
    std::vector<global> globals;

    program() = default;
    program(const program&) = delete;
    program(program&&) = default;
    program& operator=(program&&) = default;
};

/// Throws with the line of what it does not know.
program bind(const module& m, std::string_view entry);

/// The form of an instruction's operands, in their order: 'w' a register of 32 bits or less, 'd' of
/// 64, 'p' a predicate, 'a' and 'A' an address in one of 32 and of 64 bits, 'm' the lanes that take
/// part, 'n' an immediate. A vector is its elements.
struct opcode {
    action run = nullptr;
    std::string form = {};
    flow how = flow::next;
};

/// By an instruction's name, each without a run for those of others. `wide`: the (first) address is
/// of 64 bits; `wide_data`: what is loaded goes to registers of 64 bits.
opcode arithmetic(const std::string& name);
opcode memory_access(const std::string& name, bool wide, bool wide_data);
opcode warp_operation(const std::string& name);
opcode tensor_operation(const std::string& name);
opcode asynchronous(const std::string& name);

}  // namespace ptx
