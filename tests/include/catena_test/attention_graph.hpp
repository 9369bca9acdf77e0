// A small graph: queries, keys and values of a layer, the caches of keys and values, and attention.
#pragma once

#include "catena_test/graph_builder.hpp"

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace catena_test {

struct attention_shape {
    std::int64_t tokens = 1, k = 128, heads = 8, key_heads = 2;
    std::int64_t positions = 256, first_row = 0, cache_rows = 512;
    bool norms = true, turns = true, mask = true, sinks = false;
    float scale = 1;               ///< of queries, behind their turn
    std::int64_t rows_around = 0;  ///< rows of a cache before those that are stored, and behind
    bool query_token_norms = false, key_token_norms = false;  ///< norms of all heads of a token
    format matrix = format::unknown;  ///< of the matrix that reads attention; unknown: another op
                                      ///< reads it
    bool read_besides = false;        ///< so does another op beside the matrix
};

/// What stands between the matrices of a layer and the one behind its attention.
struct attention_graph {
    attention_shape is;
    graph_builder g;
    id places, key_rows, value_rows, mask = no_tensor, sinks = no_tensor;
    id keys, values;  ///< caches
    id q, k, v;       ///< as matrices made them
    id query_weight = no_tensor;
    id turned_q, turned_k, key_set, value_set;
    id queries, read_keys, read_values, attention,
        reader;  ///< what attention reads, and its reader

    static constexpr id no_tensor = catena::no_tensor;

    explicit attention_graph(const attention_shape& s = {}) : is(s) {
        places = g.input(format::i32, {is.tokens});
        key_rows = g.input(format::i64, {is.tokens});
        value_rows = g.input(format::i64, {is.tokens});
        if (is.mask) mask = g.input(format::f16, {is.positions, is.tokens});
        g.input(format::f16, {is.positions, 3 * is.tokens});  // room for a test's larger mask
        if (is.sinks) sinks = g.weight(format::f32, {is.heads});
        keys = g.input(format::f16, {row(), is.cache_rows + 2 * is.rows_around});
        values = g.input(format::f16, {row(), is.cache_rows + 2 * is.rows_around});
        q = made(is.heads), k = made(is.key_heads), v = made(is.key_heads);
        turned_q = turned(q, is.heads, is.query_token_norms, &query_weight);
        if (is.scale != 1) turned_q = g.scale(turned_q, is.scale);
        turned_k = turned(k, is.key_heads, is.key_token_norms, nullptr);
        key_set = stored(g.view(turned_k, {row(), is.tokens}), key_rows, keys);
        value_set = stored(g.view(v, {row(), is.tokens}), value_rows, values);
        queries = permuted(turned_q, is.heads, is.tokens, 0, 4);
        read_keys = permuted(keys, is.key_heads, is.positions, is.first_row, 2);
        read_values = permuted(values, is.key_heads, is.positions, is.first_row, 2);
        attention = g.node(op::flash_attn_ext, format::f32, {is.k, is.heads, is.tokens},
                           {queries, read_keys, read_values, mask, sinks});
        const float scale = 0.125f;
        std::memcpy(g[attention].params, &scale, sizeof scale);
        const id rows = g.reshape(attention, {is.k * is.heads, is.tokens});
        const bool multiplied = is.matrix != format::unknown;
        reader = multiplied ? g.matmul(is.matrix, 256, rows) : g.other({rows});
        if (is.read_besides) g.other({rows});
    }

    /// Elements of a row of a cache.
    std::int64_t row() const { return is.k * is.key_heads; }
    /// Bytes of a cache before those that are stored.
    std::int64_t around() const { return 2 * row() * is.rows_around; }

    id made(std::int64_t heads) {
        return g.other({g.input(format::f32, {is.k * heads, is.tokens})});
    }
    id turned(id x, std::int64_t heads, bool token_norms, id* weight) {
        if (token_norms) x = g.scaled_norm(x);
        x = g.reshape(x, {is.k, heads, is.tokens});
        if (is.norms && !token_norms) {
            const id w = g.weight(format::f32, {is.k});
            if (weight != nullptr) *weight = w;
            x = g.mul(g.rms_norm(x), w);
        }
        if (!is.turns) return x;
        const id t = g.same_shape(op::rope, x, {x, places});
        g[t].params[1] = static_cast<std::int32_t>(is.k), g[t].params[2] = 2;
        const float numbers[] = {10000, 1, 0, 1, 32, 1};
        std::memcpy(g[t].params + 5, numbers, sizeof numbers);
        return t;
    }
    id stored(id x, id rows, id cache) {
        const bool whole = is.rows_around == 0;
        const id into = whole ? cache : g.view(cache, {row(), is.cache_rows}, around());
        const id t = g.node(op::set_rows, format::f16, {row(), is.cache_rows}, {x, rows, into});
        g.rename(t, cache);
        g.share(t, into);
        return t;
    }
    /// Heads of rows in the order in which attention names them: those of a head lie behind each
    /// other.
    id permuted(id of, std::int64_t heads, std::int64_t rows, std::int64_t first_row,
                std::int64_t bytes) {
        const std::int64_t of_row = bytes * is.k * heads;
        const id t = g.view(of, {is.k, rows, heads}, first_row * of_row);
        g[t].nb[1] = of_row, g[t].nb[2] = bytes * is.k, g[t].nb[3] = of_row * rows;
        return t;
    }
};

}  // namespace catena_test
