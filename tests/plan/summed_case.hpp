// Experts whose results are added up, and a norm of their sum.
#pragma once

#include "cases.hpp"

#include "catena/plan/step.hpp"
#include "catena_test/problems.hpp"

#include <cstdint>

namespace catena_test {

using namespace catena;

/// A gate and a value of five experts, three of them used; down with its bias; their weighted sum
/// with a residual; a norm of that, which a matrix reads.
struct summed_case {
    std::int64_t tokens = 2;
    bool late = false, shared = false;  // weights that are made behind down; a shared expert
    bool scaled = false;                // all that before the residual
    bool weighs = true;                 // else the sum is not weighted
    bool gated = false;                 // a matrix makes what a shared expert makes, and its gate
    graph_builder g = {};
    id residual = made({512, tokens});
    id of_shared = shared ? made({512, tokens}) : no_tensor;
    id ids = g.node(op::argsort, format::i32, {3, tokens}, {g.input(format::f32, {3, tokens})});
    id early = late ? no_tensor : made({1, 3, tokens});
    id x = g.reshape(g.scaled_norm(made({512, tokens})), {512, 1, tokens});
    id gate = picked(256, x), value = picked(256, x);
    id inner = g.glu(gate, value);
    id down = picked(512, inner);
    id biased = g.same_shape(op::add_id, down, {down, g.weight(format::f32, {512, 5}), ids});
    id weights = late ? made({1, 3, tokens}) : early;
    id weighted = weighs ? g.mul(biased, weights) : biased;
    id first = g.add(slot(0), slot(1));
    id sum = g.add(first, slot(2));
    id x_of_gated = gated ? made({512, tokens}) : no_tensor;
    id open = gated ? g.unary(g.matmul(format::f32, 1, x_of_gated), sub_op::sigmoid) : no_tensor;
    id of_gated = gated ? g.matmul(format::q4_K, 512, x_of_gated) : no_tensor;
    id times_gate = gated ? g.mul(of_gated, open) : no_tensor;
    id joined = gated ? g.add(sum, times_gate) : shared ? g.add(sum, of_shared) : sum;
    id times = scaled ? g.scale(joined, 0.25f) : joined;
    id all = g.add(times, residual);
    id norm = g.scaled_norm(all);
    id out = g.matmul(format::q4_K, 64, norm);
    id end = g.other({out, all});

    plan planned(const table& rows = shipped_table(), const options& asked = {}) {
        return checked_plan(g, rows, asked);
    }
    /// The step that adds the experts up.
    const step& adds(const plan& p) {
        const int at = p.at(g.position(sum)).step;
        REQUIRE(at >= 0);
        return p.steps()[static_cast<std::size_t>(at)];
    }
    bool by_their_launch(const plan& p) {
        return epilogue_of(adds(p).what).has(epilogue_part::combine);
    }

  private:
    id made(shape ne) { return g.other({g.input(format::f32, ne)}); }
    id picked(std::int64_t rows, id from) {
        return g.mul_mat_id(g.weight(format::q4_K, {g[from].ne[0], rows, 5}), from, ids);
    }
    id slot(std::int64_t which) {
        const id t = g.view(weighted, {512, tokens}, which * g[weighted].nb[1]);
        g[t].nb[1] = g[weighted].nb[2];
        g[t].nb[2] = g[t].nb[3] = g[t].nb[1] * tokens;
        return t;
    }
};

}  // namespace catena_test
