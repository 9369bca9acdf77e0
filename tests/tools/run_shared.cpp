// Steps of which two operands share memory: the reference must read what the kernel reads.
#include "catena/plan/step.hpp"

#include "run/check.hpp"

#include "run_parts.hpp"
#include "tables.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace catena;
using namespace catena::tool;
using namespace catena_test;

namespace {

constexpr std::int64_t k = 512;

using range = std::pair<std::uintptr_t, std::uintptr_t>;

void add_range(std::vector<range>& to, const void* p, std::int64_t bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    if (p != nullptr) to.emplace_back(at, at + static_cast<std::uintptr_t>(bytes));
}

void add_operands(std::vector<range>& to, const row_args& a) {
    const auto rows = [&](const float* p, const row_strides& at) {
        add_range(to, p, 4 * a.k + (a.n1 - 1) * at.nb1 + (a.n2 - 1) * at.nb2);
    };
    rows(a.x, a.x_at), rows(a.residual, a.residual_at), rows(a.gate, a.gate_at);
    for (const float* vector : {a.weight, a.bias, a.next_weight}) add_range(to, vector, 4 * a.k);
    add_range(to, a.sum_factor, 4);
    const expert_results& e = a.experts;
    add_range(to, e.results, (e.slots - 1) * e.nb1 + (a.rows - 1) * e.nb2 + 4 * a.k);
    add_range(to, e.weights, (e.slots - 1) * e.weights_nb1 + (a.rows - 1) * e.weights_nb2 + 4);
}

bool gates(const matvec_args& a) { return a.gate.data != nullptr; }

template <class Args>
void add_operands(std::vector<range>& to, const Args& a) {
    add_range(to, a.x, a.x_bytes);
    for (int i = 0; i < a.members; ++i) {
        const matvec_member& m = a.member[i];
        for (const void* matrix : {m.weight, m.up}) add_range(to, matrix, m.weight_bytes);
        for (const float* vector : {m.bias, m.up_bias}) add_range(to, vector, 4 * m.rows);
        for (const float* number : {m.factor, m.up_factor}) add_range(to, number, 4);
        add_range(to, m.residual, 4 * m.rows);
    }
    if constexpr (requires { a.slot_weights; }) {
        add_range(to, a.slot_weights, 4 * a.slots * a.columns);
        add_range(to, a.norm_weight, 4 * (gates(a) ? a.gate.k : a.k));
        if (gates(a)) add_range(to, a.gate.data, (a.k / a.gate.k - 1) * a.gate.nb1 + 4 * a.gate.k);
    }
}

/// Do two operands of a step share memory?
bool shares(const step_args& a) {
    std::vector<range> all;
    if (a.kind == skeleton::row) add_operands(all, a.row);
    if (a.kind == skeleton::matvec) add_operands(all, a.matvec);
    if (a.kind == skeleton::matmul) add_operands(all, a.matmul);
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (all[i].first < all[j].second && all[j].first < all[i].second) return true;
    return false;
}

struct shared_case {
    std::string name;
    void (*build)(graph_builder&, std::int64_t columns);
};

void read(graph_builder& b, id value) { b.matmul(format::q8_0, 96, value); }

id biased_norm(graph_builder& b, id x, id weight, id bias) {
    const id norm = b.rms_norm(x);
    b[norm].kind = op::norm;
    return b.add(b.mul(norm, weight), bias);
}

id rows_of(graph_builder& b, id all, std::int64_t columns, std::int64_t first) {
    const id t = b.view(all, {k, columns}, 4 * first);
    b[t].nb[1] = b[all].nb[1];
    b[t].nb[2] = b[t].nb[3] = columns * b[t].nb[1];
    return t;
}

const shared_case rows_that_share[] = {
    {"x + x",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.input(format::f32, {k, n});
         read(b, b.scaled_norm(b.add(x, x)));
     }},
    {"x * sigmoid(x)",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.input(format::f32, {k, n});
         read(b, b.mul(x, b.unary(x, sub_op::sigmoid)));
     }},
    {"GLU(x, x)",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.input(format::f32, {k, n});
         read(b, b.glu(x, x));
     }},
    {"norm(x) * w + x",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.input(format::f32, {k, n});
         const id sum = b.add(b.scaled_norm(x), x);
         read(b, b.scaled_norm(sum));
         b.other({sum});
     }},
    {"norm(x + r) * w, whose next weight is w, too",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.input(format::f32, {k, n}), w = b.weight(format::f32, {k});
         const id sum = b.add(b.mul(b.rms_norm(x), w), b.input(format::f32, {k, n}));
         read(b, b.mul(b.rms_norm(sum), w));
         b.other({sum});
     }},
    {"layer_norm(x) * w + w",
     [](graph_builder& b, std::int64_t n) {
         const id w = b.weight(format::f32, {k});
         read(b, biased_norm(b, b.input(format::f32, {k, n}), w, w));
     }},
    {"a bias that is a slice of the norm's weight",
     [](graph_builder& b, std::int64_t n) {
         const id w = b.weight(format::f32, {k}), bias = b.weight(format::f32, {k});
         b.share(bias, w, 64);
         read(b, biased_norm(b, b.input(format::f32, {k, n}), w, bias));
     }},
    {"a factor that is an element of the norm's weight",
     [](graph_builder& b, std::int64_t n) {
         const id w = b.weight(format::f32, {k}), factor = b.weight(format::f32, {1});
         b.share(factor, w, 16);
         const id x = b.input(format::f32, {k, n}), past = b.input(format::f32, {k, n});
         const id sum = b.mul(b.add(b.mul(b.rms_norm(x), w), past), factor);
         read(b, b.scaled_norm(sum));
         b.other({sum});
     }},
    {"a residual that is a view with an offset of what x is a view of",
     [](graph_builder& b, std::int64_t n) {
         const id all = b.input(format::f32, {2 * k, n});
         read(b, b.scaled_norm(b.add(rows_of(b, all, n, 0), rows_of(b, all, n, 64))));
     }},
    {"a residual that is x one row further on",
     [](graph_builder& b, std::int64_t n) {
         const id all = b.input(format::f32, {k, n + 1});
         read(b, b.scaled_norm(b.add(rows_of(b, all, n, 0), rows_of(b, all, n, k / 2))));
     }},
    {"a gate that is a strided view of what x is a view of",
     [](graph_builder& b, std::int64_t n) {
         const id all = b.input(format::f32, {3 * k, n});
         read(b, b.glu(rows_of(b, all, n, k / 2), rows_of(b, all, n, 0)));
     }},
    {"a sum of experts whose residual is one of them",
     [](graph_builder& b, std::int64_t n) {
         const id all = b.input(format::f32, {k, 2, n}), weights = b.input(format::f32, {1, 2, n});
         const id past = rows_of(b, all, n, 0);
         b[past].nb[1] = b[all].nb[2];
         b[past].nb[2] = b[past].nb[3] = n * b[past].nb[1];
         const id weighted = b.mul(all, weights);
         const auto slot = [&](std::int64_t which) {
             const id t = rows_of(b, weighted, n, which * k);
             b[t].nb[1] = b[weighted].nb[2];
             b[t].nb[2] = b[t].nb[3] = n * b[t].nb[1];
             return t;
         };
         const id sum = b.add(b.add(slot(0), slot(1)), past);
         read(b, b.scaled_norm(sum));
     }},
};

const shared_case products_that_share[] = {
    {"a bias that is also the residual",
     [](graph_builder& b, std::int64_t) {
         const id y = b.matmul(format::q8_0, 96, b.scaled_norm(b.input(format::f32, {k, 1})));
         const id bias = b.weight(format::f32, {96});
         b.add(b.add(y, bias), bias);
     }},
    {"an activation that is also the residual",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.input(format::f32, {k, n});
         b.add(b.matmul(format::f32, k, x), x);
     }},
    {"a residual that is a part of the activation",
     [](graph_builder& b, std::int64_t) {
         const id x = b.input(format::f32, {k, 1});
         b.add(b.matmul(format::f32, 96, x), b.view(x, {96, 1}, 256));
     }},
    {"GLU(W x, W x)",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.scaled_norm(b.input(format::f32, {k, n}));
         const id w = b.weight(format::q8_0, {k, 256});
         b.other({b.glu(b.mul_mat(w, x), b.mul_mat(w, x))});
     }},
    {"two matrices that share rows",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.scaled_norm(b.input(format::f32, {k, n}));
         const id all = b.weight(format::q8_0, {k, 256}), part = b.weight(format::q8_0, {k, 96});
         b.share(part, all, 16 * b[all].nb[1]);
         b.mul_mat(all, x), b.mul_mat(part, x);
     }},
    {"biases that share elements",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.scaled_norm(b.input(format::f32, {k, n}));
         const id first = b.weight(format::f32, {96}), second = b.weight(format::f32, {96});
         b.share(second, first, 80);
         for (const id bias : {first, second}) b.add(b.matmul(format::q8_0, 96, x), bias);
     }},
    {"a factor that is an element of the bias",
     [](graph_builder& b, std::int64_t n) {
         const id x = b.scaled_norm(b.input(format::f32, {k, n}));
         const id bias = b.weight(format::f32, {96}), factor = b.weight(format::f32, {1});
         b.share(factor, bias, 132);
         b.add(b.mul(b.matmul(format::q8_0, 96, x), factor), bias);
     }},
    {"experts whose gate is their value",
     [](graph_builder& b, std::int64_t) {
         const id x = b.reshape(b.scaled_norm(b.input(format::f32, {k, 2})), {k, 1, 2});
         const id w = b.weight(format::q4_K, {k, 256, 4}), ids = b.input(format::i32, {2, 2});
         b.other({b.glu(b.mul_mat_id(w, x, ids), b.mul_mat_id(w, x, ids))});
     }},
    {"weights of slots that are a part of the residual",
     [](graph_builder& b, std::int64_t) {
         const id x = b.reshape(b.scaled_norm(b.input(format::f32, {k, 2})), {k, 1, 2});
         const id ids = b.input(format::i32, {2, 2}), past = b.input(format::f32, {96, 2});
         const id inner = b.glu(b.mul_mat_id(b.weight(format::q8_0, {k, 256, 4}), x, ids),
                                b.mul_mat_id(b.weight(format::q8_0, {k, 256, 4}), x, ids));
         const id down = b.mul_mat_id(b.weight(format::q8_0, {256, 96, 4}), inner, ids);
         const id weighted = b.mul(down, b.view(past, {1, 2, 2}));
         const auto slot = [&](std::int64_t which) {
             const id t = b.view(weighted, {96, 2}, which * b[weighted].nb[1]);
             b[t].nb[1] = b[weighted].nb[2];
             b[t].nb[2] = b[t].nb[3] = 2 * b[t].nb[1];
             return t;
         };
         b.other({b.add(b.add(slot(0), slot(1)), past)});
     }},
};

/// Runs the steps; one of the rows or of the products has operands that share memory.
void check_case(const shared_case& c, std::int64_t columns, bool of_rows) {
    INFO(c.name << ", " << columns << " columns");
    graph_builder b;
    c.build(b, columns);
    const json::graph g = as_file(b, "shared");
    const auto on = host_machine(1);
    const placement where{g, *on};
    const plan p = planner{on->equip(table_for("sm_90"))}.plan(where.view());
    REQUIRE(p.state().ok());
    checker check{p, where, *on, {}};
    int sharing = 0;
    for (int s = 0; s < static_cast<int>(p.steps().size()); ++s) {
        const step_args a = p.args(s, nullptr);
        const bool as_row =
            a.kind == skeleton::row || (a.kind == skeleton::matvec && gates(a.matvec));
        sharing += as_row == of_rows && shares(a);
        const step_result r = check.run(s);
        INFO("step " << s << " " << r.fault);
        for (const comparison& found : r.comparisons) {
            INFO(found.of << " " << found.nmse << " > " << found.limit);
            CHECK(found.ok());
        }
        CHECK(r.ok());
    }
    CHECK(sharing > 0);
}

}  // namespace

TEST_CASE("operands of a row step, or of a launch in its place, may be parts of one tensor",
          "[run][shared]") {
    for (const shared_case& c : rows_that_share)
        for (const std::int64_t columns : {1, 3}) check_case(c, columns, true);
}

TEST_CASE("operands of a product may be one tensor or parts of one", "[run][shared]") {
    for (const shared_case& c : products_that_share)
        for (const std::int64_t columns : {1, 3, 40}) check_case(c, columns, false);
}
