// How many cases the tests of instances take.
#pragma once

#include <cstddef>

namespace catena_test {

/// For `sweep`: of the cases one in so many, with CATENA_EVERY_ROW all.
inline constexpr std::size_t sampled = CATENA_EVERY_ROW ? 1 : 3;

}  // namespace catena_test
