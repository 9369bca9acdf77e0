#include "growth.hpp"
#include "order.hpp"

namespace catena_test {

void growth::reorder() {
    const auto wild = static_cast<unsigned>(2 + below(8));
    g_.nodes = reordered(g_, wild, to_.random);
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
