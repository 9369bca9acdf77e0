// How far apart things lie that follow each other in memory.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::kernel {

/// i times so many bytes, neither of them negative: of unsigned numbers a product is two
/// instructions, of signed ones four.
CATENA_FN std::int64_t distance(int i, std::int64_t bytes) {
    return static_cast<std::int64_t>(static_cast<unsigned>(i) * static_cast<std::uint64_t>(bytes));
}

}  // namespace CATENA_NAMESPACE::kernel
