#include "small.hpp"

#include "allocate.hpp"
#include "order.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace catena_test {

using catena::sub_op;

namespace {

constexpr std::int64_t k = 256;

std::size_t at(id t) { return static_cast<std::size_t>(t); }

/// Grows one graph.
class small_growth {
  public:
    explicit small_growth(unsigned seed) : random_(seed) {
        columns_ = any<std::int64_t>({1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 9, 40});
        values_.push_back(g_.input(format::f32, {k, columns_}));
        if (one_in(2)) values_.push_back(g_.other({values_[0]}));
        expert_heavy_ = !one_in(3);
        const std::size_t enough = 3 + at(below(24));
        while (g_.nodes.size() < enough) piece();
    }

    /// The graph with memory, and parts of it.
    std::vector<small_graph> finish() {
        if (!one_in(4)) g_.nodes = reordered(g_, 1 + static_cast<unsigned>(below(6)), random_);
        flag();
        catena::ordering order;
        if (one_in(8)) optimize(order);
        std::vector<id> kept = outside_;
        const catena::graph_view counted = g_.view();
        for (const id n : g_.nodes)
            if (g_[n].uses == 0 || (g_[n].flags & catena::flag_output) != 0) kept.push_back(n);
        const allocator_manner manner{static_cast<fit>(below(fit_count)), one_in(6) ? 4 : 32,
                                      any<unsigned>({0, 0, 0, 2})};
        allocate_all(g_, kept, order.keep, manner, random_);
        std::vector<small_graph> out(1);
        out[0].tensors = g_.tensors;
        out[0].nodes.assign(counted.nodes, counted.nodes + counted.size());
        if (!order.order.empty()) out[0].workspace_bound = order.workspace_bound;
        if (one_in(4) && counted.size() > 1) cut(out);
        return out;
    }

  private:
    std::mt19937 random_;
    graph_builder g_;
    std::int64_t columns_;
    bool expert_heavy_;
    std::vector<id> values_;  // all [k, columns]
    std::vector<id> outside_;

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    bool one_in(int n) { return below(n) == 0; }
    template <class T>
    T any(std::initializer_list<T> of) {
        return of.begin()[below(static_cast<int>(of.size()))];
    }

    /// One of the last values.
    id value() {
        const int recent = std::min(one_in(4) ? 8 : 3, static_cast<int>(values_.size()));
        return values_[values_.size() - 1 - at(below(recent))];
    }
    id made(shape ne) { return g_.node(op::other, format::f32, ne, {value()}); }
    id keep(id x) {
        values_.push_back(x);
        return x;
    }
    id sum(id a, id b) { return one_in(2) ? g_.add(a, b) : g_.add(b, a); }

    id weight(std::int64_t rows, std::int64_t matrices = 1) {
        const format type =
            any({format::q4_K, format::q4_K, format::q4_K, format::q4_K, format::q6_K, format::q6_K,
                 format::q8_0, format::mxfp4, format::f16, format::f32, format::fp8_e4m3});
        return g_.weight(type, {k, rows, matrices});
    }
    id matmul(id x, std::int64_t rows) {
        const id renamed = one_in(8) ? g_.reshape(x, {k, columns_, 1}) : x;
        return g_.mul_mat(weight(rows), renamed);
    }
    /// A matmul of rows that are longer, or shorter, than the value's.
    void odd_matmul() {
        const std::int64_t length = columns_ % 2 == 0 && one_in(2) ? 2 * k : k / 2;
        const id x = g_.reshape(value(), {length, k * columns_ / length});
        const format type = one_in(2) || length < k ? format::q8_0 : format::q4_K;
        g_.mul_mat(g_.weight(type, {length, 32}), x);
    }
    sub_op function() { return any({sub_op::silu, sub_op::sigmoid, sub_op::gelu, sub_op::relu}); }

    /// What engines put behind a matmul.
    id after_matmul(id y) {
        if (one_in(6)) y = g_.scale(y, 2);
        if (one_in(6)) y = g_.add(y, g_.weight(format::f32, {g_[y].ne[0]}));
        if (one_in(10)) y = g_.unary(y, function());
        return y;
    }

    /// Matmuls of one value: some of full width, which become values, some that nobody reads.
    void matmuls(id x, int count) {
        for (; count > 0; --count) {
            const bool wide = !one_in(4);
            const id y = after_matmul(matmul(x, wide ? k : 32));
            if (!wide) continue;
            keep(one_in(4) ? sum(y, value()) : y);
        }
    }

    id normed(id x) {
        if (one_in(12)) x = g_.scale(x, 2);
        const bool layer = one_in(12), heads = one_in(16);
        if (heads) x = g_.reshape(x, {k / 2, 2 * columns_});
        id y = g_.rms_norm(x);
        if (layer) g_[y].kind = op::norm;
        if (!one_in(12)) y = g_.mul(y, g_.weight(format::f32, {g_[y].ne[0]}));
        if (one_in(12)) y = g_.scale(y, 3);
        if (one_in(layer ? 2 : 12)) y = g_.add(y, g_.weight(format::f32, {g_[y].ne[0]}));
        return heads ? g_.reshape(y, {k, columns_}) : y;
    }

    void norm() {
        id x = value();
        if (one_in(4)) x = matmul(x, k);
        if (one_in(2)) {
            x = sum(one_in(6) ? g_.scale(x, 2) : x, value());
            if (one_in(2)) keep(x);
        }
        id y = normed(x);
        if (one_in(5)) {  // a residual behind the norm, and another norm
            y = sum(y, value());
            if (one_in(3)) y = g_.mul(y, g_.weight(format::f32, {1}));
            if (one_in(2)) keep(y);
            if (one_in(2)) y = normed(y);
        }
        if (one_in(8)) y = g_.mul(y, g_.unary(value(), function()));
        keep(y);
        matmuls(y, below(3));
    }

    /// What each of a token's experts made: the engine's, a matmul's, or that of a GLU of two.
    id expert_results(std::int64_t used) {
        if (one_in(2)) return made({k, used, columns_});
        const id ids = one_in(2) ? g_.input(format::i32, {used, columns_})
                                 : g_.node(op::other, format::i32, {used, columns_}, {value()});
        const id x = g_.reshape(value(), {k, 1, columns_});
        const auto picked = [&](id from) { return g_.mul_mat_id(weight(k, 4), from, ids); };
        if (!one_in(3)) return picked(x);
        const id gate = picked(x);
        return picked(g_.glu(gate, picked(x)));
    }

    /// What all tokens take beside their experts.
    id shared_expert() {
        const id y = one_in(4) ? made({k, columns_}) : after_matmul(matmul(value(), k));
        if (one_in(3)) return y;
        const id gate = one_in(2) ? matmul(value(), 1) : made({1, columns_});
        return g_.mul(y, g_.unary(gate, sub_op::sigmoid));
    }

    /// The weights of a token's experts: numbers of their own, or the first of a row.
    id expert_weights(std::int64_t used) {
        if (one_in(2)) return made({1, used, columns_});
        const id rows = made({k, columns_});
        const id t = g_.view(rows, {1, used, columns_});
        g_[t].nb[1] = 4;
        g_[t].nb[2] = g_[t].nb[3] = k * 4;
        return t;
    }

    void experts() {
        const std::int64_t used = 2 + (one_in(3) ? below(3) : 0);
        id all = expert_results(used);
        const id read_late = value();
        if (one_in(2)) matmuls(read_late, 1);
        if (!one_in(6)) all = g_.mul(all, expert_weights(used));
        if (!one_in(3)) matmuls(read_late, 1 + below(2));
        id total = catena::no_tensor;
        for (std::int64_t s = 0; s < used; ++s) {
            const id slot = g_.view(all, {k, columns_}, s * k * 4);
            g_[slot].nb[1] = g_[all].nb[2];
            g_[slot].nb[2] = g_[slot].nb[3] = g_[slot].nb[1] * columns_;
            total = total == catena::no_tensor ? slot : g_.add(total, slot);
        }
        if (one_in(2)) total = sum(total, shared_expert());
        if (one_in(6)) total = g_.scale(total, 2);
        if (!one_in(4)) total = sum(total, value());
        keep(total);
        if (one_in(6)) return matmuls(total, 1);
        const id y = keep(normed(total));
        matmuls(y, 1 + below(2));
    }

    /// A gated value, or the function of one, and who multiplies it.
    void gated() {
        const id x = value();
        id y = catena::no_tensor;
        switch (below(4)) {
            case 0:
                y = g_.glu(matmul(x, k), matmul(x, k));
                break;
            case 1:
                y = g_.mul(value(), g_.unary(x, function()));
                break;
            case 2:
                y = g_.unary(x, function());
                break;
            default:
                y = g_.glu(x, value());
        }
        matmuls(keep(y), 1 + below(2));
    }

    /// Heads that a CONT puts side by side.
    void copied() {
        const id all = g_.node(op::other, format::f32, {32, columns_, k / 32}, {value()});
        const id heads = g_.view(all, {32, k / 32, columns_});
        g_[heads].kind = op::permute;
        g_[heads].nb[1] = g_[all].nb[2];
        g_[heads].nb[2] = g_[all].nb[1];
        id y = g_.node(op::cont, format::f32, {k, columns_}, {heads});
        if (one_in(3)) y = g_.mul(value(), g_.unary(y, function()));
        matmuls(keep(y), 1 + below(2));
    }

    /// A convolution of linear attention with the state of its sequence, and norms of its heads.
    void linear_attention() {
        const std::int64_t before = 2 + below(2);
        const id states = g_.input(format::f32, {before * k, 4});
        const id picked = g_.node(op::get_rows, format::f32, {before * k, 1},
                                  {states, g_.input(format::i32, {1})});
        const id x = one_in(2) ? matmul(value(), k) : value();
        const id turned = g_.view(x, {columns_, k});
        g_[turned].kind = op::transpose;
        g_[turned].nb[0] = k * 4, g_[turned].nb[1] = 4;
        const id joined = g_.node(op::concat, format::f32, {before + columns_, k},
                                  {g_.reshape(picked, {before, k}), turned});
        if (!one_in(6)) keep_state(states, joined, before);
        const id taps = g_.weight(format::f32, {before + 1, k});
        id y = g_.node(op::ssm_conv, format::f32, {k, columns_}, {joined, taps});
        if (one_in(4)) y = g_.add(y, g_.weight(format::f32, {k}));
        if (!one_in(6)) y = g_.unary(y, sub_op::silu);
        const std::int64_t size = any<std::int64_t>({32, 64, 100});
        const id q = normed_head(y, size, 0), key = normed_head(y, size, size);
        keep(one_in(6) ? y : g_.node(op::other, format::f32, {k, columns_}, {q, key, y}));
        if (one_in(8)) g_.other({any({picked, joined, states})});
    }
    /// The last columns of what was joined replace one of the states.
    void keep_state(id states, id joined, std::int64_t before) {
        const id last = g_.view(joined, {before, k}, 4 * columns_);
        g_[last].nb[1] = g_[joined].nb[1];
        g_[last].nb[2] = g_[last].nb[3] = g_[joined].nb[2];
        const id to = g_.view(states, {before * k}, 4 * before * k * below(4));
        const id t = g_.node(op::cpy, format::f32, {before * k}, {last, to});
        g_[t].view_src = states;
        g_.share(t, to);
    }
    /// A head of each column of y, mostly normed.
    id normed_head(id y, std::int64_t size, std::int64_t first) {
        const id head = g_.view(y, {size, 1, columns_}, 4 * first);
        g_[head].nb[2] = g_[head].nb[3] = g_[y].nb[1];
        if (one_in(6)) return head;
        const id norm = g_.rms_norm(head);
        return one_in(3) ? norm : g_.scale(norm, 0.5f);
    }

    /// Attention with its heads and its caches. Now and then others read what is on the way.
    void attended() {
        const std::int64_t key_heads = 1 + below(2), heads = 4, row = head * key_heads;
        const id places = g_.input(format::i32, {columns_});
        const id rows = g_.input(format::i64, {columns_});
        id q = turned(heads_of(heads), places);
        if (one_in(6)) q = g_.scale(q, 2);
        const id stored[] = {turned(heads_of(key_heads), places), heads_of(key_heads)};
        if (one_in(8)) g_.other({any({q, stored[0], stored[1]})});
        id read[2];
        for (int i = 0; i < 2; ++i) {
            const id cache = g_.input(format::f16, {row, 24});
            const id t = g_.node(op::set_rows, format::f16, {row, 24},
                                 {g_.view(stored[i], {row, columns_}), rows, cache});
            g_.rename(t, cache);
            read[i] = permuted(one_in(8) ? t : cache, key_heads, 16, 2);
        }
        if (one_in(4)) matmuls(value(), 1);
        const id mask = one_in(2) ? g_.input(format::f16, {16, columns_}) : catena::no_tensor;
        const id y = g_.node(op::flash_attn_ext, format::f32, {head, heads, columns_},
                             {permuted(q, heads, columns_, 4), read[0], read[1], mask});
        g_[y].params[0] = 0x3e000000;
        matmuls(keep(g_.reshape(y, {k, columns_})), 1);
    }
    static constexpr std::int64_t head = k / 4;
    /// Some heads of each column, mostly normed.
    id heads_of(std::int64_t count) {
        const id all = one_in(3) ? made({head * count, columns_}) : matmul(value(), head * count);
        const id x = g_.reshape(all, {head, count, columns_});
        if (one_in(2)) return x;
        return g_.mul(g_.rms_norm(x), g_.weight(format::f32, {head}));
    }
    id turned(id heads, id places) {
        const id t = g_.same_shape(op::rope, heads, {heads, places});
        g_[t].params[1] = head, g_[t].params[2] = 2;
        const float numbers[] = {10000, 1, 0, 1, 32, 1};
        std::memcpy(g_[t].params + 5, numbers, sizeof numbers);
        return t;
    }
    /// Rows of heads, of elements of so many bytes, in the order of heads.
    id permuted(id of, std::int64_t heads, std::int64_t rows, std::int64_t bytes) {
        const id t = g_.view(of, {head, rows, heads});
        g_[t].kind = op::permute;
        g_[t].nb[1] = bytes * head * heads, g_[t].nb[2] = bytes * head;
        g_[t].nb[3] = g_[t].nb[1] * rows;
        return t;
    }

    /// A residual sum, sometimes in place: where its first operand lies, which nobody reads later.
    void add() {
        const id y = value();
        if (!one_in(8)) return void(keep(sum(y, value())));
        const id x = after_matmul(matmul(y, k));
        const id t = g_.add(x, y);
        g_[t].view_src = g_[x].view_src == catena::no_tensor ? x : g_[x].view_src;
        g_.share(t, x);
        keep(t);
    }

    void piece() {
        switch (below(expert_heavy_ ? 18 : 11)) {
            case 0:
            case 1:
                return norm();
            case 2:
            case 3:
                return matmuls(value(), 1 + below(2));
            case 4:
                return gated();
            case 5:
                return copied();
            case 6:
                return add();
            case 7:
                if (one_in(4)) return odd_matmul();
                keep(one_in(2) ? g_.scale(value(), 2) : g_.other({value(), value()}));
                return;
            case 8:
                return linear_attention();
            case 9:
                return attended();
            default:
                return experts();
        }
    }

    /// Results that are wanted, readers outside, counts that nobody knows, streams.
    void flag() {
        const int outputs = one_in(3) ? 6 : 40;
        const bool silent = one_in(30), streams = one_in(16);
        for (const id n : g_.nodes) {
            catena::tensor& t = g_[n];
            if (one_in(outputs)) t.flags |= catena::flag_output;
            if (one_in(60)) {
                g_.read_outside(n, 1);
                outside_.push_back(n);
            }
            if (silent || one_in(60)) g_.uncounted.push_back(n);
            if (streams) t.stream = one_in(3);
        }
    }

    void optimize(catena::ordering& order) {
        graph_builder bare = g_;
        bare.deallocate();
        order = catena::optimize(bare.view());
        g_.nodes = order.nodes(g_.view());
    }

    /// Adds the two halves of the graph. They may know of each other no more than that they share
    /// memory: what the first makes is a leaf of the second.
    void cut(std::vector<small_graph>& to) {
        const auto count = static_cast<int>(to[0].nodes.size());
        const int middle = 1 + below(count - 1);
        const bool bare = one_in(2);
        for (const auto& [first, last] : {std::pair{0, middle}, std::pair{middle, count}}) {
            small_graph part{to[0].tensors,
                             {to[0].nodes.begin() + first, to[0].nodes.begin() + last}};
            std::vector<bool> inside(part.tensors.size(), false);
            for (const id t : part.nodes) inside[at(t)] = true;
            for (std::size_t t = 0; t < inside.size() && bare; ++t) {
                catena::tensor& x = part.tensors[t];
                if (inside[t] || (catena::launches_nothing(x.kind) && x.kind != op::none)) continue;
                x.kind = op::none;
                std::fill(std::begin(x.src), std::end(x.src), catena::no_tensor);
            }
            to.push_back(std::move(part));
        }
    }
};

}  // namespace

std::vector<small_graph> small_graphs(unsigned seed) { return small_growth(seed).finish(); }

}  // namespace catena_test
