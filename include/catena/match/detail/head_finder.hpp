// Finds the heads that one launch can take: each ROPE, CONCAT and SET_ROWS with the nodes around
// it, and the heads of the same tokens together.
//
// `Rewrite A to B` above a rule says which nodes A the rule takes over, and which operands of a
// head launch B replace them. Names in capitals are ggml's ops, and v is the value so far.
#pragma once

#include "catena/match/ggml_cuda.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

class head_finder {
  public:
    explicit head_finder(const graph_index& g) : g_(g), view_(g.view) {}

    /// The ROPE or CONCAT that is the only reader of a norm, or of the norm times its weight; -1:
    /// there is none.
    std::int32_t heads_behind(std::int32_t norm) const {
        use next = g_.only_reader(view_.nodes[norm]);
        if (next.node >= 0 && g_.kind(next.node) == op::mul)
            next = g_.only_reader(view_.nodes[next.node]);
        if (next.node < 0) return -1;
        const op kind = g_.kind(next.node);
        return (kind == op::rope && next.slot == 0) || kind == op::concat ? next.node : -1;
    }

    /// The heads that belong to a ROPE or a SET_ROWS. A SET_ROWS that stores the result of a ROPE
    /// belongs to that ROPE.
    head_chain of(std::int32_t node) const {
        head_chain h;
        h.why = g_.kind(node) == op::rope ? turned(node, h) : stored(node, h);
        h.why.node = node;
        if (!h.why.found()) h.why = too_large(h);
        return h;
    }

    /// The heads of the two values that a CONCAT puts into one row each. One without nodes is
    /// copied. If no launch does that: one value, which says why.
    std::vector<head_chain> joined(std::int32_t join) const {
        std::vector<head_chain> both(2);
        obstacle why = check_join(join);
        for (int slot = 0; slot < 2 && !why.found(); ++slot)
            why = joined_part(join, slot, both[static_cast<std::size_t>(slot)]);
        if (!why.found()) {
            stored_behind(both[0]);
            both[1].store = both[0].store, both[1].written = both[0].written;
            return both;
        }
        why.node = join;
        both.resize(1);
        both[0].why = why;
        return both;
    }

    /// Does a CONCAT read heads that are normed or turned, behind whatever names?
    bool joins_heads(std::int32_t join) const {
        const tensor& t = view_.node(join);
        return std::any_of(t.src, t.src + 2, [&](std::int32_t s) {
            const std::int32_t maker = s == no_tensor ? -1 : g_.position(g_.root(s));
            if (maker < 0) return false;
            const std::int32_t x = view_.node(maker).src[0];
            const bool weighted = g_.kind(maker) == op::mul && x != no_tensor &&
                                  view_.at(g_.root(x)).kind == op::rms_norm;
            return g_.kind(maker) == op::rope || g_.kind(maker) == op::rms_norm || weighted;
        });
    }

    /// The heads at a node, and the heads behind it that one launch could take with them: those of
    /// as many tokens. `open(position)` says that no step covers a node.
    template <class Open>
    std::vector<head_chain> group(std::int32_t node, const Open& open) const {
        std::vector<head_chain> all;
        all.reserve(max_head_members);
        const std::int32_t end = std::min(view_.node_count, node + reach);
        const head_turn* turn = nullptr;  // the one turn of all heads found so far
        for (std::int32_t i = node; i < end; ++i) {
            const op kind = g_.kind(i);
            if (kind == op::flash_attn_ext || kind == op::soft_max) break;
            if (!begins_heads(kind) || !open(i)) continue;
            const auto has = [i](const head_chain& h) { return h.has(i); };
            if (std::any_of(all.begin(), all.end(), has)) continue;
            const std::vector<head_chain> some = values_at(i);
            if (all.empty() && some.front().why.found()) return some;
            const std::size_t before = all.size();
            for (const head_chain& h : some) {
                const bool joins = !h.why.found() && (all.empty() || same_tokens(all.front(), h)) &&
                                   (turn == nullptr || h.rope < 0 || *turn == h.turn) &&
                                   static_cast<int>(all.size()) < max_head_members &&
                                   all_open(h, open);
                if (!joins) break;
                all.push_back(h);
                if (h.rope >= 0) turn = &all.back().turn;
            }
            if (all.size() < before + some.size()) {  // both values of a CONCAT, or none
                all.resize(before);
                turn = turn_of(all);
            }
            if (static_cast<int>(all.size()) == max_head_members) break;
        }
        return all;
    }

    /// The kinds of nodes at which heads are looked for.
    static constexpr bool begins_heads(op kind) {
        return kind == op::rope || kind == op::set_rows || kind == op::concat;
    }

  private:
    /// The distance, in nodes, within which the other heads of a group are looked for.
    static constexpr std::int32_t reach = 64;
    static constexpr std::int64_t max_head = 512;
    /// A norm of all heads of more tokens takes less time in a launch of its own.
    static constexpr std::int64_t max_normed_tokens = 8;
    /// Fewer elements than a warp has lanes are no head that is worth a copy.
    static constexpr std::int64_t min_copied = 32;

    const graph_index& g_;
    const graph_view& view_;

    template <class Open>
    static bool all_open(const head_chain& h, const Open& open) {
        bool all = true;
        h.each_node([&](std::int32_t n) { all = all && open(n); });
        return all;
    }
    static const head_turn* turn_of(const std::vector<head_chain>& all) {
        const auto turns = [](const head_chain& h) { return h.rope >= 0; };
        const auto h = std::find_if(all.begin(), all.end(), turns);
        return h == all.end() ? nullptr : &h->turn;
    }
    static obstacle too_large(const head_chain& h) {
        const bool fits = h.k <= max_head && h.tokens * h.count <= max_values;
        return fits ? obstacle{h.why.node} : obstacle{h.why.node, reason::too_large, h.k, max_head};
    }
    bool same_tokens(const head_chain& a, const head_chain& b) const {
        const auto stream = [&](const head_chain& h) { return view_.node(h.why.node).stream; };
        return a.tokens == b.tokens && stream(a) == stream(b);
    }

    /// The heads at a node: those of one value, or of the two that a CONCAT joins.
    std::vector<head_chain> values_at(std::int32_t node) const {
        const std::int32_t join = join_at(node);
        if (join < 0) return {of(node)};
        std::vector<head_chain> both = joined(join);
        const bool stores = g_.kind(node) != op::set_rows || both.front().store == node;
        if (node == join || (both.size() == 2 && stores)) return both;
        return {of(node)};
    }
    /// The CONCAT that a ROPE or a SET_ROWS may be one launch with, or the node itself; -1: none.
    std::int32_t join_at(std::int32_t node) const {
        std::int32_t join = node;
        if (g_.kind(node) == op::rope) join = reader_past_scale(g_, view_.nodes[node]).node;
        if (g_.kind(node) == op::set_rows) {
            const std::int32_t rows = view_.node(node).src[0];
            join = rows == no_tensor ? -1 : g_.position(g_.root(rows));
        }
        return join >= 0 && g_.kind(join) == op::concat ? join : -1;
    }

    /// Does a CONCAT put two values of f32 into one row for each head of a token?
    obstacle check_join(std::int32_t join) const {
        if (const obstacle f = node_fits(g_, join, 2); f.found()) return f;
        if (const obstacle f = rows_fit(g_, join, view_.nodes[join]); f.found()) return f;
        const tensor &t = view_.node(join), &a = view_.at(t.src[0]), &b = view_.at(t.src[1]);
        const bool rows = t.params[0] == 0 && t.ne[3] == 1 && same_rows(a, t) && same_rows(b, t) &&
                          a.ne[0] + b.ne[0] == t.ne[0];
        return rows ? obstacle{} : obstacle{join, reason::not_joined};
    }

    /// Rewrite CONCAT(v, w) to heads whose rows begin with v's elements and end with w's. v is what
    /// a ROPE or a norm makes that nobody else reads; else it is a value that is copied.
    obstacle joined_part(std::int32_t join, int slot, head_chain& h) const {
        const tensor& t = view_.node(join);
        const std::int32_t value = t.src[slot];
        h.why.node = h.join = join;
        h.k = view_.at(value).ne[0], h.count = t.ne[1], h.tokens = t.ne[2];
        h.first = slot == 0 ? 0 : view_.at(t.src[0]).ne[0];
        const std::int32_t maker = g_.position(value);
        if (maker >= 0 && g_.only_reader(value).node == join) {
            const std::int32_t x = g_.kind(maker) == op::scale ? view_.node(maker).src[0] : value;
            const std::int32_t rope = x == no_tensor ? -1 : g_.position(x);
            if (rope >= 0 && g_.kind(rope) == op::rope) {
                if (const obstacle f = turned_alone(rope, h); f.found()) return f;
                scale_behind(h);
                return h.heads_by() == maker ? too_large(h) : obstacle{join, reason::not_joined};
            }
        }
        if (const obstacle f = read_from(join, value, h); f.found()) return f;
        if (h.norm < 0 && h.k < min_copied) return {join, reason::not_joined};
        return too_large(h);
    }

    /// Rewrite SCALE(ROPE(MUL(RMS_NORM(x), weight), positions, factors), c) to heads(x, weight,
    /// positions, factors, c). The norm, the weight and the SCALE may be missing.
    obstacle turned(std::int32_t node, head_chain& h) const {
        if (const obstacle f = turned_alone(node, h); f.found()) return f;
        scale_behind(h);
        stored_behind(h);
        return {};
    }

    /// The ROPE of these, and what is in front of it.
    obstacle turned_alone(std::int32_t node, head_chain& h) const {
        const tensor& t = view_.node(node);
        const bool divided = t.src[2] != no_tensor;
        h.rope = node;
        if (const obstacle f = node_fits(g_, node, divided ? 3 : 2); f.found()) return f;
        if (const obstacle f = rows_fit(g_, node, view_.nodes[node]); f.found()) return f;
        h.turn = {rope_of(t.params), t.src[1], t.src[2]};
        h.k = t.ne[0], h.count = t.ne[1], h.tokens = t.ne[2];
        if (const reason no = check_turn(t, h); no != reason::none) return {node, no, t.params[2]};
        if (!same_shape(view_.at(t.src[0]), t) || t.ne[3] != 1)
            return {node, reason::heads_reshaped};
        return read_from(node, t.src[0], h);
    }

    /// Why a launch cannot turn as the ROPE says: its numbers, its positions or its factors.
    reason check_turn(const tensor& t, const head_chain& h) const {
        const rope_numbers& n = h.turn.numbers;
        if (n.pairs == pairing::none) return reason::rope_mode;
        for (const int word : {5, 6, 7, 8, 9, 10})
            if (!finite(t.params[word])) return reason::rope_numbers;
        std::int64_t sections = 0;
        for (const std::int32_t s : n.section) {
            if (s < 0) return reason::rope_numbers;
            sections += s;
        }
        const bool pairs = n.dims > 0 && n.dims % 2 == 0 && n.first >= 0 && n.first % 2 == 0 &&
                           n.first <= h.k - n.dims && h.k - n.dims >= 0;
        const bool cut = n.positions() == 1 || (sections > 0 && sections <= h.k);
        const bool slows = n.base >= 1 && n.base <= 1e30f;  // no frequency is out of range
        const bool mixes =
            n.mix == 0 || (n.scale > 0 && n.base > 1 && n.context > 0 && n.fast > 0 && n.slow > 0);
        if (!pairs || !cut || !slows || !mixes) return reason::rope_numbers;
        const tensor& p = view_.at(h.turn.positions);
        const bool placed = p.type == format::i32 && p.reachable && contiguous(p) &&
                            words_aligned(p) && elements(p) == h.tokens * n.positions();
        if (!placed) return reason::rope_positions;
        if (h.turn.factors == no_tensor) return reason::none;
        const tensor& f = view_.at(h.turn.factors);
        const bool divides =
            plain_rows(f) == reason::none && contiguous(f) && f.ne[0] >= n.dims / 2;
        return divides ? reason::none : reason::rope_factors;
    }

    /// Takes over what node `reader` turns: x, or the norm of x if only `reader` reads it. What has
    /// become heads only behind its norm has a norm of tokens, which is one of heads if a token has
    /// one head.
    obstacle read_from(std::int32_t reader, std::int32_t value, head_chain& h) const {
        const std::int32_t whole = value_behind(view_, value);
        h.token_norm = whole != value && (h.count == 1 || h.tokens <= max_normed_tokens);
        const std::int32_t normed = h.token_norm ? whole : value, maker = g_.position(normed);
        if (maker >= 0 && g_.only_reader(normed).node == reader) {
            if (g_.kind(maker) == op::mul) weighted_norm(maker, h);
            if (g_.kind(maker) == op::rms_norm) norm(maker, h);
        }
        h.token_norm = h.token_norm && h.norm >= 0;
        if (h.norm >= 0) value = view_.node(h.norm).src[0];
        const tensor& x = view_.at(value);
        h.x = value;
        h.at = h.token_norm ? row_strides{4 * h.k, x.nb[1], 0} : row_strides{x.nb[1], x.nb[2], 0};
        h.token_norm = h.token_norm && h.count > 1;
        return rows_fit(g_, reader, value);
    }
    /// The elements of a row that is normed: a head, or all heads of a token.
    static std::int64_t normed_row(const head_chain& h) {
        return h.token_norm ? h.k * h.count : h.k;
    }

    /// Rewrite RMS_NORM(x) to a norm of each head, or of all heads of a token.
    void norm(std::int32_t node, head_chain& h) const {
        const tensor& n = view_.node(node);
        const bool heads = n.ne[1] == h.count && n.ne[2] == h.tokens;
        const bool tokens = n.ne[1] == h.tokens && n.ne[2] == 1;
        const bool fits = !node_fits(g_, node, 1).found() && n.ne[0] == normed_row(h) &&
                          (h.token_norm ? tokens : heads) && n.ne[3] == 1 &&
                          same_shape(n, view_.at(n.src[0])) && finite_from_zero(n.params[0]) &&
                          plain_rows(view_.at(n.src[0])) == reason::none;
        if (!fits) return;
        h.norm = node;
        h.eps = float_of(n.params[0]);
    }

    /// Rewrite MUL(RMS_NORM(x), weight) to a norm with its weight.
    void weighted_norm(std::int32_t mul, head_chain& h) const {
        const tensor& t = view_.node(mul);
        const std::int64_t row = normed_row(h);
        if (node_fits(g_, mul, 2).found() || t.ne[0] != row) return;
        for (const int slot : {0, 1}) {
            const std::int32_t maker = g_.position(t.src[slot]), w = t.src[1 - slot];
            if (maker < 0 || g_.kind(maker) != op::rms_norm) continue;
            const bool alone = g_.only_reader(t.src[slot]).node == mul;
            const bool weight = g_.constant(w) && plain_rows(view_.at(w)) == reason::none &&
                                view_.at(w).ne[0] == row && elements(view_.at(w)) == row;
            if (!alone || !weight || !same_shape(view_.at(t.src[slot]), t)) continue;
            norm(maker, h);
            if (h.norm >= 0) h.mul = mul, h.weight = w;
        }
    }

    /// Rewrite SCALE(ROPE(v), c) to the factor c of each head.
    void scale_behind(head_chain& h) const {
        const std::int32_t node = g_.only_reader(view_.nodes[h.rope]).node;
        if (node < 0 || g_.kind(node) != op::scale || engine_fuses(g_, node)) return;
        const std::optional<float> by = scale_at(g_, node);
        const bool whole = view_.node(node).src[0] == view_.nodes[h.rope];
        if (!by || !whole || rows_fit(g_, node, view_.nodes[node]).found()) return;
        h.scaled = node;
        h.scale = *by;
    }

    /// Rewrite SET_ROWS(cache, v, ids) to a store of each head in the cache. If others read v, too,
    /// it is also written as f32.
    void stored_behind(head_chain& h) const {
        const std::int32_t value = view_.nodes[h.made_by()];
        for (const use& u : g_.readers(value)) {
            const std::int32_t rows = view_.node(u.node).src[u.slot];
            const bool whole = g_.kind(u.node) == op::set_rows && u.slot == 0 && h.store < 0 &&
                               names_whole(view_, rows, value) &&
                               view_.at(rows).ne[0] == row_of_cache(h) &&
                               check_store(u.node, h) == reason::none;
            if (whole)
                h.store = u.node;
            else
                h.written = true;
        }
        h.written = h.written || h.store < 0 || g_.read_outside(value) || g_.output(value);
    }

    /// The elements that a token has in a cache. Two values that are joined have one head of a
    /// token there.
    std::int64_t row_of_cache(const head_chain& h) const {
        if (h.join < 0) return h.k * h.count;
        return h.count == 1 ? view_.node(h.join).ne[0] : -1;
    }

    /// Does a SET_ROWS write one row of a cache for each token?
    reason check_store(std::int32_t node, const head_chain& h) const {
        const tensor& t = view_.node(node);
        if ((t.flags & flag_compute) == 0) return reason::not_computed;
        if (!cache_formats.has(t.type)) return reason::cache_format;
        if (t.src[1] == no_tensor || has_more_sources(t, 3)) return reason::missing_source;
        const tensor& rows = view_.at(t.src[0]);
        const tensor& ids = view_.at(t.src[1]);
        if (!t.reachable || !ids.reachable) return reason::unreachable;
        const int element = info(t.type).block_bytes, block = info(t.type).block_elements;
        const bool shaped = rows.type == format::f32 && rows.ne[1] == h.tokens && rows.ne[2] == 1 &&
                            rows.ne[3] == 1 && t.ne[0] == rows.ne[0] && t.ne[2] == 1 &&
                            t.ne[3] == 1 && t.ne[1] <= max_values && t.nb[0] == element &&
                            !overlaps_itself(t) && h.k % block == 0;
        if (!shaped || t.view_src == no_tensor) return reason::cache_shape;
        const int unit = block > 1 ? 2 : element;
        if (base_alignment(t) % unit != 0 || t.nb[1] % unit != 0) return reason::cache_shape;
        const int of_id = ids.type == format::i64 ? 8 : 4;
        const bool numbered = (ids.type == format::i64 || ids.type == format::i32) &&
                              contiguous(ids) && elements(ids) == h.tokens &&
                              base_alignment(ids) % of_id == 0;
        return numbered ? reason::none : reason::cache_ids;
    }

    /// Rewrite SET_ROWS(cache, x, ids) to heads that are only stored, such as those of V. The rows
    /// of x are cut into heads of any length.
    obstacle stored(std::int32_t node, head_chain& h) const {
        const tensor& t = view_.node(node);
        h.store = node;
        if (t.src[0] == no_tensor || elements(t) == 0) return {node, reason::no_elements};
        const std::int32_t maker = g_.position(g_.root(t.src[0]));
        if (maker >= 0 && g_.kind(maker) == op::rope)
            return {node, reason::taken};  // the ROPE's heads have this SET_ROWS, or nobody has
        const tensor& rows = view_.at(t.src[0]);
        h.tokens = rows.ne[1];
        for (const std::int64_t k : {128, 64, 32, 1})
            if (h.k == 0 && rows.ne[0] % k == 0) h.k = k;
        h.count = rows.ne[0] / h.k;
        if (const reason no = check_store(node, h); no != reason::none) return {node, no};
        if (h.k == 1) return {node, reason::cache_shape};
        h.x = t.src[0];
        h.at = {4 * h.k, rows.nb[1], 0};
        return rows_fit(g_, node, h.x);
    }
};

}  // namespace CATENA_NAMESPACE
