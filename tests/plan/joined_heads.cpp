// Heads that a CONCAT puts end to end, as latent attention has them: Q of a copied and a turned
// part, and a row of the cache of a normed and a turned part.
#include "cases.hpp"
#include "faults.hpp"
#include "random/tables.hpp"

#include "catena/match/detail/head_finder.hpp"
#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

struct latent_shape {
    std::int64_t tokens = 1, rank = 128, size = 64, heads = 4;
    format cache = format::f16;
    float scale = 1;               ///< behind the turn of Q
    bool turned_in_front = false;  ///< Q's turned part is the first
    bool turns = true;
};

/// What stands between the matrices of a layer and its attention.
struct latent_case {
    latent_shape is;
    graph_builder g;
    id positions, rows, cache;
    id q, absorbed, kv;  ///< as matrices made them
    id q_part, q_turned, q_joined, norm, weighed, k_turned, k_joined, stored, attention;

    explicit latent_case(const latent_shape& s = {}) : is(s) {
        positions = g.input(format::i32, {is.tokens});
        rows = g.input(format::i64, {is.tokens});
        cache = g.input(is.cache, {is.rank + is.size, 64});
        q = g.other({g.input(format::f32, {3 * is.size * is.heads, is.tokens})});
        absorbed = g.other({g.input(format::f32, {is.rank, is.tokens, is.heads})});
        q_part = cut(q, {is.size, is.heads, is.tokens}, 2 * is.size, 3 * is.size);
        q_turned = is.turns ? rope(q_part) : q_part;
        if (is.scale != 1) q_turned = g.scale(q_turned, is.scale);
        const id copied = g.view(absorbed, {is.rank, is.heads, is.tokens});
        g[copied].kind = op::permute;
        g[copied].nb[1] = 4 * is.rank * is.tokens, g[copied].nb[2] = 4 * is.rank;
        q_joined = is.turned_in_front ? join(q_turned, copied) : join(copied, q_turned);

        kv = g.other({g.input(format::f32, {is.rank + is.size, is.tokens})});
        norm = g.rms_norm(cut(kv, {is.rank, is.tokens}, 0, is.rank + is.size));
        weighed = g.mul(norm, g.weight(format::f32, {is.rank}));
        const id front = g.reshape(weighed, {is.rank, 1, is.tokens});
        const id part = cut(kv, {is.size, 1, is.tokens}, is.rank, is.rank + is.size);
        k_turned = is.turns ? rope(part) : part;
        k_joined = join(front, k_turned);
        const id row = g.view(k_joined, {is.rank + is.size, is.tokens});
        stored = g.node(op::set_rows, is.cache, {is.rank + is.size, 64}, {row, rows, cache});
        g.rename(stored, cache);
        attention = g.node(op::flash_attn_ext, format::f32, {is.rank, is.heads, is.tokens},
                           {q_joined, cache, cache});
    }

    /// A part of each head, or of each token.
    id cut(id x, shape ne, std::int64_t first, std::int64_t distance) {
        const id t = g.view(x, ne, 4 * first);
        g[t].nb[1] = 4 * distance;
        g[t].nb[2] = 4 * distance * g[t].ne[1];
        g[t].nb[3] = g[t].nb[2] * g[t].ne[2];
        return t;
    }
    id rope(id x) {
        const id t = g.same_shape(op::rope, x, {x, positions});
        g[t].params[1] = static_cast<std::int32_t>(is.size);
        const float numbers[] = {10000, 1, 0, 1, 32, 1};
        std::memcpy(g[t].params + 5, numbers, sizeof numbers);
        return t;
    }
    id join(id a, id b) {
        return g.node(op::concat, format::f32, {g[a].ne[0] + g[b].ne[0], g[a].ne[1], g[a].ne[2]},
                      {a, b});
    }

    plan planned() { return proved_plan(g, shipped_table()); }
    std::int32_t step_of(const plan& p, id t) { return p.at(g.position(t)).step; }
};

const float* after(const void* base, std::int64_t elements) {
    return static_cast<const float*>(base) + elements;
}

}  // namespace

TEST_CASE("latent attention's heads are one launch, its rows of the cache, too",
          "[plan][heads][joined]") {
    for (const std::int64_t tokens : {1, 4, 64})
        for (const format cache : {format::f16, format::q8_0, format::f32}) {
            latent_case c({.tokens = tokens, .cache = cache});
            const plan p = c.planned();
            REQUIRE(p.steps().size() == 1);
            CHECK(p.left().size() == 1);  // its attention
            const step& s = p.steps()[0];
            CHECK(s.node_count == 7);
            CHECK(s.launch_at == c.g.position(c.stored));
            const heads_args a = p.args(0, nullptr).heads;
            REQUIRE(a.members == 4);
            const head_member &plain = a.member[0], &turned = a.member[1], &normed = a.member[2],
                              &last = a.member[3];
            CHECK(plain.x == c.g[c.absorbed].data);
            CHECK(plain.x_nb1 == 4 * c.is.rank * tokens);
            CHECK(plain.x_nb2 == 4 * c.is.rank);
            CHECK_FALSE((plain.normed || plain.turned || plain.cache != nullptr));
            CHECK(plain.f32 == c.g[c.q_joined].data);
            CHECK(turned.f32 == after(plain.f32, c.is.rank));
            CHECK(turned.f32_nb1 == 4 * (c.is.rank + c.is.size));
            CHECK((turned.turned && last.turned));
            CHECK(turned.heads == c.is.heads);
            CHECK((normed.normed && !normed.token_norm && normed.weight != nullptr));
            CHECK(normed.x == c.g[c.kv].data);
            CHECK(normed.x_nb2 == 4 * (c.is.rank + c.is.size));
            CHECK((normed.f32 == nullptr && last.f32 == nullptr));  // nobody reads K but the cache
            CHECK(normed.cache == c.g[c.cache].data);
            CHECK(static_cast<std::byte*>(last.cache) ==
                  static_cast<std::byte*>(normed.cache) + row_bytes(cache, c.is.rank));
        }
}

TEST_CASE("heads of several lengths are counted by their elements", "[plan][heads][joined]") {
    latent_case c({.tokens = 2});
    const plan p = c.planned();
    const row_problem& what = p.steps()[0].what.row();
    CHECK(work(what) == "20 rows of 64 to 128");
    CHECK(what.stored == 4);
    // All are read, Q is written as f32, K as f16; a norm's weight is read once.
    const std::int64_t of_q = 2 * 4 * (128 + 64), of_k = 2 * (128 + 64);
    CHECK(bytes_of(what) == 4 * (2 * of_q + of_k + 128) + 2 * of_k);
}

TEST_CASE("a turned part may be the first one, and be scaled", "[plan][heads][joined]") {
    latent_case c({.tokens = 3, .scale = 0.5f, .turned_in_front = true});
    const plan p = c.planned();
    REQUIRE(p.steps().size() == 1);
    const heads_args a = p.args(0, nullptr).heads;
    CHECK((a.member[0].turned && !a.member[1].turned));
    CHECK(a.member[0].scale == 0.5f);
    CHECK(a.member[1].scale == 1);
    CHECK(a.member[1].f32 == after(a.member[0].f32, c.is.size));
}

TEST_CASE("without turns the launch copies Q's parts beside those of K", "[plan][heads][joined]") {
    latent_case c({.turns = false});
    const plan p = c.planned();
    REQUIRE(p.steps().size() == 1);
    CHECK(p.steps()[0].node_count == 5);
    latent_case alone({.cache = format::q4_1, .turns = false});
    alone.g[alone.k_joined].params[0] = 1;  // so that only Q's copies are left
    CHECK(alone.step_of(alone.planned(), alone.q_joined) < 0);
}

TEST_CASE("no launch only copies or norms what CONCATs join", "[plan][heads][joined]") {
    for (const bool norm : {false, true}) {
        latent_case c({.cache = format::q4_1, .turns = false});
        if (!norm) c.g.other({c.weighed});
        const plan p = c.planned();
        CHECK(c.step_of(p, c.q_joined) < 0);
        CHECK(c.step_of(p, c.k_joined) < 0);
    }
}

TEST_CASE("joined heads that others read are written, too", "[plan][heads][joined]") {
    latent_case c({.tokens = 2});
    c.g.other({c.k_joined});
    const heads_args a = c.planned().args(0, nullptr).heads;
    REQUIRE(a.members == 4);
    CHECK(a.member[2].f32 == c.g[c.k_joined].data);
    CHECK(a.member[3].f32 == after(a.member[2].f32, c.is.rank));
    CHECK((a.member[2].cache != nullptr && a.member[3].cache != nullptr));

    latent_case output;
    output.g[output.k_joined].flags |= flag_output;
    CHECK(output.planned().args(0, nullptr).heads.member[3].f32 != nullptr);
}

TEST_CASE("a part that others read is made by the engine, and copied", "[plan][heads][joined]") {
    latent_case c;
    c.g.other({c.weighed});
    const plan p = c.planned();
    CHECK(c.step_of(p, c.weighed) < 0);
    REQUIRE(c.step_of(p, c.k_joined) == 0);
    const heads_args a = p.args(0, nullptr).heads;
    CHECK(a.member[2].x == c.g[c.weighed].data);
    CHECK_FALSE(a.member[2].normed);

    latent_case turned;
    turned.g.other({turned.k_turned});
    const plan q = turned.planned();
    const std::int32_t k = turned.step_of(q, turned.k_joined);
    REQUIRE(k >= 0);
    CHECK(k != turned.step_of(q, turned.k_turned));
}

TEST_CASE("parts that are no whole blocks of the cache are joined, and the engine stores them",
          "[plan][heads][joined]") {
    latent_case c({.rank = 80, .size = 16, .cache = format::q8_0});
    const plan p = c.planned();
    const std::int32_t s = c.step_of(p, c.k_joined);
    REQUIRE(s >= 0);
    CHECK(c.step_of(p, c.stored) != s);
    const heads_args a = p.args(s, nullptr).heads;
    CHECK(a.member[a.members - 2].f32 == c.g[c.k_joined].data);

    latent_case two({.rank = 80, .size = 16, .cache = format::q8_0});  // V is stored, too
    const id v = two.g.other({two.g.input(format::f32, {96, 1})}),
             into = two.g.input(format::q8_0, {96, 64});
    const id v_set = two.g.node(op::set_rows, format::q8_0, {96, 64}, {v, two.rows, into});
    two.g.rename(v_set, into);
    const auto end = two.g.nodes.end();
    std::rotate(end - 3, end - 2, end);  // before attention
    const plan q = two.planned();
    REQUIRE(two.step_of(q, v_set) >= 0);
    CHECK(two.step_of(q, v_set) == two.step_of(q, two.stored));
}

TEST_CASE("what a CONCAT joins otherwise is the engine's, which says why",
          "[plan][heads][joined]") {
    latent_case other_way;
    other_way.g[other_way.q_joined].params[0] = 1;
    const plan p = other_way.planned();
    CHECK(other_way.step_of(p, other_way.q_joined) < 0);
    CHECK(left_why(p, other_way.g.position(other_way.q_joined)) == reason::not_joined);
    CHECK(other_way.step_of(p, other_way.k_joined) >= 0);

    latent_case sizes;  // less than both parts
    sizes.g[sizes.q_joined].ne[0] -= 4;
    CHECK(left_why(sizes.planned(), sizes.g.position(sizes.q_joined)) == reason::not_joined);

    latent_case narrow({.rank = 16});  // a copy of so few elements is left
    CHECK(left_why(narrow.planned(), narrow.g.position(narrow.q_joined)) == reason::not_joined);

    latent_case wide({.rank = 1024});
    CHECK(left_why(wide.planned(), wide.g.position(wide.q_joined)) == reason::too_large);

    latent_case turned({.size = 1024});
    CHECK(left_why(turned.planned(), turned.g.position(turned.q_joined)) == reason::too_large);

    latent_case half;
    half.g[half.q_joined].type = format::f16;
    CHECK(half.step_of(half.planned(), half.q_joined) < 0);
}

TEST_CASE("heads of two streams are no launch", "[plan][heads][joined]") {
    latent_case c;
    const int first = c.g.position(c.kv);
    for (int i = 0; i < first; ++i) c.g[c.g.nodes[static_cast<std::size_t>(i)]].stream = 1;
    const plan p = c.planned();
    CHECK(c.step_of(p, c.q_joined) >= 0);
    CHECK(c.step_of(p, c.q_joined) != c.step_of(p, c.k_joined));

    const auto turned = [&c] { return c.rope(c.g.other({c.g.input(format::f32, {64, 4, 1})})); };
    const id one = turned(), two = turned();
    c.g[two].stream = 1;
    c.g.other({one});
    c.g.other({two});
    const plan q = c.planned();
    CHECK((c.step_of(q, one) < 0 || c.step_of(q, one) != c.step_of(q, two)));
}

TEST_CASE("two parts that are turned otherwise are no launch", "[plan][heads][joined]") {
    latent_case c;
    const auto turned = [&c](std::int64_t dims) {
        const id t = c.rope(c.g.other({c.g.input(format::f32, {64, 4, 1})}));
        c.g[t].params[1] = static_cast<std::int32_t>(dims);
        return t;
    };
    const id a = turned(64), b = turned(32), both = c.join(a, b);
    c.g.other({both});
    CHECK(c.step_of(c.planned(), both) < 0);
}

TEST_CASE("a CONCAT whose result lies over what another part starts from is no part of the launch",
          "[plan][heads][joined]") {
    for (const bool of_q : {false, true}) {
        latent_case c({.tokens = 2});
        c.g.other({c.k_joined});
        c.g.share(c.k_joined, of_q ? c.q : c.absorbed);  // both died when Q was joined
        c.g.share(c.g[c.stored].src[0], c.k_joined);
        const plan p = c.planned();
        const std::int32_t q = c.step_of(p, c.q_joined), k = c.step_of(p, c.k_joined);
        CHECK((q < 0 || q != k));
    }
}

TEST_CASE("memory of a part that is not written may be anybody's", "[plan][heads][joined]") {
    latent_case c({.tokens = 2});
    c.g.share(c.kv, c.q_turned);  // which died when Q was joined
    for (const id part : {c.g[c.norm].src[0], c.g[c.k_turned].src[0]})
        c.g.share(part, c.kv, part == c.g[c.norm].src[0] ? 0 : 4 * c.is.rank);
    const plan p = c.planned();
    REQUIRE(p.steps().size() == 1);
    CHECK(p.steps()[0].node_count == 7);
}

TEST_CASE("two values whose rows only lie beside each other are two results",
          "[plan][heads][joined]") {
    latent_case c;
    const auto head = [&c] { return c.rope(c.g.other({c.g.input(format::f32, {64, 1, 1})})); };
    const id a = head(), b = head();
    c.g.share(b, a, 4 * 64);
    c.g.other({a});
    c.g.other({b});
    const plan p = c.planned();
    CHECK(c.step_of(p, a) >= 0);
    CHECK(c.step_of(p, a) == c.step_of(p, b));
}

TEST_CASE("joined heads do not lie where one of their own parts starts", "[plan][heads][joined]") {
    latent_case c({.heads = 1});
    c.g.share(c.q_joined, c.absorbed);  // the copied part would even be where it was
    const plan p = c.planned();
    CHECK(c.step_of(p, c.q_joined) < 0);
    CHECK(c.step_of(p, c.k_joined) >= 0);
}

TEST_CASE("optimize keeps what joined heads start from until the last of them is there",
          "[plan][heads][joined]") {
    latent_case c({.tokens = 2});
    const ordering order = optimize(c.g.view());
    REQUIRE(order.state.ok());
    const auto kept = [&](id t) { return kept_until(c.g, order, t); };
    for (const id t : {c.q, c.absorbed, c.kv}) CHECK(kept(t) == c.g.position(c.stored));
}

TEST_CASE("optimize keeps what is only copied, too", "[plan][heads][joined]") {
    latent_case c({.turns = false});
    const ordering order = optimize(c.g.view());
    REQUIRE(order.state.ok());
    const auto keeps = [&](const keep_alive& k) {
        return c.g[k.tensor].view_src == c.absorbed && k.until == c.g.position(c.stored);
    };
    CHECK(std::any_of(order.keep.begin(), order.keep.end(), keeps));
}

TEST_CASE("ggml-cuda joins heads in a launch of its own", "[plan][heads][joined]") {
    latent_case c;
    const graph_view view = c.g.view();
    graph_index index;
    REQUIRE(index.build(view).ok());
    const auto launches = [&](id join) {
        int n = 0;
        for (const head_chain& h : head_finder(index).joined(c.g.position(join)))
            n += ggml_cuda_head_launches(view, h);
        return n;
    };
    CHECK(launches(c.q_joined) == 2);  // ROPE, CONCAT
    CHECK(launches(c.k_joined) == 4);  // the norm, ROPE, CONCAT, SET_ROWS
}

TEST_CASE("ggml-cuda does not store in the launch that turns a first part",
          "[plan][heads][joined]") {
    latent_case c;
    const id turned = c.rope(c.g.other({c.g.input(format::f32, {64, 1, 1})}));
    const id joined = c.join(turned, c.g.other({c.g.input(format::f32, {64, 1, 1})}));
    const id into = c.g.input(format::f16, {128, 64});
    const id set =
        c.g.node(op::set_rows, format::f16, {128, 64}, {c.g.view(joined, {128, 1}), c.rows, into});
    c.g.rename(set, into);
    const graph_view view = c.g.view();
    graph_index index;
    REQUIRE(index.build(view).ok());
    const head_chain front = head_finder(index).joined(c.g.position(joined)).front();
    REQUIRE(front.store == c.g.position(set));
    CHECK(ggml_cuda_head_launches(view, front) == 3);
}

TEST_CASE("the launch of two matrices does not join their results", "[plan][heads][joined]") {
    latent_case c;
    const id x = c.g.other({c.g.input(format::f32, {512})});
    const auto made = [&](std::int64_t heads) { return c.g.matmul(format::q4_K, 64 * heads, x); };
    const id a = made(4), b = made(4);
    const auto turned = [&](id t) { return c.rope(c.g.reshape(t, {64, 4, 1})); };
    const id two[] = {turned(a), turned(b)};
    const id both = c.join(two[0], two[1]);
    c.g.other({both});
    const plan p = c.planned();
    CHECK(c.step_of(p, a) == c.step_of(p, b));
    CHECK(c.step_of(p, a) != c.step_of(p, both));
}

TEST_CASE("the proof finds parts that are not where the CONCAT has them", "[plan][heads][joined]") {
    using put_fault = void (*)(heads_args&);
    const put_fault wrong[] = {
        [](heads_args& a) { a.member[1].f32 += 4; },
        [](heads_args& a) { a.member[1].f32 = nullptr; },
        [](heads_args& a) { a.member[0].f32 = nullptr; },
        [](heads_args& a) { a.member[1].f32_nb1 += 16; },
        [](heads_args& a) { a.member[1].f32_nb2 += 16; },
        [](heads_args& a) { a.member[0].f32 += 64, a.member[1].f32 -= 128; },  // swapped
        [](heads_args& a) { std::swap(a.member[0].f32, a.member[1].f32); },
        [](heads_args& a) { std::swap(a.member[0].x_nb1, a.member[0].x_nb2); },
        [](heads_args& a) { a.member[0].x += 128; },
        [](heads_args& a) { a.member[0].scale = 2; },
        [](heads_args& a) { a.member[0].turned = true; },
        [](heads_args& a) { a.member[1].turned = false; },
        [](heads_args& a) { a.member[3].cache = static_cast<std::byte*>(a.member[3].cache) + 64; },
        [](heads_args& a) { a.member[3].cache = nullptr; },
        [](heads_args& a) { a.member[2].cache = nullptr; },
        [](heads_args& a) { std::swap(a.member[2].cache, a.member[3].cache); },
        [](heads_args& a) { a.member[3].cache_nb *= 2; },
        [](heads_args& a) { a.member[3].cache_rows -= 1; },
        [](heads_args& a) { a.member[3].cache_ids = &a; },
        [](heads_args& a) { a.member[3].ids_of_64_bits = false; },
        [](heads_args& a) { a.member[3].cache_type = format::bf16; },
        [](heads_args& a) { a.members = 3, a.rows -= a.tokens; }};
    for (const put_fault put : wrong) {
        INFO("fault " << &put - wrong);
        latent_case c({.tokens = 2});
        plan p = c.planned();
        plan_faults inside{p};
        put(inside.heads(0));
        CHECK(verify(c.g.view(), p).state.code == status_code::wrong_plan);
    }
}
