#include "growth.hpp"

#include <cstring>

namespace catena_test {

using catena::sub_op;

/// A value of the main path goes on, mostly as a residual sum, some normed before; any other is
/// only read by chance.
void growth::keep(id value) {
    const bool fits = ne(value, 0) == k_ && rows_of(value) == columns_;
    if (!fits) return strays_.push_back(value);
    if (ne(value, 1) != columns_) value = g_.reshape(value, {k_, columns_});
    if (one_in(4)) value = normed(value);
    if (one_in(12)) value = scale(value);
    const id before = recent();
    if (!one_in(5))
        value = one_in(2) ? binary(op::add, value, before) : binary(op::add, before, value);
    if (one_in(12)) value = binary(op::mul, value, leaf(format::f32, {1}, true));
    hidden_.push_back(value);
}

void growth::attention() {
    const id x = normed(recent());
    const std::int64_t size = 32;
    const bool plain = one_in(3);  // matrices of one format, biases, turns by halves, caches
    const turn_of_heads turn = some_turn(plain ? 2 : any({0, 2, 2, 8, 40, 24}));
    const auto made = [&](std::int64_t rows) {
        if (!plain) return after_matmul(matmul(x, rows), x);
        const id y = product(weight_of(palette_.back(), {ne(x, 0), rows}), named(x));
        return one_in(3) ? binary(op::add, y, leaf(format::f32, {rows})) : y;
    };
    const auto heads = [&](id y) {
        if (ne(y, 0) % size != 0 || (!plain && one_in(5))) return y;
        if (!plain && one_in(4)) y = binary(op::mul, g_.rms_norm(y), norm_weight(ne(y, 0)));
        y = g_.reshape(y, {size, ne(y, 0) / size, columns_});
        if (!plain && one_in(2)) y = binary(op::mul, g_.rms_norm(y), norm_weight(size));
        if (!plain && one_in(4)) return y;
        y = turned(y, turn);
        return one_in(6) ? scale(y) : y;
    };
    const std::int64_t kv = any<std::int64_t>({32, 64, k_});
    const id q = heads(made(k_)), k = heads(made(kv)), v = made(kv);
    const auto whole = [&](id y) { return catena::elements(g_[y]) == kv * columns_; };
    const bool cached = whole(k) && whole(v) && (plain || !one_in(3));
    const id mixed = maybe_normed(cached ? mix({q, stored(k, kv), stored(v, kv)}, {k_, columns_})
                                         : mix({q, k, v}, {k_, columns_}));
    keep(after_matmul(matmul(mixed, k_), mixed));
}

/// The rows of a value, [length, columns], in a cache of their own, under one of its names.
id growth::stored(id value, std::int64_t length) {
    const id store = input(format::f32, {length, 600});
    to_.cache_.resize(g_.tensors.size(), false);
    to_.cache_[static_cast<std::size_t>(store)] = true;
    const id cells = input(one_in(2) ? format::i64 : format::i32, {columns_}, 20);
    if (ne(value, 1) != columns_ || ne(value, 0) != length)
        value = g_.view(value, {length, columns_});
    const id written = write(
        g_.node(op::set_rows, format::f32, {length, 600}, {value, cells, store}), store, store);
    if (one_in(8)) strays_.push_back(value);
    return one_in(2) ? written : g_.view(store, {length, columns_});
}

/// Some models norm what the last matrix of a part reads.
id growth::maybe_normed(id x) { return one_in(8) ? normed(x) : x; }

void growth::feed_forward() {
    const id x = normed(recent());
    const id inner = maybe_normed(glu(x, any<std::int64_t>({64, 96, 256})));
    keep(after_matmul(matmul(inner, k_), inner));
}

/// What experts made, times a factor of each, of which a GET_ROWS picks those of a token's.
id growth::times_factors(id y, id ids, std::int64_t experts) {
    const id factors = leaf(format::f32, {experts}, true);
    id all = g_.reshape(factors, {1, experts});
    g_[all].reachable = g_[factors].reachable;
    if (columns_ > 1 || one_in(2))
        all = g_.node(op::repeat, format::f32, {1, experts, columns_}, {all});
    const id picked =
        one_in(10) ? mix({y}, {1, ne(ids, 0), columns_})
                   : g_.node(op::get_rows, format::f32, {1, ne(ids, 0), columns_}, {all, ids});
    if (one_in(10)) strays_.push_back(picked);
    return binary(op::mul, y, picked);
}

void growth::experts() {
    const std::int64_t count = 4 + below(3), used = 1 + below(4),
                       rows = any<std::int64_t>({32, 256});
    const id x = normed(recent());
    const id odds = g_.mul_mat(leaf(format::f32, {k_, count}), x);
    const auto [ids, share] =
        one_in(3) ? std::pair{input(format::i32, {used, columns_}, static_cast<int>(count)),
                              mix({odds}, {1, used, columns_})}
                  : routed(odds, used);
    const id slots = g_.reshape(x, {k_, 1, columns_});
    // Those of a model have formats of their own, and one for gate and up.
    const format common = any({format::q4_K, format::mxfp4});
    const bool models = one_in(2) && k_ % catena::info(common).block_elements == 0;
    const auto picked = [&, by = ids](id value, std::int64_t n) {
        const std::int64_t k = ne(value, 0);
        const format type = models && k == k_ ? common : any_format(k);
        id y = product(weight_of(type, {k, n, count}), value, by);
        if (one_in(4)) y = times_factors(y, by, count);
        if (!one_in(4)) return y;
        return g_.same_shape(op::add_id, y, {y, leaf(format::f32, {n, count}), by});
    };
    const bool merged = one_in(3);
    const id gate = picked(slots, merged ? 2 * rows : rows);
    const id inner = merged      ? two_halves(gate, rows)
                     : one_in(6) ? unary(gating(), gate)
                                 : gated(gate, picked(slots, rows));
    const id down = picked(inner, k_);
    const id weighted = one_in(4) ? down : binary(op::mul, down, share);
    id sum = catena::no_tensor;
    for (std::int64_t s = 0; s < used; ++s) {
        const id one = strided(weighted, {k_, columns_}, used * k_ * 4, s * k_ * 4);
        sum = sum == catena::no_tensor ? one : binary(op::add, sum, one);
    }
    if (one_in(3)) sum = binary(op::add, sum, shared_expert(x));
    if (one_in(3)) sum = scale(sum);
    keep(binary(op::add, sum, recent()));
}

void growth::gated_value() {
    const id x = recent();
    const id from = one_in(2) ? normed(x) : recent();
    const id open =
        unary(one_in(2) ? sub_op::sigmoid : sub_op::silu, after_matmul(matmul(from, k_), from));
    id y = catena::no_tensor;
    if (one_in(2)) {  // heads that are normed
        const std::int64_t size = one_in(3) ? k_ / 2 : 32;
        const auto heads = [&](id t) { return g_.reshape(t, {size, k_ / size, columns_}); };
        y = g_.reshape(binary(op::mul, normed(heads(x)), heads(open)), {k_, columns_});
    } else {
        y = one_in(2) ? binary(op::mul, x, open) : binary(op::mul, open, x);
    }
    keep(after_matmul(matmul(y, k_), y));
}

/// A norm row is not always a quantized row.
void growth::merged_heads() {
    const std::int64_t half = k_ / 2;
    if (one_in(2)) {
        const auto heads = [&] { return g_.reshape(recent(), {half, 2, columns_}); };
        id value = normed(heads());
        if (one_in(2)) value = binary(op::mul, value, unary(gating(), heads()));
        const id row = g_.reshape(value, {k_, columns_});
        for (int i = below(3); i >= 0; --i) keep(after_matmul(matmul(row, k_), row));
    } else {
        const id value = normed(recent());
        const id rows = g_.reshape(value, {half, 2 * columns_});
        for (int i = below(3); i >= 0; --i) strays_.push_back(matmul(rows, 32));
        if (one_in(2)) keep(matmul(value, k_));
    }
}

/// A node that writes where `into` lies, under its name.
id growth::write(id node, id into, id name) {
    const id root = g_[into].view_src == catena::no_tensor ? into : g_[into].view_src;
    g_[node].view_src = root;
    g_.share(node, name);
    return node;
}

void growth::cache() {
    const id store = input(format::f32, {k_, 600});
    to_.cache_.resize(g_.tensors.size(), false);
    to_.cache_[static_cast<std::size_t>(store)] = true;
    const id x = one_in(2) ? normed(recent()) : recent();
    const id value = one_in(2) ? matmul(x, k_) : x;
    id written = catena::no_tensor;
    if (one_in(2)) {
        const id cells = input(format::i64, {columns_}, 20);
        written = write(g_.node(op::set_rows, format::f32, {k_, 600}, {value, cells, store}), store,
                        store);
    } else {
        const id part = g_.view(store, {k_, columns_}, k_ * 4 * below(8));
        written = write(g_.node(op::cpy, format::f32, {k_, columns_}, {value, part}), store, part);
    }
    const id read = one_in(2) ? written : g_.view(store, {k_, columns_});
    keep(mix({read, recent()}, {k_, columns_}));
    if (one_in(2)) keep(matmul(g_.view(store, {k_, columns_}), k_));
}

id growth::permuted(id x) {
    const id t = g_.view(x, {ne(x, 1), ne(x, 0)});
    g_[t].kind = op::permute;
    g_[t].nb[0] = g_[x].nb[1];
    g_[t].nb[1] = g_[x].nb[0];
    return t;
}

/// What attention makes of x: for each head a row for each token.
id growth::heads_of(id x) {
    const std::int64_t head = one_in(4) ? 8 : 32;
    const id all = mix({x}, {head, columns_, k_ / head});
    const id t = g_.view(all, {head, k_ / head, columns_});
    g_[t].kind = op::permute;
    g_[t].nb[1] = g_[all].nb[2];
    g_[t].nb[2] = g_[all].nb[1];
    return t;
}

void growth::odd_norm() {
    const id x = recent();
    switch (below(8)) {
        case 0:  // read by nobody
            g_.rms_norm(x);
            break;
        case 1: {  // read twice by one reader
            const id y = g_.rms_norm(x);
            keep(matmul(binary(op::mul, y, y), k_));
            break;
        }
        case 2: {  // rows of a permuted value
            const id y = g_.rms_norm(permuted(x));
            strays_.push_back(y);
            break;
        }
        case 3: {  // every second row
            const id rows = strided(x, {k_, (columns_ + 1) / 2}, 2 * k_ * 4, 0);
            const id y = normed(rows);
            strays_.push_back(matmul(y, 32));
            break;
        }
        case 4: {  // only some rows of the value are wanted in the end
            const id y = normed(x);
            const id ids = input(format::i32, {1}, static_cast<int>(columns_));
            const id row = g_.node(op::get_rows, format::f32, {k_, 1}, {y, ids});
            strays_.push_back(matmul(row, 64));
            if (one_in(2)) keep(matmul(y, k_));
            break;
        }
        case 5: {  // nothing at all
            const id none = strided(x, {k_, 0}, k_ * 4, 0);
            strays_.push_back(matmul(normed(none), 32));
            break;
        }
        case 6: {  // the value through a strided reader, beside a plain one
            const id y = normed(x);
            strays_.push_back(mix({strided(y, {k_ / 2, columns_}, k_ * 4, 0)}, {k_, columns_}));
            keep(matmul(y, k_));
            break;
        }
        case 7: {  // the norm is what a broadcast repeats
            const id big = mix({x}, {k_, columns_, 2});
            strays_.push_back(binary(op::mul, big, g_.rms_norm(x)));
            break;
        }
    }
}

void growth::odd_matmul() {
    const id x = one_in(2) ? normed(recent()) : recent();
    switch (below(6)) {
        case 0:  // a weight of one dimension, beside another
            strays_.push_back(matmul(x, 1));
            keep(matmul(x, k_));
            break;
        case 1: {  // every second row
            const id rows = strided(x, {k_, (columns_ + 1) / 2}, 2 * k_ * 4, 0);
            strays_.push_back(matmul(rows, 32));
            break;
        }
        case 2: {  // a weight for each of two batches, or one for both
            const id two =
                columns_ % 2 == 0 ? g_.reshape(x, {k_, columns_ / 2, 2}) : mix({x}, {k_, 1, 2});
            strays_.push_back(product(weight(k_, 32, 1 + below(2)), two));
            break;
        }
        case 3: {  // a permuted activation
            const id square = mix({x}, {2, k_});
            strays_.push_back(g_.mul_mat(leaf(format::f32, {k_, 32}), permuted(square)));
            break;
        }
        case 4: {  // one weight, two readers
            const id w = weight(k_, k_);
            keep(product(w, x));
            keep(product(w, x));
            break;
        }
        case 5: {  // nothing at all
            const id none = strided(x, {k_, 0}, k_ * 4, 0);
            strays_.push_back(matmul(none, 32));
            keep(matmul(x, k_));
            break;
        }
    }
}

void growth::odd_value() {
    const id x = recent();
    switch (below(10)) {
        case 7:
            multiply(x);
            break;
        case 9: {  // a gate that lies beside something else
            const id both = mix({x}, {64, k_ / 32, columns_});
            const id half = strided(both, {32, k_ / 32, columns_}, 64 * 4, 32 * 4);
            g_[half].nb[2] = g_[both].nb[2];
            const id gate = g_.node(op::cont, format::f32, {k_, columns_}, {half});
            if (one_in(8)) strays_.push_back(gate);
            const id y = binary(op::mul, mix({x, recent()}, {k_, columns_}), unary(gating(), gate));
            keep(after_matmul(matmul(y, k_), y));
            break;
        }
        case 8: {  // heads that stand one behind the other, side by side for a matmul
            const id y = g_.node(op::cont, format::f32, {k_, columns_}, {heads_of(x)});
            if (one_in(8)) strays_.push_back(y);
            keep(after_matmul(matmul(y, k_), y));
            break;
        }
        case 0: {
            const id both = g_.node(op::concat, format::f32, {k_, 2 * columns_}, {x, recent()});
            g_[both].params[0] = 1;
            keep(g_.view(both, {k_, columns_}, k_ * 4 * below(static_cast<int>(columns_))));
            break;
        }
        case 1:
            keep(scale(x));
            break;
        case 2:
            keep(unary(gating(), x));
            break;
        case 3: {  // an op in place, as the engine's own
            const id y = matmul(x, k_);
            keep(write(binary(op::add, y, x), y, y));
            break;
        }
        case 4:
            if (!strays_.empty()) keep(mix({any(strays_), x}, {k_, columns_}));
            break;
        case 5: {
            const id cells = input(format::i32, {columns_}, static_cast<int>(columns_));
            keep(g_.node(op::get_rows, format::f32, {k_, columns_}, {x, cells}));
            break;
        }
        case 6:
            strays_.push_back(g_.node(op::cont, format::f32, {columns_, k_}, {permuted(x)}));
            break;
    }
}

void growth::run() {
    for (int pieces = 1 + below(one_in(4) ? 8 : 4); pieces > 0; --pieces) {
        switch (below(25)) {
            case 0:
            case 1:
            case 2:
                attention();
                break;
            case 3:
            case 4:
            case 5:
            case 6:
                feed_forward();
                break;
            case 7:
            case 8:
                experts();
                break;
            case 9:
                gated_value();
                break;
            case 10:
                merged_heads();
                break;
            case 11:
                cache();
                break;
            case 12:
            case 13:
                odd_norm();
                break;
            case 14:
                odd_matmul();
                break;
            case 15:
                odd_value();
                break;
            case 16:
            case 17:
                parallel();
                break;
            case 18:
                latent();
                break;
            case 19:
                batches();
                break;
            case 20:
                of_states();
                break;
            case 21:
            case 22:
                norm_of_product();
                break;
            case 23:
            case 24:
                attended();
                break;
        }
    }
    if (one_in(2)) reorder();
    flag();
}

}  // namespace catena_test
