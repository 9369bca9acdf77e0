// The loops of a kernel's machine code. Compilers lay parts of a loop out behind it, so a loop is
// found by where its instructions lead, not by where they stand.
#pragma once

#include "sass.hpp"

#include <cstddef>
#include <vector>

namespace catena::evidence {

/// Where a warp goes on behind an instruction: the indexes of up to two others.
struct sass_ways {
    std::size_t to[2] = {};
    int count = 0;

    const std::size_t* begin() const { return to; }
    const std::size_t* end() const { return to + count; }
};

/// The next instruction, if it may be next, before the target of a branch.
sass_ways ways_behind(const sass_function& f, std::size_t i);

/// A natural loop: all ways into it lead through its first instruction, and from each of its
/// instructions a way leads back to that.
struct sass_loop {
    std::size_t first = 0;
    std::vector<std::size_t> code;  ///< indexes of its instructions, in their order

    bool holds(std::size_t i) const;
    /// Is another loop part of it?
    bool holds(const sass_loop& inner) const;
    int size() const { return static_cast<int>(code.size()); }
    int count(const sass_function& f, sass_kind kind) const;
};

/// All loops that are more than one instruction, in the order of their first instructions.
std::vector<sass_loop> loops_of(const sass_function& f);

/// Those with an instruction of this kind that hold no other such loop.
std::vector<sass_loop> innermost_loops(const sass_function& f, sass_kind kind);

}  // namespace catena::evidence
