// What the host executor found wrong with a kernel: a value with every coordinate, and its
// sentence.
#pragma once

#include "catena/config.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace CATENA_NAMESPACE::exec {

/// A place in the body's source.
struct site {
    const char* file = "";
    int line = 0;
};

inline bool same(site a, site b) {
    return a.line == b.line && (a.file == b.file || std::string_view(a.file) == b.file);
}

// The default argument of every call that can be at fault: where the body made it.
#define CATENA_HERE                                                                                \
    { __builtin_FILE(), __builtin_LINE() }

inline std::string spell(site at) {
    std::string file = at.file;
    return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(at.line);
}

enum class fault : std::uint8_t {
    out_of_bounds,
    uninitialized,
    read_only,  ///< a write to constant memory
    misaligned,
    race,
    divergence,     ///< threads of a block or warp wait in different places, or have returned
    stream,         ///< the protocol of a weight stream
    grid_order,     ///< what a dependent launch must not do, or omits, around grid_wait
    shared_memory,  ///< more of it than the launch gave, or not the same arrays in every thread
    body            ///< an argument that no machine accepts, or an exception
};

/// `message` is the whole sentence: what, who, where, and the remedy. The rest are its parts.
struct finding {
    fault kind = fault::body;
    std::string kernel;
    std::int64_t block = -1;
    int thread = -1;
    site at;
    std::uintptr_t address = 0;  ///< 0: not about memory
    std::string range;           ///< the memory range's name
    std::int64_t offset = 0;     ///< bytes from its start
    std::string message;
};

}  // namespace CATENA_NAMESPACE::exec
