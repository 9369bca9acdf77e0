#include "order.hpp"

#include <algorithm>
#include <vector>

namespace catena_test {

std::vector<id> reordered(graph_builder& g, unsigned wild, std::mt19937& random) {
    const std::size_t count = g.nodes.size();
    std::vector<std::vector<std::size_t>> before(count);
    struct access {
        std::vector<std::size_t> readers;
        std::size_t writer = SIZE_MAX;
    };
    std::vector<access> memory(g.tensors.size());  // of roots
    std::vector<std::size_t> position(g.tensors.size(), SIZE_MAX);
    const auto of_root = [&](id t) -> access& {
        const id root = g[t].view_src == catena::no_tensor ? t : g[t].view_src;
        return memory[static_cast<std::size_t>(root)];
    };
    for (std::size_t i = 0; i < count; ++i) position[static_cast<std::size_t>(g.nodes[i])] = i;
    for (std::size_t i = 0; i < count; ++i) {
        const id n = g.nodes[i];
        for (const id s : g[n].src) {
            if (s == catena::no_tensor) continue;
            access& a = of_root(s);
            if (a.writer != SIZE_MAX) before[i].push_back(a.writer);
            a.readers.push_back(i);
            if (const std::size_t made = position[static_cast<std::size_t>(s)]; made != SIZE_MAX)
                before[i].push_back(made);
        }
        if (catena::launches_nothing(g[n].kind)) continue;
        access& a = of_root(n);
        for (const std::size_t r : a.readers)
            if (r != i) before[i].push_back(r);
        if (a.writer != SIZE_MAX) before[i].push_back(a.writer);
        a = {{}, i};
    }
    std::vector<bool> done(count, false);
    std::vector<id> order;
    while (order.size() < count) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < count && ready.size() < 6; ++i)
            if (!done[i] && std::all_of(before[i].begin(), before[i].end(),
                                        [&](std::size_t b) { return done[b]; }))
                ready.push_back(i);
        const std::size_t next = random() % wild == 0 ? ready[random() % ready.size()] : ready[0];
        done[next] = true;
        order.push_back(g.nodes[next]);
    }
    return order;
}

}  // namespace catena_test
