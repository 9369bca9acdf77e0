// The ids of experts that tokens of a timed launch draw.
#pragma once

#include "operands.hpp"

#include "catena/format/random.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena::bench {

/// Seeded ids of a stretch. Those of a token begin somewhere and are seven apart, so tokens draw
/// experts at random, and some draw what others have drawn.
inline std::vector<std::int32_t> ids_of(const stretch& s, std::uint64_t seed) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(s.bytes) / 4);
    const std::size_t run = s.id_run > 0 ? static_cast<std::size_t>(s.id_run) : ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<std::int32_t>((random_bits(seed, i / run) + i % run * 7) %
                                           static_cast<unsigned>(s.id_limit));
    return ids;
}

}  // namespace catena::bench
