// The kernels of several files as one array, in their order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace catena::instances {

template <std::size_t... Counts>
std::array<const void*, (Counts + ...)> gather(const void* const (&... families)[Counts]) {
    std::array<const void*, (Counts + ...)> all{};
    auto* next = all.data();
    ((next = std::copy_n(families, Counts, next)), ...);
    return all;
}

}  // namespace catena::instances
