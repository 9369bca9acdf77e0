// The cases of rows of heads: the layers that models have, every mode of a turn and every format of
// a cache, lengths that fill no quad and no warp, and rows of a cache that no token or several
// have.
#include "head_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

rope_numbers plain(pairing pairs, int dims, int first = 0) {
    rope_numbers n;
    n.pairs = pairs, n.dims = dims, n.first = first;
    n.base = 10000;
    return n;
}

rope_numbers yarn(int dims) {
    rope_numbers n = plain(pairing::halves, dims);
    n.context = 4096, n.base = 150000, n.scale = 1.0f / 32, n.mix = 1, n.fast = 32, n.slow = 1;
    return n;
}

rope_numbers cut(pairing pairs, int dims) {
    rope_numbers n = plain(pairs, dims);
    n.section[0] = dims / 8, n.section[1] = dims / 6, n.section[2] = dims / 8, n.section[3] = 1;
    return n;
}

/// Q, K and V of a layer: both normed if they say so, K and V stored.
std::vector<head_value> layer(int k, bool normed, format cache) {
    const head_value q{
        .k = k, .heads = 5, .normed = normed, .weighted = normed, .turned = true, .written = true};
    head_value key = q, value = q;
    key.heads = value.heads = 2;
    key.written = value.written = false;
    key.cache = value.cache = cache;
    value.normed = value.weighted = value.turned = false;
    value.ids_of_64_bits = false;
    return {q, key, value};
}

}  // namespace

std::vector<head_case> head_cases(const row_computation& computes, const row_policy& how) {
    const int most = head_values(how), k = most / 2;
    std::vector<head_case> all;
    const auto add = [&](head_case c) { all.push_back(std::move(c)); };
    for (const format cache : formats_in(computes.emits)) {
        add({.what = std::string("a layer with norms, one token, cache ") + name(cache),
             .values = layer(k, true, cache),
             .rope = plain(pairing::halves, k)});
        std::vector<head_value> shown = layer(most, false, cache);
        for (head_value& v : shown) v.written = true;
        add({.what = std::string("every value also as f32, cache ") + name(cache),
             .values = shown,
             .tokens = 3,
             .rope = plain(pairing::neighbors, most)});
    }
    const format cache = format::f16;
    add({.what = "a part of each head is turned",
         .values = layer(k, true, cache),
         .tokens = 2,
         .rope = plain(pairing::halves, k / 4)});
    add({.what = "a part behind the first elements",
         .values = layer(k, true, cache),
         .tokens = 2,
         .rope = plain(pairing::neighbors, k / 4, k / 2 + 2)});
    add({.what = "halves that no quad divides",
         .values = layer(k, false, cache),
         .tokens = 2,
         .rope = plain(pairing::halves, k / 4 + 6, 2)});
    add({.what = "YaRN", .values = layer(k, false, cache), .tokens = 4, .rope = yarn(k)});
    add({.what = "divided angles",
         .values = layer(k, false, cache),
         .tokens = 2,
         .rope = plain(pairing::neighbors, k),
         .factors = true});
    for (const pairing pairs : {pairing::sections, pairing::interleaved})
        add({.what = "sections",
             .values = layer(k, true, cache),
             .tokens = 3,
             .rope = cut(pairs, k)});
    add({.what = "far positions",
         .values = layer(k, false, cache),
         .tokens = 2,
         .rope = plain(pairing::halves, k),
         .positions = {100000, 2000000000},
         .check_numbers = false});
    add({.what = "positions before the first",
         .values = layer(k, false, cache),
         .tokens = 2,
         .rope = plain(pairing::halves, k),
         .positions = {-1, -20}});
    add({.what = "tokens with the same row: the last stays",
         .values = layer(k, false, cache),
         .tokens = 40,
         .rope = plain(pairing::halves, k),
         .rows = [] {
             std::vector<std::int64_t> rows;
             for (int t = 0; t < 40; ++t) rows.push_back(t % 39 == 0 ? 7 : t / 2 % 3);
             return rows;
         }()});
    add({.what = "rows outside of the cache",
         .values = layer(k, false, cache),
         .tokens = 4,
         .rope = plain(pairing::halves, k),
         .rows = {-1, 8, 3, std::int64_t{1} << 31}});
    std::vector<head_value> unturned = layer(k, true, cache);
    for (head_value& v : unturned) v.turned = false;
    add({.what = "nothing is turned", .values = unturned, .tokens = 2});
    for (const int tokens : {1, 3}) {
        std::vector<head_value> together = layer(k, true, cache);
        for (head_value& v : together) v.token_norm = v.normed;
        // A warp reads its quarter in two rounds. Blocks have warps of several tokens, or of one.
        together[0].heads = 2 * token_norm_values / most + (tokens == 1 ? 4 : 3);
        together[1].weighted = false;
        add({.what = "norms of all heads of a token",
             .values = together,
             .tokens = tokens,
             .rope = plain(pairing::halves, k)});
    }
    head_value bare{.k = k, .heads = 3, .normed = true, .written = true, .gap = 8};
    head_value scaled{
        .k = k, .heads = 3, .turned = true, .scale = 0.125f, .written = true, .in_place = true};
    add({.what = "a norm without a weight, gaps, a scale, in place",
         .values = {bare, scaled},
         .tokens = 2,
         .rope = plain(pairing::halves, k)});
    add({.what = "values with heads of several lengths",
         .values = {{.k = k, .heads = 2, .turned = true, .written = true},
                    {.k = 32, .heads = 7, .cache = cache}},
         .rope = plain(pairing::halves, k)});
    for (const int tokens : {1, 3}) {
        const head_value copied{.k = k, .heads = 3, .written = true, .gap = 4};
        const head_value turned{
            .k = 32, .heads = 3, .turned = true, .written = true, .behind = true};
        head_value normed{.k = k, .normed = true, .weighted = true, .cache = cache};
        head_value last{.k = 32, .turned = true, .cache = cache, .behind = true};
        if (tokens > 1)
            normed.written = last.written = true, normed.cache = last.cache = format::q8_0;
        add({.what = "values that have the same rows, one behind the other",
             .values = {copied, turned, normed, last},
             .tokens = tokens,
             .rope = plain(pairing::neighbors, 32)});
    }
    add({.what = "a NaN stays one",
         .values = layer(k, true, format::q8_0),
         .tokens = 2,
         .rope = plain(pairing::halves, k),
         .nan = true});
    add({.what = "of values alike in magnitude the first is -8",
         .values = {{.k = k, .heads = 3, .written = true, .cache = format::q4_0}},
         .alike = true});
    if (how.vector) return all;
    add({.what = "elements that no quad holds, at any address",
         .values = {{.k = 2 * 37,
                     .heads = 3,
                     .normed = true,
                     .weighted = true,
                     .turned = true,
                     .written = true,
                     .cache = format::f16,
                     .gap = 1},
                    {.k = 9, .heads = 4, .written = true, .cache = format::f32}},
         .tokens = 2,
         .rope = plain(pairing::neighbors, 6, 2),
         .offset = 4});
    return all;
}

}  // namespace catena_test
