// Attention of few tokens: when it is one launch with its heads, when it is not, and why.
#include "attention_case.hpp"
#include "faults.hpp"

#include "catena/match/ggml_cuda.hpp"
#include "catena/plan/optimize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace catena;
using namespace catena_test;

namespace {

/// Nothing is planned at the attention of a case that was changed; why?
template <class F>
reason left(attention_case c, F change) {
    change(c);
    const plan p = c.planned();
    CHECK(c.step(p) < 0);
    return left_why(p, c.g.position(c.attention));
}
template <class F>
reason left(F change) {
    return left(attention_case{}, change);
}

using self = attention_case;

/// As far away from all other tensors as to share no memory with them.
constexpr std::int64_t far_away = std::int64_t{1} << 30;

/// Moves tensors that begin at one place.
void move_all(attention_case& c, std::initializer_list<id> all, std::int64_t bytes) {
    for (const id t : all) c.g.share(t, t, bytes);
}

/// Lets a tensor, with all that names it, be a part of `whole`.
void let_view(attention_case& c, id t, id whole, std::int64_t offset) {
    c.g[t].kind = op::view, c.g[t].src[0] = whole;
    c.g[t].params[0] = static_cast<std::int32_t>(offset);
    for (id name = 0; name < static_cast<id>(c.g.tensors.size()); ++name) {
        if (name != t && c.g[name].view_src != t) continue;
        c.g.rename(name, whole);
        c.g.share(name, whole, offset);
    }
}

/// A matrix that reads the activation `x`, as the first node of a graph.
id matrix(attention_case& c, format weights, std::int64_t rows, id x) {
    const id made = c.g.matmul(weights, rows, x);
    c.g.nodes.pop_back();
    c.g.nodes.insert(c.g.nodes.begin(), made);
    return made;
}
/// What makes queries, keys and values.
enum class maker { other, matrices, biased_matrices, one_matrix };

/// A case whose queries, keys and values have such makers.
attention_case made_by(maker by, const attention_shape& is, format weights = format::q4_K) {
    attention_case c(is);
    if (by == maker::other) return c;
    const id x = c.g.input(format::f32, {512, is.tokens});
    const std::int64_t rows = is.k * (is.heads + 2 * is.key_heads);
    const id all = by == maker::one_matrix ? matrix(c, weights, rows, x) : no_tensor;
    std::int64_t offset = 0;
    for (const id t : {c.q, c.k, c.v}) {
        const std::int64_t own = c.g[t].ne[0];
        if (by == maker::one_matrix) {
            let_view(c, t, all, offset);
            offset += 4 * own;
        } else if (by == maker::biased_matrices) {
            const id made = matrix(c, weights, own, x), bias = c.g.weight(format::f32, {own});
            c.g[t].kind = op::add, c.g[t].src[0] = made, c.g[t].src[1] = bias;
        } else {
            const id weight = c.g.weight(weights, {512, own});
            c.g[t].kind = op::mul_mat, c.g[t].src[0] = weight, c.g[t].src[1] = x;
        }
    }
    return c;
}

}  // namespace

TEST_CASE("queries, keys and values are one launch with their attention", "[plan][attention]") {
    for (const std::int64_t tokens : {1, 4, 8}) {
        CAPTURE(tokens);
        attention_case c({.tokens = tokens,
                          .heads = tokens == 8 ? 4 : 8,
                          .first_row = 64,
                          .sinks = true,
                          .scale = 0.5f});
        const plan p = c.planned();
        REQUIRE(covers(c, p, {c.turned_q, c.turned_k, c.key_set, c.value_set, c.attention}));
        CHECK(p.steps()[static_cast<std::size_t>(c.step(p))].launch_at ==
              c.g.position(c.attention));
        const heads_args a = c.args(p);
        REQUIRE(a.members == 3);
        CHECK(a.tokens == tokens);
        CHECK(a.positions == c.g[c.places].data);
        CHECK(a.attended.positions == 256);
        CHECK(a.attended.first_row == 64);
        CHECK(a.attended.mask == c.g[c.mask].data);
        CHECK(a.attended.mask_nb == c.g[c.mask].nb[1]);
        CHECK(a.attended.sinks == c.g[c.sinks].data);
        CHECK(a.attended.scale == 0.125f);
        const head_member &queries = a.member[0], &keys = a.member[1], &values = a.member[2];
        CHECK(queries.x == c.g[c.q].data);
        CHECK(queries.f32 == c.g[c.attention].data);
        CHECK(queries.f32_nb1 == c.g[c.attention].nb[1]);
        CHECK(queries.f32_nb2 == c.g[c.attention].nb[2]);
        CHECK(queries.scale == 0.5f);
        CHECK(queries.cache == nullptr);
        for (const head_member* m : {&queries, &keys}) CHECK((m->normed && m->turned));
        CHECK_FALSE((values.normed || values.turned));
        CHECK(keys.cache == c.g[c.keys].data);
        CHECK(values.cache == c.g[c.values].data);
        CHECK(keys.cache_ids == c.g[c.key_rows].data);
        CHECK(values.cache_ids == c.g[c.value_rows].data);
        for (const head_member* m : {&keys, &values}) {
            CHECK((m->k == 128 && m->heads == 2 && m->cache_rows == 512));
            CHECK(m->f32 == nullptr);
        }
    }
}

TEST_CASE("attention goes without norms, masks and sinks", "[plan][attention]") {
    attention_case c({.norms = false, .mask = false});
    const plan p = c.planned();
    REQUIRE(covers(c, p, {c.turned_q, c.value_set, c.attention}));
    const heads_args a = c.args(p);
    CHECK(a.attended.mask == nullptr);
    CHECK(a.attended.sinks == nullptr);
    CHECK_FALSE(a.member[0].normed);
}

TEST_CASE("attention reads its operands by names that permute them", "[plan][attention]") {
    attention_case c;
    for (const id t : {c.queries, c.read_keys, c.read_values}) c.g[t].kind = op::permute;
    CHECK(covers(c, c.planned(), {c.turned_q, c.turned_k, c.value_set, c.attention}));
}

TEST_CASE("values are cut into heads as long as those of the cache", "[plan][attention]") {
    for (const std::int64_t k : {64, 192, 256}) {
        attention_case c({.k = k});
        const plan p = c.planned();
        REQUIRE(covers(c, p, {c.value_set, c.attention}));
        const head_member& values = c.args(p).member[2];
        CHECK((values.k == k && values.heads == 2 && values.x_nb1 == 4 * k));
        CHECK(c.args(p).rows == (8 + 2 + 2));
    }
}

TEST_CASE("attention that no row computes stays with the engine", "[plan][attention]") {
    CHECK(left(attention_case({.tokens = 9}), [](self&) {}) == reason::attention_tokens);
    const auto number = [](int word, float n) {
        return left([=](self& c) { std::memcpy(c.g[c.attention].params + word, &n, sizeof n); });
    };
    CHECK(number(0, std::numeric_limits<float>::infinity()) == reason::attention_shape);
    CHECK(number(1, 8) == reason::attention_shape);   // biases by distance
    CHECK(number(2, 50) == reason::attention_shape);  // a soft cap
    const reason shape = reason::attention_shape;
    CHECK(left([](self& c) { c.g[c.mask].type = format::f32; }) == shape);
    CHECK(left([](self& c) { c.g[c.mask].ne[0] = 128; }) == shape);
    CHECK(left([](self& c) { c.g[c.mask].ne[2] = 2; }) == shape);
    CHECK(left(attention_case({.tokens = 2}), [](self& c) { c.g[c.mask].ne[1] = 1; }) == shape);
    CHECK(left(attention_case({.sinks = true}), [](self& c) { c.g[c.sinks].ne[0] = 4; }) == shape);
    for (const id self::*heads : {&self::read_keys, &self::read_values}) {
        CHECK(left([=](self& c) { c.g[c.*heads].type = format::bf16; }) == shape);
        CHECK(left([=](self& c) { c.g[c.*heads].ne[1] = 128; }) == shape);
    }
    CHECK(left(attention_case({.heads = 6, .key_heads = 4}), [](self&) {}) == shape);
    CHECK(left(attention_case({.k = 36, .key_heads = 8}), [](self&) {}) == reason::no_row);
    const attention_shape longest{.positions = 16384, .cache_rows = 16384};
    CHECK(left(attention_case(longest), [](self&) {}) == reason::no_row);
}

TEST_CASE("others may not read heads on their way to attention", "[plan][attention]") {
    const reason heads = reason::attention_heads;
    for (const id self::*of : {&self::turned_q, &self::turned_k}) {
        CHECK(left([=](self& c) { c.g.other({c.*of}); }) == heads);
        CHECK(left([=](self& c) { c.g[c.*of].flags |= flag_output; }) == heads);
    }
    CHECK(left(attention_case({.turns = false}), [](self&) {}) == heads);
    CHECK(left(attention_case({.tokens = 2, .heads = 2}),
               [](self& c) { std::swap(c.g[c.queries].nb[1], c.g[c.queries].nb[2]); }) == heads);
}

TEST_CASE("heads on their way to attention are normed alone, turned alike and scaled",
          "[plan][attention]") {
    const reason heads = reason::attention_heads;
    CHECK(left(attention_case({.query_token_norms = true}), [](self&) {}) == heads);
    CHECK(left(attention_case({.key_token_norms = true}), [](self&) {}) == heads);
    const auto number = [](self& c, id t, int word, float n) {
        std::memcpy(c.g[t].params + word, &n, sizeof n);
    };
    CHECK(left([=](self& c) { number(c, c.turned_k, 5, 500); }) == heads);
    CHECK(left(attention_case({.scale = 0.5f}), [=](self& c) { number(c, c.turned_q, 1, 3); }) ==
          heads);  // and added to
}

TEST_CASE("heads that are stored are those that attention reads", "[plan][attention]") {
    const reason heads = reason::attention_heads;
    CHECK(left([](self& c) {
              for (const id t : {c.read_keys, c.read_values}) c.g[t].ne[2] = 1;
          }) == heads);
    CHECK(left(attention_case({.norms = false}), [](self& c) {
              for (const id t : {c.g[c.turned_k].src[0], c.turned_k})
                  c.g[t].ne[0] = 64, c.g[t].ne[1] = 4, c.g[t].nb[1] = 4 * 64;
              for (const id t : {c.turned_q, c.turned_k}) c.g[t].params[1] = 64;
          }) == heads);
    CHECK(left(attention_case({.tokens = 2}), [](self& c) {  // values of one of them
              for (const id t : {c.v, c.g[c.v].src[0], c.g[c.value_set].src[0]}) c.g[t].ne[1] = 1;
              c.g[c.value_rows].ne[0] = 1;
          }) == heads);
}

TEST_CASE("keys and values are rows of their caches, from one row on", "[plan][attention]") {
    const reason cache = reason::attention_cache;
    for (const id self::*heads : {&self::read_keys, &self::read_values}) {
        CHECK(left([=](self& c) { c.g[c.*heads].nb[1] *= 2; }) == cache);
        CHECK(left([=](self& c) { c.g[c.*heads].nb[2] *= 2; }) == cache);
    }
    CHECK(left([](self& c) {
              tensor& values = c.g[c.read_values];
              const std::int64_t row = values.nb[1];
              std::memcpy(values.params, &row, sizeof row);
              values.offset += static_cast<std::uint64_t>(row);
              values.data = static_cast<std::byte*>(values.data) + row;
          }) == cache);
    CHECK(left([](self& c) {  // from the middle of a row on
              c.g[c.read_keys].params[0] = 2 * 128;
              move_all(c, {c.read_keys}, 2 * 128);
          }) == cache);
}

TEST_CASE("attention reads rows of the part of a cache that is stored to", "[plan][attention]") {
    const auto from = [](std::int64_t row) {
        return attention_case({.first_row = row, .cache_rows = 512, .rows_around = 64});
    };
    for (const std::int64_t row : {64, 320}) {
        attention_case c = from(row);
        const plan p = c.planned();
        REQUIRE(covers(c, p, {c.turned_q, c.turned_k, c.value_set, c.attention}));
        const heads_args a = c.args(p);
        CHECK(a.attended.first_row == row - 64);
        CHECK(a.member[1].cache == c.g[c.key_set].data);
        CHECK(a.member[1].cache_rows == 512);
    }
    for (const std::int64_t row : {63, 321})
        CHECK(left(from(row), [](self&) {}) == reason::attention_cache);
}

TEST_CASE("attention is read and written 16 bytes at a time", "[plan][attention]") {
    for (const std::int64_t bytes : {0, 8}) {
        const auto at = [=](attention_case c, std::initializer_list<id> all) {
            move_all(c, all, far_away + bytes);
            return left_why(c.planned(), c.g.position(c.attention));
        };
        const attention_case c;
        const reason why = bytes == 0 ? reason::none : reason::no_row;
        CHECK(at(c, {c.attention, c.g.tensors[static_cast<std::size_t>(c.reader)].src[0]}) == why);
        CHECK(at(c, {c.keys, c.key_set, c.read_keys}) == why);
        CHECK(at(c, {c.values, c.value_set, c.read_values}) == why);
    }
}

TEST_CASE("stores name the cache that attention reads", "[plan][attention]") {
    CHECK(left([](self& c) { c.g[c.key_set].src[2] = no_tensor; }) == reason::attention_cache);
}

TEST_CASE("nobody else writes or reads a cache between its stores and attention",
          "[plan][attention]") {
    const auto between = [](auto add) {
        attention_case c;
        add(c);
        const id extra = c.g.nodes.back();
        c.g.nodes.pop_back();
        c.g.nodes.insert(c.g.nodes.begin() + c.g.position(c.attention), extra);
        return left_why(c.planned(), c.g.position(c.attention));
    };
    CHECK(between([](self& c) { c.g.other({c.q}); }) == reason::none);
    CHECK(between([](self& c) { c.g.other({c.keys}); }) == reason::overlap);
    CHECK(between([](self& c) { c.g.other({c.read_values}); }) == reason::overlap);
}

TEST_CASE("attention is no launch where its result lies over what another block reads",
          "[plan][attention]") {
    for (const id self::*of : {&self::q, &self::k, &self::v})
        CHECK(left([=](self& c) {
                  for (const id t : {c.attention, c.g[c.reader].src[0]}) c.g.share(t, c.*of);
              }) == reason::overlap);
}

TEST_CASE("heads are one launch where their attention is none", "[plan][attention]") {
    attention_case c;
    const float cap = 50;
    std::memcpy(c.g[c.attention].params + 2, &cap, sizeof cap);
    const plan p = c.planned();
    const std::int32_t heads = p.at(c.g.position(c.turned_q)).step;
    CHECK(heads >= 0);
    for (const id t : {c.turned_k, c.key_set, c.value_set})
        CHECK(p.at(c.g.position(t)).step == heads);
}

TEST_CASE("attention that should take longer than the engine's is the engine's",
          "[plan][attention]") {
    for (const attention_shape& is :
         {attention_shape{.heads = 128},
          attention_shape{
              .tokens = 8, .heads = 128, .key_heads = 16, .positions = 1024, .cache_rows = 1024}}) {
        CAPTURE(is.tokens);
        CHECK(left(attention_case(is), [](self&) {}) == reason::attention_slower);
        attention_case c(is);
        engine_model unknown = ggml_cuda;
        (is.tokens == 1 ? unknown.attention_us : unknown.attention_of_few_us) = 0;
        graph_view view = c.g.view();
        view.engine = &unknown;
        const plan p = planner{shipped_table()}.plan(view);
        CHECK(p.at(c.g.position(c.attention)).step >= 0);
    }
}

TEST_CASE("the launch of heads counts for attention where their matrices do not turn them",
          "[plan][attention]") {
    const attention_shape plain{.norms = false}, normed{}, two{.tokens = 2, .norms = false};
    const double apart = needed_us(made_by(maker::other, plain));
    const double turned = needed_us(made_by(maker::matrices, plain));
    CHECK(turned > apart + 1);
    const auto near = [](double a, double b) { return std::abs(a - b) < 0.1; };
    CHECK(near(needed_us(made_by(maker::biased_matrices, plain)), turned));
    CHECK(near(needed_us(made_by(maker::one_matrix, plain)), apart));
    CHECK(near(needed_us(made_by(maker::matrices, plain, format::q5_K)), apart));
    for (const attention_shape& is : {normed, two})
        CHECK(near(needed_us(made_by(maker::matrices, is)), needed_us(made_by(maker::other, is))));
}

TEST_CASE("optimize keeps what attention reads with its heads until it is done, of a prompt, too",
          "[plan][attention]") {
    for (const std::int64_t tokens : {1, 512}) {
        attention_case c({.tokens = tokens});
        c.g.deallocate();
        const ordering found = optimize(c.g.view());
        REQUIRE(found.state.ok());
        for (const id t : {c.q, c.k, c.v, c.places, c.key_rows, c.value_rows}) {
            CAPTURE(tokens, t);
            CHECK(kept_until(c.g, found, t) >= c.g.position(c.attention));
        }
    }
}

TEST_CASE("attention whose bits must not depend on the number of tokens is the engine's",
          "[plan][attention]") {
    attention_case c;
    options asked;
    asked.pick.same_bits = true;
    const plan p = c.planned(asked);
    CHECK(left_why(p, c.g.position(c.attention)) == reason::attention_same_bits);
}

TEST_CASE("a chain that is switched off leaves attention to the engine", "[plan][attention]") {
    attention_case c;
    options asked;
    asked.chains_off = "attended_heads";
    CHECK(c.step(c.planned(asked)) < 0);
}
