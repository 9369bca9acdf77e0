// Attention of few tokens as engines build it: heads of queries, keys and values, caches that
// receive keys and values, and an op that reads the caches. Now and then something is in the way of
// a launch that does all this.
#include "growth.hpp"

#include <cstring>

namespace catena_test {

growth::turn_of_heads growth::some_turn(int mode) {
    const int dims = any({32, 32, 16, 8});
    const id positions = input(format::i32, {columns_ * (mode >= 8 ? 4 : 1)}, 100);
    const id factors = one_in(4) ? leaf(format::f32, {dims / 2}, true) : catena::no_tensor;
    return {positions, factors, mode, dims};
}

/// The ROPE of heads.
id growth::turned(id heads, const turn_of_heads& by) {
    const id t = g_.same_shape(op::rope, heads, {heads, by.positions, by.factors});
    g_[t].params[1] = by.dims, g_[t].params[2] = by.mode;
    const float numbers[] = {10000, 1, 0, 1, 32, 1};
    std::memcpy(g_[t].params + 5, numbers, sizeof numbers);
    for (int i = 0; i < 3; ++i) g_[t].params[11 + i] = 2;
    return t;
}

/// Caches of which attention reads some rows.
growth::attended_caches growth::some_caches(std::int64_t k, std::int64_t heads, format type) {
    attended_caches c{0, 0, k, heads, any<std::int64_t>({8, 16, 21}), one_in(3) ? below(4) : 0};
    const std::int64_t rows = c.first_row + c.positions + (one_in(3) ? below(4) : 0);
    for (id* const cache : {&c.keys, &c.values}) {
        *cache = input(type, {k * heads, rows});
        to_.cache_.resize(g_.tensors.size(), false);
        to_.cache_[static_cast<std::size_t>(*cache)] = true;
    }
    return c;
}

/// Heads of a value, some normed, and turned if there is a turn.
id growth::heads_for_attention(id x, std::int64_t k, std::int64_t heads, const turn_of_heads* by) {
    const id made =
        one_in(3) ? mix({x}, {k * heads, columns_}) : after_matmul(matmul(x, k * heads), x);
    id y = g_.reshape(made, {k, heads, columns_});
    if (one_in(2)) y = g_.rms_norm(y, epsilon());
    if (g_[y].kind == op::rms_norm && !one_in(4))
        y = binary(op::mul, y, leaf(format::f32, {k}, true));
    return by == nullptr ? y : turned(y, *by);
}

/// Stores the heads of each token in a row of a cache.
void growth::store_heads(id heads, id cache, id rows) {
    const id value = g_.view(heads, {ne(cache, 0), columns_});
    write(g_.node(op::set_rows, g_[cache].type, {ne(cache, 0), ne(cache, 1)}, {value, rows, cache}),
          cache, cache);
}

/// What queries attend to, [k * heads, columns]. Traps: values begin a row before keys, a bias by
/// distance, a soft cap.
id growth::attends_to(id queries, const attended_caches& c, int trap) {
    const std::int64_t heads = ne(queries, 1);
    const auto permuted = [&](id of, std::int64_t count, std::int64_t rows, std::int64_t first) {
        const std::int64_t size = catena::info(g_[of].type).block_bytes, row = size * c.k * count;
        const id t = g_.view(of, {c.k, rows, count}, first * row);
        g_[t].kind = op::permute;
        g_[t].nb[1] = row, g_[t].nb[2] = size * c.k, g_[t].nb[3] = row * rows;
        return t;
    };
    const id q = permuted(queries, heads, columns_, 0);
    const id k = permuted(c.keys, c.heads, c.positions, c.first_row);
    const id v = permuted(c.values, c.heads, c.positions, c.first_row + (trap == 0 ? -1 : 0));
    const id mask = one_in(4) ? catena::no_tensor
                              : input(format::f16, {c.positions, columns_ + (one_in(3) ? 2 : 0)});
    const bool sinking = one_in(3) && (mask != catena::no_tensor || one_in(6));
    const id sinks = sinking ? leaf(format::f32, {heads}) : catena::no_tensor;
    const id t =
        g_.node(op::flash_attn_ext, format::f32, {c.k, heads, columns_}, {q, k, v, mask, sinks});
    const float numbers[] = {0.25f, trap == 1 ? 0.5f : 0, trap == 2 ? 0.25f : 0};
    std::memcpy(g_[t].params, numbers, sizeof numbers);
    return g_.reshape(t, {c.k * heads, columns_});
}

/// Traps besides those of attends_to: caches of f32, two turns, queries without a turn, attention
/// to what is not stored yet, two stores into one cache, other readers of heads, two readers of
/// caches.
void growth::attended() {
    if (columns_ > 16) return attention();
    const int trap = below(32);
    const id x = normed(recent());
    const std::int64_t k = any<std::int64_t>({32, 32, 64, 64, 40});
    const std::int64_t key_heads = any<std::int64_t>({1, 2, 4}),
                       heads = key_heads * any<std::int64_t>({1, 2, 3});
    attended_caches caches = some_caches(k, key_heads, trap == 3 ? format::f32 : format::f16);
    if (trap == 0) ++caches.first_row, --caches.positions;
    const turn_of_heads turn = some_turn(any({0, 2, 2, 8}));
    const turn_of_heads other = trap == 4 ? some_turn(2) : turn;
    id q = heads_for_attention(x, k, heads, trap == 5 ? nullptr : &turn);
    if (one_in(6)) q = scale(q);
    const id keys = heads_for_attention(x, k, key_heads, one_in(8) ? nullptr : &other);
    const id values = one_in(3) ? heads_for_attention(x, k, key_heads, nullptr)
                                : g_.reshape(matmul(x, k * key_heads), {k, key_heads, columns_});
    const auto cells = [&] {
        return input(one_in(2) ? format::i64 : format::i32, {columns_},
                     static_cast<int>(ne(caches.keys, 1)));
    };
    const id rows = cells();
    const auto attend = [&] { return attends_to(q, caches, trap); };
    if (trap == 6) keep(matmul(attend(), k_));
    store_heads(keys, caches.keys, rows);
    if (trap == 7) keep(matmul(attend(), k_));
    store_heads(values, caches.values, one_in(4) ? cells() : rows);
    if (trap == 8) store_heads(keys, caches.values, cells());
    if (trap == 9) strays_.push_back(q);
    if (trap == 10) strays_.push_back(keys);
    if (trap == 11) strays_.push_back(values);
    const id y = attend();
    keep(after_matmul(matmul(y, k_), y));
    if (trap == 12)
        keep(matmul(attends_to(heads_for_attention(x, k, heads, &turn), caches, trap), k_));
}

}  // namespace catena_test
