// The workspace: quantized activations packed by lifetime.
#pragma once

#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace catena {

/// A buffer that must keep its bytes from position `from` to position `until`, both included.
struct lifetime {
    std::int64_t bytes = 0;
    std::int32_t from = 0, until = 0;
};

struct packing {
    std::vector<std::int64_t> offsets;  ///< per buffer, multiples of `alignment`
    std::int64_t bytes = 0;             ///< of the whole
};

/// First fit in order of birth: each buffer takes the lowest gap between those that are alive.
inline packing pack(const std::vector<lifetime>& buffers, std::int64_t alignment) {
    packing out;
    out.offsets.assign(buffers.size(), 0);
    std::vector<std::size_t> order(buffers.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return buffers[a].from < buffers[b].from;
    });
    std::vector<std::size_t> alive;  // by offset
    for (const std::size_t i : order) {
        const auto dead = [&](std::size_t j) { return buffers[j].until < buffers[i].from; };
        alive.erase(std::remove_if(alive.begin(), alive.end(), dead), alive.end());
        const std::int64_t bytes = round_up(buffers[i].bytes, alignment);
        std::int64_t offset = 0;
        auto place = alive.begin();
        for (; place != alive.end() && out.offsets[*place] < offset + bytes; ++place)
            offset =
                std::max(offset, out.offsets[*place] + round_up(buffers[*place].bytes, alignment));
        out.offsets[i] = offset;
        alive.insert(place, i);
        out.bytes = std::max(out.bytes, offset + bytes);
    }
    return out;
}

}  // namespace catena
