// Finds the attention that one launch can take with the heads on their way to it: a FLASH_ATTN_EXT
// of few tokens, and the heads of its queries, keys and values, of which keys and values are stored
// in the caches that it reads.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which operands of a
// launch B replace them. Names in capitals are ggml's ops.
#pragma once

#include "catena/match/detail/head_finder.hpp"
#include "catena/match/detail/state.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// The attention of a launch with its queries, keys and values, or the reason why no launch takes
/// it.
struct found_attention {
    obstacle why;
    attention by;
    std::vector<head_chain> values;
};

class attention_finder {
  public:
    /// More tokens than eight are multiplied faster by tensor cores.
    explicit attention_finder(const graph_index& g, std::int64_t most_tokens = 8)
        : g_(g), view_(g.view), heads_(g), most_tokens_(most_tokens) {}

    /// The attention at a FLASH_ATTN_EXT.
    found_attention of(std::int32_t node) const {
        found_attention out;
        out.by.node = node;
        out.why = sizes(out.by);
        if (!out.why.found()) out.why = heads(out);
        if (!out.why.found()) out.why = caches(out);
        return out;
    }

  private:
    static constexpr std::int64_t most_positions = 1 << 20;
    /// The distance, in nodes, within which keys and values are stored.
    static constexpr std::int32_t reach = 64;

    const graph_index& g_;
    const graph_view& view_;
    const head_finder heads_;
    const std::int64_t most_tokens_;

    /// Does the op score, mask and weigh as a launch does, and do its operands fit together?
    obstacle sizes(attention& by) const {
        const tensor& t = view_.node(by.node);
        by.mask = t.src[3], by.sinks = t.src[4];
        const int sources = by.sinks != no_tensor ? 5 : by.mask != no_tensor ? 4 : 3;
        if (const obstacle f = node_fits(g_, by.node, sources); f.found()) return f;
        if (const obstacle f = rows_fit(g_, by.node, view_.nodes[by.node]); f.found()) return f;
        const tensor &q = view_.at(t.src[0]), &k = view_.at(t.src[1]), &v = view_.at(t.src[2]);
        if (t.ne[2] > most_tokens_)
            return {by.node, reason::attention_tokens, t.ne[2], most_tokens_};
        by.scale = float_of(t.params[0]);
        by.positions = k.ne[1];
        const bool plain = finite(t.params[0]) && float_of(t.params[1]) == 0 &&
                           float_of(t.params[2]) == 0;  // no biases by distance, and no soft cap
        const bool queries = q.type == format::f32 && q.ne[0] == t.ne[0] && q.ne[1] == t.ne[2] &&
                             q.ne[2] == t.ne[1] && q.ne[3] == 1 && t.ne[3] == 1;
        const bool keys = k.type == format::f16 && v.type == format::f16 && same_shape(k, v) &&
                          k.ne[0] == t.ne[0] && k.ne[3] == 1 && k.ne[1] > 0 &&
                          k.ne[1] <= most_positions && k.reachable && v.reachable && k.ne[2] > 0 &&
                          t.ne[1] % k.ne[2] == 0;
        return plain && queries && keys && masks(by) ? obstacle{}
                                                     : obstacle{by.node, reason::attention_shape};
    }
    bool masks(const attention& by) const {
        const tensor& t = view_.node(by.node);
        if (by.mask != no_tensor) {
            const tensor& m = view_.at(by.mask);
            const bool rows = m.type == format::f16 && m.reachable && m.ne[0] == by.positions &&
                              m.ne[1] >= t.ne[2] && m.ne[2] == 1 && m.ne[3] == 1 && m.nb[0] == 2 &&
                              m.nb[1] % 2 == 0 && base_alignment(m) % 2 == 0;
            if (!rows) return false;
        }
        if (by.sinks == no_tensor) return true;
        const tensor& s = view_.at(by.sinks);
        return plain_rows(s) == reason::none && contiguous(s) && elements(s) == t.ne[1];
    }

    /// Finds the heads of queries, keys and values that nobody else reads.
    obstacle heads(found_attention& out) const {
        const tensor& t = view_.node(out.by.node);
        const obstacle no{out.by.node, reason::attention_heads};
        const std::int32_t query = g_.root(t.src[0]), turn = rope_of(query);
        if (turn < 0 || g_.only_reader(query).node != out.by.node) return no;
        head_chain queries = heads_.of(turn);
        const bool alone = !queries.why.found() && queries.store < 0 &&
                           view_.nodes[queries.made_by()] == query && permuted(t.src[0], query);
        if (!alone || queries.token_norm) return no;
        queries.written = false;
        out.values.push_back(queries);
        for (const int slot : {1, 2}) {
            const std::int32_t store = store_of(g_.root(t.src[slot]), out.by.node);
            if (store < 0) return no;
            head_chain h = stored_at(store);
            if (h.why.found() || h.store != store || h.written || h.join >= 0 || h.token_norm ||
                !cut(h, view_.at(t.src[slot])) || h.tokens != t.ne[2])
                return no;
            out.values.push_back(h);
        }
        return one_turn(out.values) ? obstacle{} : no;
    }

    /// The ROPE whose result a value is, or the SCALE of it, or -1.
    std::int32_t rope_of(std::int32_t value) const {
        std::int32_t made = g_.position(value);
        if (made >= 0 && g_.kind(made) == op::scale && view_.node(made).src[0] != no_tensor)
            made = g_.position(view_.node(made).src[0]);
        return made >= 0 && g_.kind(made) == op::rope ? made : -1;
    }
    /// Does a name have a value's heads of a token as rows, with its tokens next to each other?
    bool permuted(std::int32_t name, std::int32_t value) const {
        const tensor &n = view_.at(name), &v = view_.at(value);
        return offset_in(g_, name, value) == 0 && n.ne[0] == v.ne[0] && n.nb[0] == 4 &&
               n.nb[1] == v.nb[2] && n.nb[2] == v.nb[1] && n.ne[1] == v.ne[2] && n.ne[2] == v.ne[1];
    }
    /// The SET_ROWS in front of a node that writes into a cache, or -1.
    std::int32_t store_of(std::int32_t cache, std::int32_t node) const {
        for (std::int32_t i = node - 1; i >= std::max(0, node - reach); --i)
            if (g_.kind(i) == op::set_rows && g_.root(view_.nodes[i]) == cache) return i;
        return -1;
    }
    head_chain stored_at(std::int32_t store) const {
        const std::int32_t rows = view_.node(store).src[0];
        const std::int32_t turn = rows == no_tensor ? -1 : rope_of(g_.root(rows));
        return heads_.of(turn >= 0 ? turn : store);
    }
    /// Cuts rows that are only stored into heads as long as those of a cache.
    static bool cut(head_chain& h, const tensor& cache) {
        const bool whole = h.k * h.count == cache.ne[0] * cache.ne[2];
        if (h.k == cache.ne[0] || !whole) return whole;
        if (h.made_by() >= 0) return false;
        h.k = cache.ne[0], h.count = cache.ne[2];
        h.at.nb1 = 4 * h.k;
        return true;
    }
    static bool one_turn(const std::vector<head_chain>& all) {
        const head_chain& first = all.front();
        return std::all_of(all.begin(), all.end(),
                           [&](const head_chain& h) { return h.rope < 0 || h.turn == first.turn; });
    }

    /// Are keys and values rows of the caches, each with all heads of a position without gaps, from
    /// one row on?
    obstacle caches(found_attention& out) const {
        const obstacle no{out.by.node, reason::attention_cache};
        for (const int slot : {1, 2}) {
            const std::int32_t name = view_.node(out.by.node).src[slot];
            const tensor &c = view_.at(name),
                         &store = view_.node(out.values[static_cast<std::size_t>(slot)].store);
            if (store.src[2] == no_tensor) return no;
            const std::int64_t to = offset_in(g_, name, g_.root(name));
            const std::int64_t from = offset_in(g_, store.src[2], g_.root(name));
            const bool rows = c.nb[0] == 2 && c.nb[1] == store.nb[1] && c.nb[2] == 2 * c.ne[0] &&
                              from >= 0 && to >= from && (to - from) % store.nb[1] == 0;
            if (!rows) return no;
            const std::int64_t first = quotient(to - from, store.nb[1]);
            if (first + out.by.positions > store.ne[1]) return no;
            if (slot == 2 && first != out.by.first_row) return no;
            out.by.first_row = first;
        }
        return {};
    }
};

}  // namespace CATENA_NAMESPACE
