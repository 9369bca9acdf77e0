// What finding a launch that keeps the state of a sequence asks of the nodes around it.
#pragma once

#include "catena/match/detail/value.hpp"

#include <cstdint>
#include <cstring>

namespace CATENA_NAMESPACE {

/// The bytes from the first of a value to the first of a name, as the VIEWs between them say; -1:
/// they do not say it, or the places of the two contradict them.
inline std::int64_t offset_in(const graph_index& g, std::int32_t name, std::int32_t value) {
    const extent &first = g.bytes(value), &own = g.bytes(name);
    std::int64_t all = 0;
    for (std::int32_t hops = 0; name != value; ++hops) {
        const tensor& t = g.view.at(name);
        const bool renames = t.kind == op::reshape || t.kind == op::view;
        if (!renames || t.src[0] == no_tensor || hops > g.view.tensor_count) return -1;
        std::int64_t offset = 0;
        if (t.kind == op::view) std::memcpy(&offset, t.params, sizeof offset);
        all += offset;
        name = t.src[0];
    }
    const bool placed = first.begin != 0 || first.buffer != no_buffer;
    const bool alike = !placed || (own.buffer == first.buffer &&
                                   own.begin - first.begin == static_cast<std::uint64_t>(all));
    return alike ? all : -1;
}

}  // namespace CATENA_NAMESPACE
