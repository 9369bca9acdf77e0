// One launch on several sets of operands in turn, so that none of its inputs is in the L2 cache.
#pragma once

#include "ids.hpp"
#include "measure.hpp"
#include "operands.hpp"
#include "replay.hpp"

#include "catena/exec/launch.hpp"
#include "catena/format/random.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace catena::bench {

/// Sets of a problem's operands, as many as an L2 cache of `l2_bytes` asks for and the arena holds.
/// `band` as the pick says.
inline std::vector<operands> operand_sets(const problem& p, std::int32_t band, const buffer& arena,
                                          double l2_bytes) {
    dealer deal(arena.data(), arena.bytes());
    std::vector<operands> sets;
    for (int left = rotation(static_cast<double>(bytes_of(p)), l2_bytes); left > 0; --left) {
        operands set = operands_of(p, band, deal);
        if (deal.started_again()) break;  // it would lie over the first
        sets.push_back(std::move(set));
    }
    return sets;
}

/// Seeded data for an input: numbers, blocks of a format, or ids.
inline void fill(const stretch& s, std::uint64_t seed) {
    std::vector<std::byte> data(static_cast<std::size_t>(std::min<std::int64_t>(s.bytes, 1 << 20)));
    const auto block = static_cast<std::size_t>(info(s.type).block_bytes);
    if (s.type == format::i32) {
        const std::vector<std::int32_t> ids = ids_of(s, seed);
        std::memcpy(data.data(), ids.data(), data.size());
    } else if (s.type == format::f32) {
        fill_random_values(seed, 0, {reinterpret_cast<float*>(data.data()), data.size() / 4});
    } else {
        data.resize(data.size() / block * block);
        fill_random_blocks(s.type, seed, 0, data);
    }
    for (std::int64_t at = 0; at < s.bytes; at += static_cast<std::int64_t>(data.size())) {
        const auto bytes =
            std::min<std::size_t>(data.size(), static_cast<std::size_t>(s.bytes - at));
        check(cudaMemcpy(s.at + at, data.data(), bytes, cudaMemcpyHostToDevice), "fill an input");
    }
}

inline void fill(const std::vector<operands>& sets) {
    std::uint64_t seed = 0;
    for (const operands& set : sets)
        for (const stretch& s : set.inputs) fill(s, ++seed);
}

inline status launch(launch_fn by, const void* kernel, const launch_config& config,
                     const operands& o, cudaStream_t stream) {
    return by(kernel, config, o.args(), o.args_bytes(), stream);
}

/// Launches of a kernel on these sets in turn, to be timed.
inline std::unique_ptr<replay> captured(launch_fn by, const void* kernel,
                                        const launch_config& config,
                                        const std::vector<operands>& sets, cudaStream_t stream) {
    const timed what = {
        .name = "", .sets = static_cast<int>(sets.size()), .launch = [&](cudaStream_t s, int set) {
            const status done = launch(by, kernel, config, sets[static_cast<std::size_t>(set)], s);
            if (!done.ok()) throw std::runtime_error(done.message);
        }};
    const int launches = std::max(64, what.sets);
    what.launch(stream, 0);  // loads the kernel, which a capture forbids
    return std::make_unique<replay>(what, launches, stream);
}

}  // namespace catena::bench
