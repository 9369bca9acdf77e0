// Machine code that is written by hand, as the kinds of its instructions.
#pragma once

#include "sass.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena::evidence {

inline void add(sass_function& f, sass_kind kind) {
    f.code.push_back({.at = static_cast<std::uint32_t>(16 * f.code.size()),
                      .target = 0,
                      .kind = kind,
                      .branch = false});
}

inline sass_function code_of(const std::vector<sass_kind>& kinds) {
    sass_function f{"kernel", {}};
    for (const sass_kind kind : kinds) add(f, kind);
    return f;
}

inline void branch(sass_function& f, std::size_t from, std::size_t to, bool always = false) {
    f.code[from].branch = true;
    f.code[from].always = always;
    f.code[from].target = static_cast<std::uint32_t>(16 * to);
}

}  // namespace catena::evidence
