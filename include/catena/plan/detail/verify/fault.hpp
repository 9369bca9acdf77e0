// What a proof finds wrong with a launch.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// What is wrong: a sentence's end, and the byte that shows it.
struct fault {
    const char* why = nullptr;  ///< null: nothing is
    std::uint64_t byte = 0;
    const char* operand = "";
    explicit operator bool() const { return why != nullptr; }
};

}  // namespace CATENA_NAMESPACE::proof
