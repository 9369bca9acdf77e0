// A layer's experts as engines spell them: three slots of two tokens, and a shared expert with its
// gate.
#pragma once

#include "catena_test/graph_builder.hpp"

namespace catena_test {

struct experts_case {
    explicit experts_case(std::int64_t tokens = 2) : tokens(tokens) {}

    std::int64_t tokens;
    graph_builder g;
    id residual = made({512, tokens});
    id results = made({512, 3, tokens});
    id weights = made({1, 3, tokens});
    id weighted = g.mul(results, weights);
    id slot[3] = {view(0), view(1), view(2)};
    id first = g.add(slot[0], slot[1]);
    id sum = g.add(first, slot[2]);
    id shared = made({512, tokens});
    id gate = made({1, tokens});
    id open = g.unary(gate, catena::sub_op::sigmoid);
    id gated = g.mul(shared, open);

  private:
    id made(shape ne) { return g.other({g.input(format::f32, ne)}); }
    id view(std::int64_t slot_index) {
        const id t = g.view(weighted, {512, tokens}, slot_index * g[weighted].nb[1]);
        g[t].nb[1] = g[weighted].nb[2];
        g[t].nb[2] = g[t].nb[3] = g[t].nb[1] * tokens;
        return t;
    }
};

}  // namespace catena_test
