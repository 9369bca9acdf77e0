#include "growth.hpp"

#include "engine.hpp"

#include <algorithm>
#include <map>

namespace catena_test {

/// Another order that gives the same results: whoever reads what another writes stays behind it.
void growth::reorder() {
    const std::size_t count = g_.nodes.size();
    std::vector<std::vector<std::size_t>> before(count);
    struct access {
        std::vector<std::size_t> readers;
        std::size_t writer = SIZE_MAX;
    };
    std::map<id, access> memory;  // by root
    for (std::size_t i = 0; i < count; ++i) {
        const id n = g_.nodes[i];
        const auto root = [this](id t) {
            return g_[t].view_src == catena::no_tensor ? t : g_[t].view_src;
        };
        for (const id s : g_[n].src) {
            if (s == catena::no_tensor) continue;
            access& a = memory[root(s)];
            if (a.writer != SIZE_MAX) before[i].push_back(a.writer);
            a.readers.push_back(i);
            const auto made = std::find(g_.nodes.begin(), g_.nodes.end(), s);
            if (made != g_.nodes.end())
                before[i].push_back(static_cast<std::size_t>(made - g_.nodes.begin()));
        }
        if (catena::launches_nothing(g_[n].kind)) continue;
        access& a = memory[root(n)];
        for (const std::size_t r : a.readers)
            if (r != i) before[i].push_back(r);
        if (a.writer != SIZE_MAX) before[i].push_back(a.writer);
        a = {{}, i};
    }
    const int wild = 2 + below(8);
    std::vector<bool> done(count, false);
    std::vector<id> order;
    while (order.size() < count) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < count && ready.size() < 6; ++i)
            if (!done[i] && std::all_of(before[i].begin(), before[i].end(),
                                        [&](std::size_t b) { return done[b]; }))
                ready.push_back(i);
        const std::size_t next = one_in(wild) ? any(ready) : ready.front();
        done[next] = true;
        order.push_back(g_.nodes[next]);
    }
    g_.nodes = order;
}

/// OUTPUT anywhere, readers outside, counts that nobody knows, dead branches, streams, names.
void growth::flag() {
    std::vector<int> live(g_.tensors.size(), 0);  // readers that are computed
    const int outputs = one_in(4) ? 8 : 40;
    const bool silent = one_in(20), branches = one_in(10);
    for (auto n = g_.nodes.rbegin(); n != g_.nodes.rend(); ++n) {
        catena::tensor& t = g_[*n];
        t.name = one_in(3) ? "same" : "name";
        const bool in_place = !catena::launches_nothing(t.kind) && t.view_src != catena::no_tensor;
        const bool unread = live[static_cast<std::size_t>(*n)] == 0;
        const bool dead = unread && !in_place && one_in(40);
        if (dead) t.flags = 0;
        for (const id s : t.src)
            if (s != catena::no_tensor && !dead) ++live[static_cast<std::size_t>(s)];
        if (!dead && one_in(outputs)) t.flags |= catena::flag_output;
        if (one_in(50)) {
            g_.read_outside(*n, 1 + below(2));
            outside_.push_back(*n);
        }
        if (silent || one_in(50)) g_.uncounted.push_back(*n);
        if (branches) t.stream = one_in(3);
    }
}

std::vector<bool> growth::read_outside() const {
    std::vector<bool> out(g_.tensors.size(), false);
    for (const id t : outside_) out[static_cast<std::size_t>(t)] = true;
    return out;
}

}  // namespace catena_test
