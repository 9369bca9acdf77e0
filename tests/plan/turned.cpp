// Q, K and V whose matrices' launch turns and stores them: when that is one launch, when it is not,
// and why.
#include "cases.hpp"
#include "faults.hpp"

#include "random/tables.hpp"

#include "catena/match/ggml_cuda.hpp"
#include "catena/pick/measured.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

struct turned_shape {
    std::int64_t tokens = 1, size = 64, heads = 8, kv_heads = 2;
    bool bias = false, norms = false, factors = false;
    bool beside = false;     ///< a value of the engine's is turned and stored, too
    bool late_rows = false;  ///< another matrix has been multiplied with the norm before the rows
                             ///< of the caches are known
    int mode = 2, dims = 64, first = 0;
    float scale = 1;
    format weights = format::q8_0, cache = format::f16;
};

/// A layer up to its attention, whose norm the matrices' launch makes.
struct turned_layer {
    turned_shape is;
    graph_builder g;
    id positions, rows, factors = no_tensor, keys, values, norm;
    id q, k, v;  ///< as matrices make them, with a bias
    id turned_q, turned_k, k_set, v_set, gate, attention;

    explicit turned_layer(const turned_shape& s = {}) : is(s) {
        positions = g.input(format::i32, {is.tokens * (is.mode >= 8 ? 4 : 1)});
        rows = g.input(format::i64, {is.tokens});
        if (is.factors) factors = g.weight(format::f32, {is.dims / 2});
        keys = g.input(is.cache, {is.size * is.kv_heads, 64});
        values = g.input(is.cache, {is.size * is.kv_heads, 64});
        norm = g.scaled_norm(g.other({g.input(format::f32, {512, is.tokens})}));
        q = made(is.heads), k = made(is.kv_heads), v = made(is.kv_heads);
        if (is.late_rows) {
            gate = g.mul_mat(g.weight(format::q8_0, {512, 512}), norm);
            rows = g.node(op::other, format::i64, {is.tokens}, {rows, g.other({gate})});
        }
        turned_q = turned(q, is.heads);
        if (is.scale != 1) turned_q = g.scale(turned_q, is.scale);
        turned_k = turned(k, is.kv_heads);
        k_set = stored(turned_k, keys);
        v_set = stored(v, values);
        if (is.beside) {
            const id x = g.other({g.input(format::f32, {is.size * is.kv_heads, is.tokens})});
            stored(turned(x, is.kv_heads), g.input(is.cache, {is.size * is.kv_heads, 64}));
        }
        attention = g.node(op::flash_attn_ext, format::f32, {is.size, is.heads, is.tokens},
                           {turned_q, keys, values});
    }
    id made(std::int64_t heads) {
        const id y = g.mul_mat(g.weight(is.weights, {512, is.size * heads}), norm);
        return is.bias ? g.add(y, g.weight(format::f32, {is.size * heads})) : y;
    }
    id turned(id x, std::int64_t heads) {
        x = g.reshape(x, {is.size, heads, is.tokens});
        if (is.norms) x = g.mul(g.rms_norm(x), g.weight(format::f32, {is.size}));
        const id t = g.same_shape(op::rope, x, {x, positions, factors});
        g[t].params[1] = is.dims, g[t].params[2] = is.mode, g[t].params[15] = is.first;
        const float numbers[] = {10000, 1, 0, 1, 32, 1};
        std::memcpy(g[t].params + 5, numbers, sizeof numbers);
        if (is.mode >= 8)
            for (int i = 0; i < 3; ++i) g[t].params[11 + i] = is.dims / 8;
        return t;
    }
    id stored(id x, id cache) {
        const id t = g.node(op::set_rows, is.cache, {g[cache].ne[0], g[cache].ne[1]},
                            {g.view(x, {is.size * is.kv_heads, is.tokens}), rows, cache});
        g.rename(t, cache);
        return t;
    }

    plan planned(const options& asked = {}, const table& by = norm_inside_table()) {
        return proved_plan(g, by, asked);
    }
    std::int32_t launch(const plan& p) { return p.at(g.position(v)).step; }
    /// Does the launch of the matrices also turn and store?
    bool one(const plan& p) {
        const std::int32_t s = launch(p);
        for (const id t : {q, k, turned_q, turned_k, k_set, v_set})
            if (s < 0 || p.at(g.position(t)).step != s) return false;
        return true;
    }
};

reason why_apart(turned_layer& c) {
    const plan p = c.planned();
    CHECK_FALSE(c.one(p));
    const reason of_q = left_why(p, c.g.position(c.turned_q));
    return of_q != reason::none ? of_q : left_why(p, c.g.position(c.v_set));
}

}  // namespace

TEST_CASE("the launch of Q, K and V turns and stores them", "[plan][heads]") {
    for (const bool bias : {false, true})
        for (const bool factors : {false, true})
            for (const int mode : {0, 2}) {
                turned_layer c({.bias = bias, .factors = factors, .mode = mode});
                const plan p = c.planned();
                REQUIRE(c.one(p));
                const matvec_args a = p.args(c.launch(p), nullptr).matvec;
                REQUIRE(a.heads.members == 3);
                CHECK(a.norm_weight != nullptr);
                CHECK(a.heads.positions == c.g[c.positions].data);
                CHECK((a.heads.factors != nullptr) == factors);
                CHECK(a.heads.turn.pairs == (mode == 0 ? pairing::neighbors : pairing::halves));
                CHECK(a.member[0].dst == c.g[c.turned_q].data);
                CHECK(a.heads.member[0].cache == nullptr);
                CHECK(a.heads.member[0].k == 64);
                CHECK(a.heads.member[0].heads == 8);
                CHECK(a.member[1].dst == nullptr);  // nobody reads K but the cache
                CHECK(a.heads.member[1].cache == c.g[c.keys].data);
                CHECK(a.heads.member[1].cache_ids == c.g[c.rows].data);
                CHECK((a.member[1].bias != nullptr) == bias);
                CHECK(a.heads.member[2].cache == c.g[c.values].data);
                CHECK_FALSE(a.heads.member[2].turned);
                for (const head_member& m : a.heads.member) CHECK(m.x == nullptr);
                CHECK(p.at(c.g.position(c.q)).elided);
                CHECK_FALSE(p.at(c.g.position(c.turned_q)).elided);
                const explanation e = p.explain();
                CHECK(steps_text(e).find("heads turned") != std::string::npos);
                const auto heads =
                    std::find_if(e.chains.begin(), e.chains.end(),
                                 [](const auto& chain) { return chain.name == "attention_heads"; });
                REQUIRE(heads != e.chains.end());
                CHECK(heads->made_by == c.launch(p));
                CHECK(heads->from_epilogue);
            }
}

TEST_CASE("a part of each head, a scale and every cache of elements are turned inside",
          "[plan][heads]") {
    for (const format cache : {format::f32, format::f16, format::bf16}) {
        turned_layer c({.dims = 32, .scale = 0.5f, .cache = cache});
        const plan p = c.planned();
        REQUIRE(c.one(p));
        const head_group a = p.args(c.launch(p), nullptr).matvec.heads;
        CHECK(a.member[0].scale == 0.5f);
        CHECK(a.member[1].cache_type == cache);
        CHECK(a.turn.dims == 32);
    }
}

TEST_CASE("heads that a matvec cannot turn have a launch of their own", "[plan][heads]") {
    turned_layer sections({.mode = 8}), behind({.dims = 32, .first = 16}),
        blocks({.cache = format::q8_0});
    CHECK(why_apart(sections) == reason::rope_mode);
    CHECK(why_apart(behind) == reason::rope_mode);
    CHECK(why_apart(blocks) == reason::cache_format);
    turned_layer normed({.norms = true}), several({.tokens = 2});
    CHECK_FALSE(normed.one(normed.planned()));
    CHECK_FALSE(several.one(several.planned()));
}

TEST_CASE("a result that others read, too, is turned behind its launch", "[plan][heads]") {
    for (const bool of_v : {false, true}) {
        turned_layer c;
        c.g.other({of_v ? c.v : c.q});
        CHECK_FALSE(c.one(c.planned()));
    }
    turned_layer outside;
    outside.g.read_outside(outside.k);
    CHECK_FALSE(outside.one(outside.planned()));
    turned_layer shown;  // K is also read as it was turned
    shown.g.other({shown.turned_k});
    const plan p = shown.planned();
    REQUIRE(shown.one(p));
    CHECK(p.args(shown.launch(p), nullptr).matvec.member[1].dst == shown.g[shown.turned_k].data);
}

TEST_CASE("heads that stand apart from the results of matrices are turned behind them",
          "[plan][heads]") {
    turned_layer beside({.beside = true});
    CHECK(why_apart(beside) == reason::heads_apart);
    turned_layer gaps;
    for (int d = 1; d < 4; ++d) gaps.g[gaps.turned_q].nb[d] *= 2;
    gaps.g.share(gaps.turned_q, gaps.g.input(format::f32, {2 * 64 * 8}));
    CHECK(why_apart(gaps) == reason::heads_reshaped);
}

TEST_CASE("a launch that makes a norm for others does not move behind them", "[plan][heads]") {
    turned_layer c({.late_rows = true, .weights = format::bf16});
    const plan p = c.planned();
    CHECK_FALSE(c.one(p));
    CHECK(left_why(p, c.g.position(c.turned_q)) == reason::heads_split);
    CHECK(c.launch(p) == p.at(c.g.position(c.norm)).step);
    CHECK(p.at(c.g.position(c.gate)).step > c.launch(p));
    turned_layer q8_0({.late_rows = true});
    CHECK_FALSE(q8_0.one(q8_0.planned()));
}

TEST_CASE("memory that others have meanwhile keeps heads apart", "[plan][heads]") {
    turned_layer c;
    // Q lies over what the norm reads, which other blocks read meanwhile.
    c.g.share(c.turned_q, c.g[c.g[c.norm].src[0]].src[0]);
    CHECK(why_apart(c) == reason::heads_split);
}

TEST_CASE("heads are turned where that takes less time", "[plan][heads]") {
    turned_layer c;
    CHECK(c.one(c.planned()));
    for (const char* const off : {"turned_heads", "attention_heads"}) {
        options without;
        without.chains_off = off;
        CHECK_FALSE(c.one(c.planned(without)));
    }
}

TEST_CASE("medians may say that heads are turned faster apart", "[plan][heads]") {
    turned_layer c;
    std::vector<measurement> medians;
    const auto measured = [&](const options& asked, float us) {
        const plan made = c.planned(asked);
        for (const step& s : made.steps()) medians.push_back({problem_key(s.what), s.row, us, 0});
    };
    options apart;
    apart.chains_off = "turned_heads";
    measured({}, 1000);
    measured(apart, 1);
    std::stable_sort(
        medians.begin(), medians.end(),
        [](const measurement& a, const measurement& b) { return a.problem < b.problem; });
    table rows = norm_inside_table();
    rows.measured = medians.data();
    rows.measured_count = static_cast<int>(medians.size());
    const plan p = c.planned({}, rows);
    CHECK_FALSE(c.one(p));
    CHECK(left_why(p, c.g.position(c.turned_q)) == reason::heads_slower);
}

TEST_CASE("the proof finds each fault of heads that a matvec turns", "[plan][heads]") {
    using put_fault = std::function<void(matvec_member&, head_group&, head_member&)>;
    const put_fault wrong[] = {
        [](auto&, auto&, head_member& h) { h.turned = !h.turned; },
        [](auto&, auto&, head_member& h) { h.scale = 2; },
        [](auto&, auto&, head_member& h) { h.k *= 2, h.heads /= 2; },
        [](auto&, auto&, head_member& h) { ++h.heads; },
        [](auto&, auto&, head_member& h) { h.first_row += 1; },
        [](auto&, auto&, head_member& h) { h.normed = true; },
        [](matvec_member& m, auto&, head_member& h) {
            h.f32 = m.dst;
            h.x = h.f32 = &h.eps;
        },
        [](matvec_member& m, auto&, auto&) { m.rows -= 2; },
        [](auto&, head_group& a, auto&) { a.turn.magnitude = 2; },
        [](auto&, head_group& a, auto&) { a.turn.first = 2; },
        [](auto&, head_group& a, auto&) { a.turn.pairs = pairing::sections; },
        [](auto&, head_group& a, auto&) { ++a.positions; },
        [](auto&, head_group& a, auto&) { a.tokens = 2; },
        [](auto&, head_group& a, auto&) { a.members = 0; },
        [](auto&, head_group& a, auto&) { --a.members; },
        [](auto&, auto&, head_member& h) { h.cache = nullptr; },
        [](auto&, auto&, head_member& h) { h.cache_nb *= 2; },
        [](auto&, auto&, head_member& h) { h.cache_rows = 0; },
        [](auto&, auto&, head_member& h) { h.cache_type = format::q8_0; }};
    for (const put_fault& put : wrong) {
        turned_layer c;
        plan p = c.planned();
        plan_faults inside{p};
        const auto s = static_cast<std::size_t>(c.launch(p));
        put(inside.member(s, 1), inside.heads(s), inside.heads(s).member[1]);
        CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
    }
}
