// Norms, turns and stores of Q, K and V: when they are one launch, when they are not, and why.
#include "cases.hpp"
#include "random/tables.hpp"

#include "catena/match/detail/head_finder.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/detail/find/head_request.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <cstring>

using namespace catena;
using namespace catena_test;

namespace {

struct layer_shape {
    std::int64_t tokens = 1, size = 128, heads = 8, kv_heads = 2;
    bool norms = true, turns = true, factors = false;
    bool token_norms = false;  ///< norms of all heads of a token
    int mode = 2, dims = 128;
    float scale = 1;
    format cache = format::f16, ids = format::i64;
};

/// What stands between the matrices of a layer and its attention.
struct layer_case {
    layer_shape is;
    graph_builder g;
    id positions, rows, factors = no_tensor, keys, values;
    id q, k, v;  ///< as matrices made them
    id turned_q, turned_k, k_set, v_set, attention;

    explicit layer_case(const layer_shape& s = {}) : is(s) {
        positions = g.input(format::i32, {is.tokens * (is.mode >= 8 ? 4 : 1)});
        rows = g.input(is.ids, {is.tokens});
        if (is.factors) factors = g.weight(format::f32, {is.dims / 2});
        keys = g.input(is.cache, {is.size * is.kv_heads, 64});
        values = g.input(is.cache, {is.size * is.kv_heads, 64});
        const auto made = [&](std::int64_t heads) {
            return g.other({g.input(format::f32, {is.size * heads, is.tokens})});
        };
        q = made(is.heads), k = made(is.kv_heads), v = made(is.kv_heads);
        turned_q = turned(q, is.heads);
        if (is.scale != 1) turned_q = g.scale(turned_q, is.scale);
        turned_k = turned(k, is.kv_heads);
        k_set = stored(g.view(turned_k, {is.size * is.kv_heads, is.tokens}), keys);
        v_set = stored(g.view(v, {is.size * is.kv_heads, is.tokens}), values);
        attention = g.node(op::flash_attn_ext, format::f32, {is.size, is.heads, is.tokens},
                           {turned_q, keys, values});
    }

    id turned(id x, std::int64_t heads) {
        if (is.token_norms) x = g.mul(g.rms_norm(x), g.weight(format::f32, {is.size * heads}));
        x = g.reshape(x, {is.size, heads, is.tokens});
        if (is.norms && !is.token_norms) x = g.mul(g.rms_norm(x), g.weight(format::f32, {is.size}));
        return is.turns ? rope(x) : x;
    }
    id rope(id x) {
        const id t = g.same_shape(op::rope, x, {x, positions, factors});
        g[t].params[1] = is.dims, g[t].params[2] = is.mode;
        const float numbers[] = {10000, 1, 0, 1, 32, 1};
        std::memcpy(g[t].params + 5, numbers, sizeof numbers);
        if (is.mode >= 8)
            for (int i = 0; i < 3; ++i) g[t].params[11 + i] = is.dims / 8;
        return t;
    }
    id stored(id x, id cache) {
        const id t =
            g.node(op::set_rows, is.cache, {g[cache].ne[0], g[cache].ne[1]}, {x, rows, cache});
        g.rename(t, cache);
        return t;
    }

    plan planned(const options& asked = {}) { return proved_plan(g, shipped_table(), asked); }
    /// The nodes of the only step, of those that are named.
    bool one_step(const plan& p, std::initializer_list<id> of) {
        if (p.steps().size() != 1) return false;
        for (const id t : of)
            if (p.at(g.position(t)).step != 0) return false;
        return p.steps()[0].node_count == static_cast<std::int32_t>(of.size());
    }
};

const heads_args& args_of(const plan& p, step_args& room) {
    return (room = p.args(0, nullptr)).heads;
}

}  // namespace

TEST_CASE("norms, turns and stores of a layer are one launch", "[plan][heads]") {
    for (const std::int64_t tokens : {1, 4, 64}) {
        layer_case c({.tokens = tokens});
        const plan p = c.planned();
        REQUIRE(p.steps().size() == 1);
        const step& s = p.steps()[0];
        CHECK(s.node_count == 8);
        CHECK(s.launch_at == c.g.position(c.v_set));
        CHECK(s.what.row().rows == tokens * (8 + 2 + 2));
        CHECK(s.what.row().stored == tokens * 4);
        step_args room;
        const heads_args& a = args_of(p, room);
        REQUIRE(a.members == 3);
        CHECK(a.tokens == tokens);
        CHECK(a.member[0].f32 == c.g[c.turned_q].data);
        CHECK(a.member[0].cache == nullptr);
        CHECK(a.member[1].f32 == nullptr);  // nobody reads K but the cache
        CHECK(a.member[1].cache == c.g[c.keys].data);
        CHECK(a.member[1].weight != nullptr);
        CHECK(a.member[2].cache == c.g[c.values].data);
        CHECK_FALSE(a.member[2].turned);
        CHECK(a.member[2].first_row == tokens * 10);
        CHECK(p.left().size() == 1);  // the attention
    }
}

TEST_CASE("norms of all heads of a token are in the launch of the heads", "[plan][heads]") {
    for (const std::int64_t tokens : {1, 3, 8}) {
        layer_case c({.tokens = tokens, .token_norms = true});
        const plan p = c.planned();
        REQUIRE(p.steps().size() == 1);
        CHECK(p.steps()[0].node_count == 8);
        CHECK(p.steps()[0].what.row().slots == 1);
        step_args room;
        const heads_args& a = args_of(p, room);
        REQUIRE(a.members == 3);
        CHECK((a.member[0].normed && a.member[0].token_norm && a.member[1].token_norm));
        CHECK_FALSE(a.member[2].token_norm);
        CHECK(a.member[0].x == c.g[c.q].data);
        CHECK(a.member[0].x_nb1 == c.is.size * 4);
        CHECK(a.member[0].x_nb2 == c.is.size * c.is.heads * 4);
        CHECK(p.left().size() == 1);  // the attention
    }
    layer_case wide({.heads = 32, .token_norms = true});
    const plan p = wide.planned();
    CHECK(p.steps()[0].what.row().slots == 2);
    CHECK(work(p.steps()[0].what.row()) == "36 rows of 128, normed by tokens");
}

TEST_CASE("of many tokens the engine makes norms of all heads, and the turn begins behind them",
          "[plan][heads]") {
    layer_case c({.tokens = 9, .token_norms = true});
    const plan p = c.planned();
    const id normed = c.g[c.g[c.turned_q].src[0]].src[0];
    CHECK(p.at(c.g.position(normed)).step < 0);
    CHECK(p.at(c.g.position(c.turned_q)).step == 0);
    step_args room;
    CHECK_FALSE(args_of(p, room).member[0].normed);
}

TEST_CASE("heads whose token is normed are not turned where they lie", "[plan][heads]") {
    layer_case c({.token_norms = true});
    c.g.share(c.turned_q, c.q);
    const plan p = c.planned();
    CHECK(p.at(c.g.position(c.turned_q)).step < 0);
    CHECK(p.at(c.g.position(c.k_set)).step == 0);
}

TEST_CASE("ggml-cuda norms all heads of a token in a launch of their own", "[plan][heads]") {
    const auto launches = [](bool token_norms) {
        layer_case c({.norms = true, .token_norms = token_norms});
        const graph_view view = c.g.view();
        graph_index index;
        REQUIRE(index.build(view).ok());
        return ggml_cuda_head_launches(view, head_finder(index).of(c.g.position(c.turned_q)));
    };
    CHECK(launches(false) == 1);
    CHECK(launches(true) == 2);
}

TEST_CASE("a layer without norms, or with divided angles, is one too", "[plan][heads]") {
    for (const bool factors : {false, true})
        for (const int mode : {0, 2, 8, 40}) {
            layer_case c({.tokens = 2, .norms = false, .factors = factors, .mode = mode});
            CHECK(c.one_step(c.planned(), {c.turned_q, c.turned_k, c.k_set, c.v_set}));
        }
}

TEST_CASE("heads may go into every cache, with every number of rows", "[plan][heads]") {
    for (const format cache : {format::f32, format::f16, format::bf16, format::q8_0, format::q4_0})
        for (const format ids : {format::i32, format::i64}) {
            layer_case c({.norms = false, .cache = cache, .ids = ids});
            const plan p = c.planned();
            REQUIRE(c.one_step(p, {c.turned_q, c.turned_k, c.k_set, c.v_set}));
            step_args room;
            const head_member& m = args_of(p, room).member[1];
            CHECK(m.cache_type == cache);
            CHECK(m.ids_of_64_bits == (ids == format::i64));
            CHECK(m.cache_rows == 64);
        }
}

TEST_CASE("without turns, what is stored is one launch", "[plan][heads]") {
    layer_case c({.norms = false, .turns = false});
    CHECK(c.one_step(c.planned(), {c.k_set, c.v_set}));
}

TEST_CASE("a scale behind the turn of Q is done with it", "[plan][heads]") {
    layer_case c({.norms = false, .scale = 0.25f});
    const plan p = c.planned();
    CHECK(p.steps().size() == 1);
    step_args room;
    CHECK(args_of(p, room).member[0].scale == 0.25f);
    CHECK(args_of(p, room).member[0].f32 == c.g[c.turned_q].data);
}

TEST_CASE("a scale behind a turn that begins a soft cap is the engine's", "[plan][heads]") {
    layer_case c({.norms = false});
    const id turned = c.rope(c.g.other({c.g.input(format::f32, {c.is.size, 8, 1})}));
    const id scaled = c.g.scale(turned, 0.5f);
    c.g.other({c.g.scale(c.g.unary(scaled, sub_op::tanh), 2)});
    const plan p = c.planned();
    CHECK(p.at(c.g.position(scaled)).step < 0);
}

TEST_CASE("ggml-cuda stores heads that are scaled in a launch of their own", "[plan][heads]") {
    layer_case c({.norms = false});
    const id turned = c.rope(c.g.other({c.g.input(format::f32, {c.is.size, 2, 1})}));
    const id scaled = c.g.scale(turned, 0.5f);
    c.stored(c.g.view(scaled, {2 * c.is.size, 1}), c.g.input(format::f16, {2 * c.is.size, 64}));
    const graph_view view = c.g.view();
    graph_index index;
    REQUIRE(index.build(view).ok());
    const head_finder find(index);
    CHECK(ggml_cuda_head_launches(view, find.of(c.g.position(turned))) == 3);
    CHECK(ggml_cuda_head_launches(view, find.of(c.g.position(c.turned_k))) == 1);
}

TEST_CASE("heads that are turned twice are no one launch", "[plan][heads]") {
    layer_case c({.norms = false});
    const id once = c.rope(c.g.other({c.g.input(format::f32, {c.is.size, 8, 1})}));
    const id twice = c.rope(once);
    c.g.other({twice});
    const plan p = c.planned();
    const std::int32_t first = p.at(c.g.position(once)).step;
    CHECK((first < 0 || first != p.at(c.g.position(twice)).step));
}

TEST_CASE("the distance of tokens says how heads are aligned", "[plan][heads]") {
    for (const std::int64_t tokens : {1, 2}) {
        layer_case c({.tokens = tokens});
        const std::int64_t row = c.is.size * 8 + 1;  // an element behind the heads of each
        const id x =
            c.g.view(c.g.other({c.g.input(format::f32, {row, tokens})}), {c.is.size, 8, tokens});
        c.g[x].nb[2] = 4 * row;
        const id turned = c.rope(x);
        const graph_view view = c.g.view();
        graph_index index;
        REQUIRE(index.build(view).ok());
        const head_chain h = head_finder(index).of(c.g.position(turned));
        CHECK(alignment_of(view, h) == (tokens > 1 ? 4 : 16));
    }
}

TEST_CASE("heads that are turned otherwise have a launch of their own", "[plan][heads]") {
    layer_case c({.norms = false});
    c.g[c.turned_k].params[1] = 64;
    const plan p = c.planned();
    const std::int32_t q = p.at(c.g.position(c.turned_q)).step;
    CHECK((q < 0 || q != p.at(c.g.position(c.turned_k)).step));
}

TEST_CASE("a K that others read besides is also written", "[plan][heads]") {
    layer_case c;
    c.g.other({c.turned_k});
    step_args room;
    const plan p = c.planned();
    CHECK(args_of(p, room).member[1].f32 == c.g[c.turned_k].data);
    CHECK(args_of(p, room).member[1].cache != nullptr);

    layer_case output;
    output.g[output.turned_k].flags |= flag_output;
    CHECK(args_of(output.planned(), room).member[1].f32 != nullptr);

    layer_case outside;
    outside.g.read_outside(outside.turned_k);
    CHECK(args_of(outside.planned(), room).member[1].f32 != nullptr);
}

TEST_CASE("a norm whose result others read is the engine's, and the turn begins behind it",
          "[plan][heads]") {
    layer_case c;
    const id mul = c.g[c.turned_q].src[0];
    c.g.other({mul});
    const plan p = c.planned();
    CHECK(p.at(c.g.position(mul)).step < 0);
    CHECK(p.at(c.g.position(c.turned_q)).step == 0);
}

TEST_CASE("heads are cut out of one value as its views say", "[plan][heads]") {
    layer_case c({.norms = false});
    const id all = c.g.input(format::f32, {c.is.size * 12, 1});
    const id made = c.g.other({all});
    const auto part = [&](std::int64_t first, id like) {
        const id t = c.g.view(made, {c.is.size, c.g[like].ne[1], 1}, first * c.is.size * 4);
        // the views stand before the ropes
        std::rotate(c.g.nodes.begin(), c.g.nodes.end() - 1, c.g.nodes.end());
        return t;
    };
    c.g[c.turned_q].src[0] = part(0, c.turned_q);
    c.g[c.turned_k].src[0] = part(8, c.turned_k);
    std::rotate(c.g.nodes.begin(), std::find(c.g.nodes.begin(), c.g.nodes.end(), made),
                std::find(c.g.nodes.begin(), c.g.nodes.end(), made) + 1);
    const plan p = c.planned();
    step_args room;
    REQUIRE(p.steps().size() == 1);
    CHECK(args_of(p, room).member[1].x ==
          static_cast<const float*>(c.g[made].data) + 8 * c.is.size);
}

TEST_CASE("the engine keeps what no row turns or stores, and says why", "[plan][heads]") {
    const auto why = [](layer_case& c, id node) {
        return left_why(c.planned(), c.g.position(node));
    };
    layer_case vision({.mode = 24});
    CHECK(why(vision, vision.turned_q) == reason::rope_mode);
    layer_case odd({.dims = 127});
    CHECK(why(odd, odd.turned_q) == reason::rope_numbers);
    layer_case longer({.dims = 256});
    CHECK(why(longer, longer.turned_q) == reason::rope_numbers);
    layer_case few;
    few.g[few.positions].ne[0] = 2;
    CHECK(why(few, few.turned_q) == reason::rope_positions);
    layer_case q4({.cache = format::q4_1});
    CHECK(why(q4, q4.v_set) == reason::cache_format);
    layer_case turned_v;  // as a cache without flash attention has V
    turned_v.g[turned_v.v_set].ne[0] = 1;
    turned_v.g[turned_v.v_set].nb[1] = 2;
    CHECK(why(turned_v, turned_v.v_set) == reason::cache_shape);
    layer_case ids;
    ids.g[ids.rows].type = format::f32;
    CHECK(why(ids, ids.v_set) == reason::cache_ids);
    layer_case odd_ids;  // 64 bits at half of their size
    odd_ids.g.share(odd_ids.rows, odd_ids.rows, 4);
    CHECK(why(odd_ids, odd_ids.v_set) == reason::cache_ids);
    layer_case odd_cache;
    odd_cache.g.share(odd_cache.v_set, odd_cache.values, 1);
    odd_cache.g.share(odd_cache.values, odd_cache.values, 1);
    CHECK(why(odd_cache, odd_cache.v_set) == reason::cache_shape);
}

TEST_CASE("what takes an engine one launch stays with it", "[plan][heads]") {
    layer_case c;
    c.g[c.turned_k].params[2] = 24;  // of all heads Q and V are left
    c.g[c.v_set].type = c.g[c.values].type = format::q4_1;
    const plan p = c.planned();
    CHECK(p.steps().size() == 0);
    CHECK(left_why(p, c.g.position(c.turned_q)) == reason::one_launch);
}

TEST_CASE("heads whose memory another node takes stay out of the launch", "[plan][heads]") {
    layer_case c;
    c.g.share(c.g[c.turned_k].src[0], c.q);  // K's norm lies where Q was
    const id norm_k = c.g[c.g[c.turned_k].src[0]].src[0];
    c.g.other({norm_k});  // so it must be written
    const plan p = c.planned();
    CHECK(p.at(c.g.position(c.turned_k)).step == p.at(c.g.position(c.v_set)).step);
}

TEST_CASE("two values of one cache are not stored by one launch", "[plan][heads]") {
    layer_case c({.norms = false});
    c.g[c.v_set].src[2] = c.g[c.attention].src[2] = c.keys;
    c.g.rename(c.v_set, c.keys);
    const plan p = c.planned();
    const std::int32_t k = p.at(c.g.position(c.k_set)).step, v = p.at(c.g.position(c.v_set)).step;
    CHECK((k < 0 || k != v));
}

TEST_CASE("values that start where another's result lies are not turned with it", "[plan][heads]") {
    for (const bool norms : {false, true}) {
        layer_case c({.heads = 2, .norms = norms});
        c.g.share(c.turned_k, c.q);  // Q died when it was turned: its memory is K's
        c.g.share(c.g[c.k_set].src[0], c.q);
        c.g.other({c.turned_k});
        const plan p = c.planned();
        const std::int32_t q = p.at(c.g.position(c.turned_q)).step;
        const std::int32_t k = p.at(c.g.position(c.turned_k)).step;
        CHECK((q < 0 || q != k));
    }
}

TEST_CASE("heads may be turned where they lie", "[plan][heads]") {
    layer_case c({.norms = false});
    c.g.share(c.turned_q, c.q);
    CHECK(c.one_step(c.planned(), {c.turned_q, c.turned_k, c.k_set, c.v_set}));
}

TEST_CASE("optimize keeps what heads start from until they are stored", "[plan][heads]") {
    layer_case c;
    c.g.other(
        {c.rope(c.g.other({c.g.input(format::f32, {c.is.size, 8, 1})}))});  // of the next layer
    const ordering order = optimize(c.g.view());
    REQUIRE(order.state.ok());
    const auto kept = [&](id t) { return kept_until(c.g, order, t); };
    CHECK(kept(c.q) == c.g.position(c.v_set));
    CHECK(kept(c.k) == c.g.position(c.v_set));
    CHECK(kept(c.turned_k) == -1);  // it is stored, and not written
}

TEST_CASE("optimize keeps heads that are read at once until the last of their launch",
          "[plan][heads]") {
    layer_case c;
    const id heads = c.rope(c.g.other({c.g.input(format::f32, {128, 2, 1})}));
    c.g.same_shape(op::cont, heads, {heads});
    const id later = c.rope(c.g.other({c.g.input(format::f32, {128, 2, 1})}));
    const ordering order = optimize(c.g.view());
    REQUIRE(order.state.ok());
    CHECK(kept_until(c.g, order, heads) == c.g.position(later));
}

TEST_CASE("a chain that is switched off leaves heads to the engine", "[plan][heads]") {
    layer_case c;
    options asked;
    asked.chains_off = "attention_heads";
    CHECK(c.planned(asked).steps().size() == 0);
}
