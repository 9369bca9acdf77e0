// Operands that a kernel cannot load or store: a GPU's context dies of one float at an odd address.
#include "cases.hpp"
#include "random/tables.hpp"

#include <functional>
#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// A graph, a tensor of it, and the node that a step covers only while that tensor is aligned.
struct operand_case {
    graph_builder g;
    id operand = no_tensor, node = no_tensor;
};

/// As far away from all other tensors as to share no memory with them.
constexpr std::int64_t far_away = std::int64_t{1} << 30;

using make_case = std::function<operand_case(std::int64_t columns)>;

operand_case residual_case(std::int64_t columns) {
    operand_case c;
    c.operand = c.g.other({c.g.input(format::f32, {256, columns})});
    const id x = c.g.scaled_norm(c.g.input(format::f32, {512, columns}));
    c.node = c.g.add(c.g.matmul(format::q4_K, 256, x), c.operand);
    return c;
}

/// Two experts of four for each token, their weighted sum, a residual and a norm of that.
struct expert_case : operand_case {
    id ids, bias, biased, weights, weighted, sum;

    explicit expert_case(std::int64_t tokens) {
        const id residual = made({512, tokens});
        const id x = g.reshape(g.scaled_norm(made({512, tokens})), {512, 1, tokens});
        ids = g.node(op::argsort, format::i32, {2, tokens}, {g.input(format::f32, {2, tokens})});
        weights = made({1, 2, tokens});
        const id down = g.mul_mat_id(g.weight(format::q4_K, {512, 512, 4}), x, ids);
        bias = g.weight(format::f32, {512, 4});
        biased = g.same_shape(op::add_id, down, {down, bias, ids});
        weighted = g.mul(biased, weights);
        sum = g.add(slot(0, tokens), slot(1, tokens));
        g.matmul(format::q4_K, 64, g.scaled_norm(g.add(sum, residual)));
    }
    id down() { return g[biased].src[0]; }

  private:
    id made(shape ne) { return g.other({g.input(format::f32, ne)}); }
    id slot(std::int64_t i, std::int64_t tokens) {
        const id t = g.view(weighted, {512, tokens}, i * 2048);
        for (int d = 1; d < 4; ++d) g[t].nb[d] = 2 * 2048 * (d > 1 ? tokens : 1);
        return t;
    }
};

operand_case of_experts(std::int64_t tokens, id expert_case::*operand, id expert_case::*node) {
    expert_case c(tokens);
    c.operand = c.*operand;
    c.node = node == nullptr ? c.down() : c.*node;
    return c;
}

const std::vector<std::pair<std::string, make_case>> cases = {
    {"a matmul's result",
     [](std::int64_t columns) {
         operand_case c;
         const id x = c.g.scaled_norm(c.g.input(format::f32, {512, columns}));
         c.operand = c.node = c.g.matmul(format::q4_K, 256, x);
         return c;
     }},
    {"the sum of a matmul's result and a residual",
     [](std::int64_t columns) {
         operand_case c = residual_case(columns);
         c.operand = c.node;
         return c;
     }},
    {"a residual", residual_case},
    {"a bias",
     [](std::int64_t columns) {
         operand_case c;
         const id x = c.g.scaled_norm(c.g.input(format::f32, {512, columns}));
         c.operand = c.g.weight(format::f32, {256});
         c.node = c.g.add(c.g.matmul(format::q4_K, 256, x), c.operand);
         return c;
     }},
    {"a factor",
     [](std::int64_t columns) {
         operand_case c;
         const id x = c.g.scaled_norm(c.g.input(format::f32, {512, columns}));
         c.operand = c.g.weight(format::f32, {1});
         c.node = c.g.mul(c.g.matmul(format::q4_K, 256, x), c.operand);
         return c;
     }},
    {"an activation that the engine makes",
     [](std::int64_t columns) {
         operand_case c;
         c.operand = c.g.other({c.g.input(format::f32, {512, columns})});
         c.node = c.g.matmul(format::q4_K, 256, c.operand);
         return c;
     }},
    {"what a norm reads",
     [](std::int64_t columns) {
         operand_case c;
         c.operand = c.g.other({c.g.input(format::f32, {512, columns})});
         c.node = c.g.rms_norm(c.operand);
         c.g.matmul(format::q4_K, 64, c.g.mul(c.node, c.g.weight(format::f32, {512})));
         return c;
     }},
    {"a norm's weight",
     [](std::int64_t columns) {
         operand_case c;
         c.node = c.g.rms_norm(c.g.other({c.g.input(format::f32, {512, columns})}));
         c.operand = c.g.weight(format::f32, {512});
         c.g.matmul(format::q4_K, 64, c.g.mul(c.node, c.operand));
         return c;
     }},
    {"the scales of fp8 weights",
     [](std::int64_t columns) {
         operand_case c;
         const id x = c.g.scaled_norm(c.g.input(format::f32, {512, columns}));
         c.operand = c.g.weight(format::f32, {1, 256});
         c.node = c.g.matmul(format::fp8_e4m3, 256, x);
         c.g[c.node].src[2] = c.operand;
         return c;
     }},
    {"the ids of experts",
     [](std::int64_t tokens) { return of_experts(tokens, &expert_case::ids, nullptr); }},
    {"the bias of experts",
     [](std::int64_t tokens) {
         return of_experts(tokens, &expert_case::bias, &expert_case::biased);
     }},
    {"the weights of slots",
     [](std::int64_t tokens) {
         return of_experts(tokens, &expert_case::weights, &expert_case::weighted);
     }},
};

/// What the plan of a case says of its node.
obstacle left_of(const plan& p, int position) {
    for (const left_over& l : p.left())
        if (l.what.node == position && l.what.why == reason::unaligned) return l.what;
    return {};
}

}  // namespace

TEST_CASE("an operand that is aligned to 2 bytes alone is left, and the reason names it",
          "[plan][alignment]") {
    for (const auto& [name, make] : cases)
        for (const std::int64_t columns : {1, 2, 64}) {
            INFO(name << ", columns: " << columns);
            for (const int bytes : {0, 4}) {
                operand_case c = make(columns);
                c.g.share(c.operand, c.operand, far_away + bytes);
                const plan p = checked_plan(c.g, shipped_table());
                CHECK(p.at(c.g.position(c.node)).step >= 0);
            }
            operand_case c = make(columns);
            c.g.share(c.operand, c.operand, far_away + 2);
            const int position = c.g.position(c.node);
            const plan p = checked_plan(c.g, shipped_table());
            CHECK(p.at(position).step < 0);
            const obstacle why = left_of(p, position);
            CHECK(why.have == c.operand);
            CHECK(sentence(why) == "tensor " + std::to_string(c.operand) +
                                       " lies at an address, or has strides, that 4 bytes do not "
                                       "divide");
        }
}

TEST_CASE("strides count as addresses do where there is a second row", "[plan][alignment]") {
    for (const std::int64_t columns : {1, 2}) {
        operand_case c = residual_case(columns);
        c.g[c.operand].nb[1] += 2;
        c.g.share(c.operand, c.operand, far_away);
        const plan p = checked_plan(c.g, shipped_table());
        CHECK((p.at(c.g.position(c.node)).step >= 0) == (columns == 1));
    }
}

TEST_CASE("a matmul without what is not aligned behind it is planned as ever",
          "[plan][alignment]") {
    operand_case c = residual_case(2);
    c.g.share(c.operand, c.operand, far_away + 2);
    const plan p = checked_plan(c.g, shipped_table());
    CHECK(p.at(c.g.position(c.node) - 1).step >= 0);
}
