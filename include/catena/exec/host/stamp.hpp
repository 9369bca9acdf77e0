// When an access happened, as one word, and the rules by which two accesses are ordered.
//
// An era is the time between two block barriers of one block; eras count on over blocks and
// launches. A step is the time between two warp barriers of one warp within an era. So two accesses
// of one block are ordered if their eras differ, or they are of one thread, or of one warp with
// different steps; accesses of two blocks are ordered if a launch ended between them.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::exec {

/// era (31 bits) | step (20) | many_blocks | many_warps | many_lanes | thread (10)
using stamp = std::uint64_t;

namespace stamps {

inline constexpr stamp many_lanes = stamp{1} << 10;   ///< read by several lanes at this step
inline constexpr stamp many_warps = stamp{1} << 11;   ///< read by several warps in this era
inline constexpr stamp many_blocks = stamp{1} << 12;  ///< read by several blocks in this launch
inline constexpr std::uint32_t max_step = (1u << 20) - 1;
inline constexpr std::uint32_t max_era = 1u << 30;

constexpr stamp floor(std::uint32_t era) { return stamp{era} << 33; }
constexpr stamp make(std::uint32_t era, std::uint32_t step, int thread) {
    return floor(era) | stamp{step} << 13 | static_cast<stamp>(thread);
}
constexpr std::uint32_t era(stamp s) { return static_cast<std::uint32_t>(s >> 33); }
constexpr std::uint32_t step(stamp s) { return static_cast<std::uint32_t>(s >> 13) & max_step; }
constexpr int thread(stamp s) { return static_cast<int>(s & 1023); }
constexpr int warp(stamp s) { return thread(s) / 32; }
constexpr stamp start_of_step(stamp s) { return s & ~stamp{0x1fff}; }
constexpr bool of_one_warp(stamp a, stamp b) { return ((a ^ b) & 0x3e0) == 0; }

inline constexpr stamp never = 0;
inline constexpr stamp before_all_launches = 1;  ///< written by the host

// Markers in the place of a write; above every real stamp.
/// The bytes of this word have stamps of their own.
inline constexpr stamp split = floor(0x7ffffff0u);
inline constexpr stamp in_flight = floor(0x7ffffff1u);  ///< the target of a copy not yet waited for
inline constexpr stamp no_array = floor(0x7ffffff2u);   ///< the gap between two shared arrays

}  // namespace stamps

/// The present of a block, for one kind of memory.
struct present {
    /// Writes before are no writes: 1 for global, the block's first for shared memory.
    stamp oldest = 0;
    stamp launch = 0;  ///< first stamp of this launch; for shared memory of this block
    stamp block = 0;   ///< first stamp of this block
    stamp era = 0;     ///< first stamp of this era
};

/// Whether `other`, a write, may happen at the same time as an access at `me`.
constexpr bool unordered_write(stamp other, stamp me, const present& now) {
    if (other < now.launch) return false;
    if (other < now.block) return true;
    if (other < now.era || stamps::thread(other) == stamps::thread(me)) return false;
    return stamps::warp(other) != stamps::warp(me) || stamps::step(other) >= stamps::step(me);
}

/// Whether reads summed up in `other` may happen at the same time as a write at `me`.
constexpr bool unordered_read(stamp other, stamp me, const present& now) {
    if (other < now.launch) return false;
    if (other < now.block || (other & stamps::many_blocks) != 0) return true;
    if (other < now.era) return false;
    if ((other & stamps::many_warps) != 0 || stamps::warp(other) != stamps::warp(me)) return true;
    if (stamps::step(other) < stamps::step(me)) return false;
    return (other & stamps::many_lanes) != 0 || stamps::thread(other) != stamps::thread(me);
}

/// The sum of the reads `other` and a read at `me`: all that a later write must be ordered with.
constexpr stamp with_read(stamp other, stamp me, const present& now) {
    if (other < now.launch) return me;
    stamp sum = me;
    if (other < now.block) return sum | stamps::many_blocks;
    sum |= other & stamps::many_blocks;
    if (other < now.era) return sum;
    if ((other & stamps::many_warps) != 0 || stamps::warp(other) != stamps::warp(me))
        return sum | stamps::many_warps;
    if (stamps::step(other) == stamps::step(me) &&
        ((other & stamps::many_lanes) != 0 || stamps::thread(other) != stamps::thread(me)))
        sum |= stamps::many_lanes;
    return sum;
}

/// Whether `other`, one access or several, has happened before one at `me` for certain. Cheaper
/// than the rules above, which decide when this says no.
constexpr bool plainly_before(stamp other, stamp me, const present& now) {
    if (other < now.launch) return true;
    if (other < now.era) return other >= now.block && (other & stamps::many_blocks) == 0;
    return other < stamps::start_of_step(me) && stamps::of_one_warp(other, me) &&
           (other & (stamps::many_blocks | stamps::many_warps)) == 0;
}

/// Whether the reads `other` already stand for one at `me`.
constexpr bool plainly_read(stamp other, stamp me, const present& now) {
    if (other == me) return true;
    if (other < now.era) return other >= now.launch && (other & stamps::many_blocks) != 0;
    return (other & (stamps::many_blocks | stamps::many_warps)) != 0 ||
           ((other & stamps::many_lanes) != 0 && other >= stamps::start_of_step(me) &&
            stamps::of_one_warp(other, me));
}

}  // namespace CATENA_NAMESPACE::exec
