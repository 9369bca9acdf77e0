// Numbers that cases are made of.
#pragma once

#include "catena/format/random.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena_test {

inline std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

inline std::vector<float> random_values(std::uint64_t seed, std::int64_t count) {
    std::vector<float> out(size(count));
    catena::fill_random_values(seed, 0, out);
    return out;
}

}  // namespace catena_test
