// The value of attention, as ggml's op makes it of queries and of a cache's keys and values. A
// launch that attends is held against the same.
#pragma once

#include "catena/match/graph.hpp"
#include "catena/plan/detail/verify/memory.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

/// The sizes of attention: elements of a head, heads of queries and of keys, tokens, and the
/// positions whose keys and values are read.
struct attended_shape {
    std::int64_t k = 0, heads = 0, key_heads = 0, tokens = 0, positions = 0;
};

/// The operands of attention.
struct attended_from {
    value queries;            ///< [k, heads, tokens]
    value keys, values;       ///< [k, key_heads, positions]
    std::uint64_t mask = 0;   ///< hash of [positions, tokens]; 0: there is none
    std::uint64_t sinks = 0;  ///< hash of [heads]; 0: there are none
};

/// What queries attend to, [k, heads, tokens]. Neighboring heads of queries share one of keys.
inline value attended(const attended_from& by, const attended_shape& n, float scale) {
    return single(hash_of(term::attended, by.queries.hash, by.keys.hash, by.values.hash, by.mask,
                          by.sinks, n.k, n.heads, n.key_heads, n.tokens, n.positions,
                          bits_of(scale)));
}

/// Where a mask lies.
inline region mask_at(const void* p, const attended_shape& n, std::int64_t nb) {
    region out(address_of(p), 2);
    out.add(n.positions, 2);
    out.add(n.tokens, nb);
    return out;
}

/// Where [k, rows, heads] lie, in the order of their rows: the heads of the first row stand in
/// front.
inline region in_rows(const tensor& t) {
    region out(address_of(t.data), info(t.type).block_bytes);
    for (const int d : {0, 2, 1, 3}) out.add(t.ne[d], static_cast<std::int64_t>(t.nb[d]));
    return out;
}

/// Does a FLASH_ATTN_EXT read operands of the types and sizes that `attended` knows?
inline bool attends_to(const graph_view& view, const tensor& t, const attended_shape& n) {
    const auto is = [&](int slot, format type) {
        return t.src[slot] != no_tensor && view.at(t.src[slot]).type == type;
    };
    const auto none_or = [&](int slot, format type) {
        return t.src[slot] == no_tensor || is(slot, type);
    };
    constexpr int sources = 5;
    if (!is(0, format::f32) || !is(1, format::f16) || !is(2, format::f16) ||
        !none_or(3, format::f16) || !none_or(4, format::f32) || has_more_sources(t, sources))
        return false;
    const tensor &queries = view.at(t.src[0]), &keys = view.at(t.src[1]);
    const bool of_keys = same_shape(keys, view.at(t.src[2])) && keys.ne[0] == n.k &&
                         n.key_heads > 0 && n.heads % n.key_heads == 0;
    const bool of_result = t.ne[0] == n.k && t.ne[1] == n.heads && t.ne[2] == n.tokens;
    return of_keys && of_result && queries.ne[3] == 1 && keys.ne[3] == 1 && t.ne[3] == 1;
}

/// Is a mask, if there is one, that of all heads, and has each head at most one sink?
inline bool masks_all_heads(const graph_view& view, const tensor& t, const attended_shape& n) {
    if (t.src[3] != no_tensor) {
        const tensor& mask = view.at(t.src[3]);
        if (mask.ne[0] != n.positions || mask.ne[1] < n.tokens || mask.ne[2] != 1 ||
            mask.ne[3] != 1 || mask.nb[0] != 2)
            return false;
    }
    return t.src[4] == no_tensor || elements(view.at(t.src[4])) == n.heads;
}

/// The value of a FLASH_ATTN_EXT of one sequence without ALiBi and soft cap, of keys and values of
/// f16; `opaque`: of others. found(region) is the value that lies there.
template <class Found>
value attended_value(const graph_view& view, const tensor& t, const value& opaque,
                     const Found& found) {
    float scale = 0, max_bias = 0, soft_cap = 0;
    std::memcpy(&scale, t.params, sizeof scale);
    std::memcpy(&max_bias, t.params + 1, sizeof max_bias);
    std::memcpy(&soft_cap, t.params + 2, sizeof soft_cap);
    if (max_bias != 0 || soft_cap != 0 || t.src[1] == no_tensor) return opaque;
    const tensor &queries = view.at(t.src[0]), &keys = view.at(t.src[1]);
    const attended_shape n{queries.ne[0], queries.ne[2], keys.ne[2], queries.ne[1], keys.ne[1]};
    if (!attends_to(view, t, n) || !masks_all_heads(view, t, n)) return opaque;
    attended_from by{found(in_rows(queries)), found(in_rows(keys)),
                     found(in_rows(view.at(t.src[2])))};
    if (t.src[3] != no_tensor) {
        const tensor& mask = view.at(t.src[3]);
        by.mask = found(mask_at(mask.data, n, static_cast<std::int64_t>(mask.nb[1]))).hash;
    }
    if (t.src[4] != no_tensor) by.sinks = found(region_of(view.at(t.src[4]))).hash;
    return attended(by, n, scale);
}

}  // namespace CATENA_NAMESPACE::proof
