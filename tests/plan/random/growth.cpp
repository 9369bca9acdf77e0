#include "growth.hpp"

#include <cstring>

namespace catena_test {

using catena::sub_op;

namespace {

void set(catena::tensor& t, int word, float value) {
    std::memcpy(&t.params[word], &value, sizeof(value));
}

}  // namespace

growth::growth(random_graph& to, graph_builder& g) : to_(to), g_(g) {
    k_ = any<std::int64_t>({256, 256, 256, 64, 64, 96, 288, 512});
    columns_ = one_in(4) ? 1 + below(10) : one_in(2) ? 1 : 2 + below(2);
    if (one_in(400)) {
        columns_ = 512;
        k_ = 64;
    }
    const std::vector<format> all{format::q4_K, format::q4_K,     format::q6_K,
                                  format::q8_0, format::q4_0,     format::f16,
                                  format::bf16, format::fp8_e4m3, format::mxfp4};
    scaling_ = below(4);
    const int kinds = 1 + below(3);
    for (int i = 0; i < kinds; ++i) palette_.push_back(any(all));
    palette_.push_back(one_in(2) ? format::q8_0 : format::q4_0);  // there is one for every k
    hidden_.push_back(input(format::f32, {k_, columns_}));
    if (one_in(3)) hidden_.push_back(input(format::f32, {k_, columns_}));
}

id growth::recent() {
    const int last = static_cast<int>(hidden_.size()) - 1;
    return hidden_[static_cast<std::size_t>(one_in(3) ? last - below(std::min(last + 1, 4))
                                                      : last)];
}

sub_op growth::gating() {
    return any({sub_op::silu, sub_op::silu, sub_op::sigmoid, sub_op::gelu, sub_op::gelu_erf,
                sub_op::gelu_quick, sub_op::relu});
}

/// A weight: a leaf, or some of the rows or matrices of one, by a VIEW or by a view of a view.
id growth::leaf(format type, shape ne, bool around_one) {
    if (!one_in(8)) return whole_leaf(type, ne, around_one);
    std::int64_t all[3] = {1, 1, 1};
    std::copy(ne.begin(), ne.end(), all);
    const int cut = all[2] > 1 ? 2 : all[1] > 1 ? 1 : 0;  // the outermost dimension
    const catena::format_info& f = catena::info(type);
    const int unit = cut == 0 ? f.block_elements : 1, before = unit * below(3);
    all[cut] += before + unit * below(2);
    const id from = whole_leaf(type, {all[0], all[1], all[2]}, around_one);
    const std::int64_t skipped = before * g_[from].nb[cut] / (cut == 0 ? unit : 1);
    const id name = one_in(3) ? g_.view(from, {all[0], all[1], all[2]}) : from;
    const id t = g_.view(name, ne, skipped);
    g_[t].reachable = g_[name].reachable = g_[from].reachable;
    return t;
}

id growth::whole_leaf(format type, shape ne, bool around_one) {
    const id t = g_.weight(type, ne);
    const bool secret = one_in(60);  // a weight of which the engine says nothing
    const bool host = !secret && one_in(60);
    g_[t].weight = !secret;
    g_[t].reachable = !host;
    to_.pooled_.resize(g_.tensors.size(), nullptr);
    to_.pooled_[static_cast<std::size_t>(t)] =
        &weight_pool::get(type, g_[t].ne[0], catena::elements(g_[t]) / g_[t].ne[0],
                          secret ? 5
                          : host ? 6
                                 : below(3),
                          around_one);
    return t;
}

/// A format of the graph's that rows of k values may have.
format growth::any_format(std::int64_t k) {
    if (k % 32 != 0) return format::f16;
    format type = any(palette_);
    while (k % catena::info(type).block_elements != 0) type = any(palette_);
    return type;
}

id growth::weight(std::int64_t k, std::int64_t rows, std::int64_t matrices) {
    return weight_of(any_format(k), {k, rows, matrices});
}

id growth::weight_of(format type, shape ne) {
    const id w = leaf(type, ne);
    if (!one_in(60)) return w;
    return g_.node(op::cont, type, ne, {w});  // a weight that is computed
}

/// Those of fp8 weights: one, one for each row, one for each square of 128 by 128 values, or none.
id growth::scales(id w) {
    if (g_[w].type != format::fp8_e4m3) return catena::no_tensor;
    const std::int64_t rows = ne(w, 1), matrices = ne(w, 2);
    const auto leaf_of = [&](std::int64_t across, std::int64_t down) {
        const id s = leaf(format::f32, {across, down, matrices}, true);
        return one_in(40) ? mix({s}, {across, down, matrices}) : s;
    };
    switch (one_in(8) ? below(4) : scaling_) {
        case 0:
            return catena::no_tensor;
        case 1:
            return leaf_of(1, 1);
        case 2:
            return leaf_of(1, rows);
        default:
            return leaf_of((ne(w, 0) + 127) / 128, (rows + 127) / 128);
    }
}

/// A MUL_MAT or, with ids, a MUL_MAT_ID, which names the scales of its weight.
id growth::product(id w, id x, id ids) {
    const id by = scales(w);
    const id y = ids == catena::no_tensor ? g_.mul_mat(w, x) : g_.mul_mat_id(w, x, ids);
    g_[y].src[catena::plain_sources(g_[y].kind)] = by;
    return y;
}

id growth::input(format type, shape ne, int below) {
    const id t = g_.input(type, ne);
    g_[t].flags = catena::flag_input;
    to_.below_.resize(g_.tensors.size(), 0);
    to_.below_[static_cast<std::size_t>(t)] = below;
    return t;
}

id growth::binary(op kind, id a, id b) { return g_.same_shape(kind, a, {a, b}); }

id growth::unary(sub_op f, id x) {
    const id t = g_.same_shape(op::unary, x, {x});
    g_[t].sub = f;
    return t;
}

id growth::scale(id x) {
    const id t = g_.same_shape(op::scale, x, {x});
    set(g_[t], 0, 0.5f + static_cast<float>(below(4)) / 4);
    if (one_in(6)) set(g_[t], 1, 0.25f);
    return t;
}

id growth::mix(std::initializer_list<id> of, shape ne) {
    return g_.node(op::other, format::f32, ne, of);
}

/// Rows of x that stand nb1 bytes apart.
id growth::strided(id x, shape ne, std::int64_t nb1, std::int64_t offset) {
    const id t = g_.view(x, ne, offset);
    g_[t].nb[1] = nb1;
    for (int d = 2; d < 4; ++d) g_[t].nb[d] = g_[t].nb[d - 1] * g_[t].ne[d - 1];
    return t;
}

id growth::gated(id gate, id up) {
    if (one_in(3)) {
        const id open = unary(gating(), gate);
        if (one_in(10)) strays_.push_back(open);
        return one_in(3) ? binary(op::mul, up, open) : binary(op::mul, open, up);
    }
    const id t = binary(op::glu, gate, up);
    g_[t].sub = any({sub_op::swiglu, sub_op::swiglu, sub_op::geglu, sub_op::geglu_erf,
                     sub_op::geglu_quick, sub_op::reglu, sub_op::swiglu_oai});
    const float alpha = 1.702f, limit = 0.5f;
    std::memcpy(&g_[t].params[2], &alpha, sizeof(alpha));
    std::memcpy(&g_[t].params[3], &limit, sizeof(limit));
    return t;
}

/// The GLU of one tensor that holds gate and value side by side.
id growth::two_halves(id both, std::int64_t rows) {
    const shape half = {rows, ne(both, 1), ne(both, 2)};
    if (one_in(2)) {
        const id t = g_.node(op::glu, format::f32, half, {both});
        g_[t].sub = any({sub_op::swiglu, sub_op::geglu, sub_op::reglu});
        g_[t].params[1] = one_in(2);
        return t;
    }
    const id gate = strided(both, half, 2 * rows * 4, 0);
    const id up = strided(both, half, 2 * rows * 4, rows * 4);
    return one_in(2) ? gated(gate, up) : gated(up, gate);
}

id growth::glu(id x, std::int64_t rows) {
    if (one_in(3)) return two_halves(after_matmul(matmul(x, 2 * rows), x), rows);
    const id gate = after_matmul(matmul(x, rows), x);
    const id up = one_in(12) ? gate : after_matmul(matmul(x, rows), x);
    return gated(gate, up);
}

id growth::norm_weight(std::int64_t k) {
    if (one_in(25)) return leaf(format::f32, {1}, true);
    if (one_in(40)) return mix({leaf(format::f32, {k}, true)}, {k});
    return leaf(format::f32, {k}, true);
}

/// One of three that make powers of two of their own (scalar::norm_scale) of many rows.
float growth::epsilon() { return any({1e-6f, 4.0f, 64.0f}); }

/// [residual] norm [weight], with second readers here and there.
id growth::normed(id x) {
    if (one_in(3) && ne(x, 0) == k_ && ne(x, 1) == columns_) {
        x = binary(op::add, x, recent());
        if (!one_in(4)) hidden_.push_back(x);
    }
    const id norm = g_.rms_norm(x, epsilon());
    if (one_in(12)) strays_.push_back(norm);
    if (one_in(20)) return one_in(2) ? scale(norm) : norm;
    if (one_in(40)) return binary(op::mul, norm, norm);
    if (one_in(40)) return binary(op::mul, norm, leaf(format::f32, {ne(x, 0), ne(x, 1), ne(x, 2)}));
    const id w = norm_weight(ne(x, 0));
    const bool swapped = catena::elements(g_[w]) == catena::elements(g_[norm]) && one_in(3);
    const id value = swapped ? binary(op::mul, w, norm) : binary(op::mul, norm, w);
    if (one_in(12)) strays_.push_back(value);
    return one_in(25) ? scale(value) : value;
}

/// x, or another name of it.
id growth::named(id x) {
    if (one_in(8)) return g_.reshape(x, {ne(x, 0), rows_of(x), 1});
    if (one_in(12)) return g_.view(x, {ne(x, 0), rows_of(x)});
    return x;
}

id growth::matmul(id x, std::int64_t rows) {
    const id w = one_in(12) ? leaf(format::f32, {ne(x, 0), rows}) : weight(ne(x, 0), rows);
    const id y = product(w, named(x));
    if (one_in(50)) g_[y].params[0] = 10;  // f32 to sum in, which everybody does
    if (one_in(50)) g_[y].params[3] = 10;  // f32 as the activation
    if (one_in(50)) g_[y].params[1] = 1;   // a hint; the engine knows what to do about it
    return y;
}

/// What engines put behind a matmul: a scale, a bias, an adapter, a residual.
id growth::after_matmul(id y, id x) {
    if (one_in(12)) strays_.push_back(y);
    if (one_in(10)) y = scale(y);
    if (one_in(12)) {
        const id one = leaf(format::f32, {1}, true);
        y = binary(op::mul, y, one_in(6) ? mix({one}, {1}) : one);
    }
    if (one_in(5)) {
        const id bias = leaf(format::f32, {ne(y, 0)});
        const bool swapped = catena::elements(g_[y]) == ne(y, 0) && one_in(4);
        y = swapped ? binary(op::add, bias, y) : binary(op::add, y, bias);
    }
    if (one_in(12)) {
        const std::int64_t rows = rows_of(y);
        y = one_in(3) ? g_.reshape(activated(g_.reshape(y, {ne(y, 0), 1, rows})), {ne(y, 0), rows})
                      : activated(y);
    }
    if (one_in(12) && rows_of(x) == rows_of(y)) {
        const id side = low_rank(x, ne(y, 0));
        y = one_in(2) ? binary(op::add, y, side) : binary(op::add, side, y);
    }
    return y;
}

id growth::activated(id x) {
    if (!one_in(4)) return unary(gating(), x);
    const id r = unary(sub_op::relu, x);
    return g_.same_shape(op::sqr, r, {r});
}

/// A LoRA adapter beside a weight.
id growth::low_rank(id x, std::int64_t rows) {
    const id low = g_.mul_mat(leaf(format::f32, {ne(x, 0), 8}), x);
    return scale(g_.mul_mat(leaf(format::f32, {8, rows}), low));
}

}  // namespace catena_test
