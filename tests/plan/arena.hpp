// Memory as engines deal it: an arena so small that it is reused all the time.
#pragma once

#include "catena_test/graph_builder.hpp"

#include <random>
#include <vector>

namespace catena_test {

/// Results begin at multiples of `apart` bytes; there are more than `places` of these only where
/// nothing else is free.
struct arena {
    int places;
    std::int64_t apart;
};

/// Gives every node's result a place where no value lies that is still read; sometimes exactly over
/// an input that dies here, as engines do. A matmul's result lies over none of its operands. What
/// is set aside behind a result is free again when its node is done.
inline void deal_arena(graph_builder& g, std::mt19937& random, const arena& room) {
    const auto at = [](id t) { return static_cast<std::size_t>(t); };
    const auto below = [&random](int n) {
        return static_cast<int>(random() % static_cast<unsigned>(n));
    };
    const int count = static_cast<int>(g.nodes.size());
    std::vector<int> last(g.tensors.size(), -1);
    std::vector<bool> read(g.tensors.size(), false);
    const auto root = [&g](id t) { return g[t].view_src == catena::no_tensor ? t : g[t].view_src; };
    for (int i = 0; i < count; ++i)
        for (const id s : g[g.nodes[at(i)]].src)
            if (s != catena::no_tensor) last[at(root(s))] = i, read[at(s)] = true;
    for (const id n : g.nodes)
        if (!read[at(n)] || (g[n].flags & catena::flag_output) != 0) last[at(root(n))] = count;
    for (int i = 0; i < count; ++i) {
        const id t = g.nodes[at(i)];
        if (g[t].view_src != catena::no_tensor) {
            g.share(t, g[t].view_src);
            continue;
        }
        const std::int64_t bytes = catena::extent_bytes(g[t]);
        const std::int64_t all = catena::allocated_bytes(g[t]);
        const auto free_at = [&](std::int64_t first) {
            for (int j = 0; j < i; ++j) {
                const id o = g.nodes[at(j)];
                if (root(o) != o) continue;
                const auto there = static_cast<std::int64_t>(g[o].offset);
                const std::int64_t size = catena::extent_bytes(g[o]);
                if (there >= first + all || there + size <= first) continue;
                const bool takes_over =
                    last[at(o)] == i && there == first && size == bytes && g[t].kind != op::mul_mat;
                if (last[at(o)] >= i && !takes_over) return false;
            }
            return true;
        };
        std::int64_t first = 0;
        for (int tries = 0; tries == 0 || !free_at(first); ++tries) {
            const int places = tries < 50 ? room.places : room.places + tries;
            first = (std::int64_t{1} << 24) + below(places) * room.apart;
        }
        g[t].offset = static_cast<std::uint64_t>(first);
        g[t].data = reinterpret_cast<void*>((2ull << 40) + g[t].offset);
    }
}

}  // namespace catena_test
