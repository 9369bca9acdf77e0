// What the proof says of launches that attend.
#include "attention_case.hpp"
#include "faults.hpp"

#include "catena/plan/verify.hpp"

#include <map>
#include <string>

using namespace catena;
using namespace catena_test;

namespace {

/// A plan whose attention is a step, and the number of the step.
struct attending_plan {
    plan made;
    std::size_t step = 0;

    explicit attending_plan(attention_case& c) : made(c.planned()) {
        REQUIRE(c.step(made) >= 0);
        step = static_cast<std::size_t>(c.step(made));
        REQUIRE(c.args(made).attended.positions == c.is.positions);
    }
};

/// What the proof says of a plan once its graph, and the arguments of its attention, are others.
template <class F>
std::string said(attention_case c, F change) {
    attending_plan p(c);
    change(c, plan_faults{p.made}.heads(p.step));
    return verify(c.g.view(), p.made).state.message;
}

}  // namespace

TEST_CASE("attention with its heads is proved right", "[plan][attention]") {
    for (const std::int64_t tokens : {1, 3})
        for (const std::int64_t first_row : {0, 64})
            for (const bool all : {false, true}) {
                CAPTURE(tokens, first_row, all);
                const attention_shape is{.tokens = tokens,
                                         .first_row = first_row,
                                         .cache_rows = all ? 256 + first_row : 512,
                                         .mask = all || tokens > 1,
                                         .sinks = all,
                                         .scale = all ? 0.5f : 1};
                attention_case c(is);
                const attending_plan p(c);  // which is proved
                CHECK(c.args(p.made).attended.first_row == first_row);
            }
}

TEST_CASE("the proof finds faults of launches that attend", "[plan][attention]") {
    std::map<std::string, int> put;
    for (const attention_shape& is :
         {attention_shape{.first_row = 64},
          attention_shape{.tokens = 2, .first_row = 64, .cache_rows = 321, .sinks = true},
          attention_shape{.tokens = 3, .norms = false, .mask = false},
          attention_shape{.heads = 4, .key_heads = 4, .positions = 1024, .cache_rows = 1024},
          attention_shape{.tokens = 2, .matrix = format::q4_K},
          attention_shape{.tokens = 2, .matrix = format::q4_K, .read_besides = true}}) {
        attention_case c(is);
        const attending_plan p(c);
        for (const fault& f : faults_of_attention()) {
            CAPTURE(f.name, is.tokens, is.heads);
            plan broken = p.made;
            plan_faults inside{broken};
            if (!f.put(inside, p.step)) continue;
            ++put[f.name];
            CHECK_FALSE(verify(c.g.view(), broken).state.ok());
        }
    }
    for (const fault& f : faults_of_attention()) {
        CAPTURE(f.name);
        CHECK(put[f.name] > 0);
    }
}

TEST_CASE("the proof holds attention against the op as it is", "[plan][attention]") {
    const auto broken = [](const auto& change) {
        return said(attention_case({.tokens = 2, .sinks = true}), [&](attention_case& c,
                                                                      heads_args&) {
                   change(c, c.g[c.attention]);
               }).find("is not the value of that node") != std::string::npos;
    };
    using self = attention_case;
    CHECK_FALSE(broken([](self&, tensor&) {}));
    for (const int number : {0, 1, 2})  // the scale, biases by distance, the soft cap
        CHECK(broken([=](self&, tensor& t) {
            const float other = 0.25f;
            std::memcpy(t.params + number, &other, sizeof other);
        }));
    CHECK(broken([](self&, tensor& t) { std::swap(t.src[1], t.src[2]); }));
    CHECK(broken([](self&, tensor& t) { t.src[3] = no_tensor; }));
    CHECK(broken([](self&, tensor& t) { t.src[4] = no_tensor; }));
    CHECK(broken([](self& c, tensor&) { c.g[c.mask].ne[0] = 512; }));
    CHECK(broken([](self& c, tensor&) { c.g[c.mask].ne[2] = 2, c.g[c.mask].nb[2] = 0; }));
    CHECK(broken([](self& c, tensor&) { c.g[c.mask].nb[1] *= 2; }));
    CHECK(broken([](self& c, tensor&) { c.g[c.mask].type = format::bf16; }));
    CHECK(broken([](self& c, tensor&) { c.g[c.sinks].ne[0] = 4; }));
    for (const id self::*heads : {&self::read_keys, &self::read_values}) {
        CHECK(broken([=](self& c, tensor&) { c.g[c.*heads].type = format::bf16; }));
        CHECK(broken([=](self& c, tensor&) { c.g[c.*heads].ne[1] = 128; }));
        CHECK(broken([=](self& c, tensor&) { c.g[c.*heads].nb[1] *= 2; }));
        CHECK(
            broken([=](self& c, tensor&) { std::swap(c.g[c.*heads].nb[1], c.g[c.*heads].nb[2]); }));
    }
    CHECK(broken([](self& c, tensor&) { c.g[c.queries].nb[2] = 0; }));
    CHECK(broken([](self& c, tensor& t) { t.src[0] = c.turned_q; }));
}

TEST_CASE("the proof lets attention be written over nothing that a block reads",
          "[plan][attention]") {
    const auto over = [](id attention_case::*operand) {
        return said(attention_case{}, [=](attention_case& c, heads_args& a) {
            for (const id t : {c.attention, c.g[c.reader].src[0]}) c.g.share(t, c.*operand);
            a.member[0].f32 = static_cast<float*>(c.g[c.attention].data);
        });
    };
    for (id attention_case::*operand : {&attention_case::q, &attention_case::k, &attention_case::v,
                                        &attention_case::mask, &attention_case::places})
        CHECK_THAT(over(operand), Catch::Contains("is written over by the same launch"));
}

TEST_CASE("the proof lets no attention read rows that lie over each other, or behind a cache",
          "[plan][attention]") {
    CHECK_THAT(said(attention_case{},
                    [](attention_case&, heads_args& a) {
                        for (int i : {1, 2}) a.member[i].cache_nb /= 2;
                    }),
               Catch::Contains("rows of a cache lie over each other"));
    CHECK_THAT(said(attention_case({.first_row = 64, .cache_rows = 320}),
                    [](attention_case&, heads_args& a) { ++a.attended.first_row; }),
               Catch::Contains("positions are not all in the cache"));
    CHECK_THAT(
        said(attention_case{}, [](attention_case&, heads_args& a) { a.attended.first_row = -1; }),
        Catch::Contains("positions are not all in the cache"));
}

TEST_CASE("the proof lets no block attend with more queries or scores than it has room for",
          "[plan][attention]") {
    const auto said_of = [](const auto& change) {
        return said(attention_case{}, [&](attention_case&, heads_args& a) { change(a); });
    };
    CHECK_THAT(said_of([](heads_args& a) { a.tokens = 9; }),
               Catch::Contains("queries of a head of keys are more than its kernel can do"));
    CHECK_THAT(said_of([](heads_args& a) {
                   a.attended.positions = a.member[1].cache_rows = a.member[2].cache_rows = 1 << 20;
               }),
               Catch::Contains("scores of a block are more than its kernel can do"));
    CHECK_THAT(said_of([](heads_args& a) { a.member[0].heads = 7; }),
               Catch::Contains("heads of keys have not equally many queries"));
    CHECK_THAT(said_of([](heads_args& a) { a.member[0].heads = 0; }),
               Catch::Contains("queries of a head of keys are not there"));
    CHECK_THAT(said_of([](heads_args& a) {
                   for (int i = 0; i < 3; ++i) a.member[i].k -= 4;
               }),
               Catch::Contains("elements of a head are no multiple of what its kernel takes"));
}

TEST_CASE("the proof wants whole blocks of what is quantized", "[plan][attention]") {
    CHECK_THAT(said(attention_case({.tokens = 2, .matrix = format::q4_K}),
                    [](attention_case&, heads_args& a) {
                        for (int i = 0; i < 3; ++i) a.member[i].k -= 8;
                        a.turn.dims -= 8;
                    }),
               Catch::Contains("elements of a head are no multiple of what its kernel takes"));
}

TEST_CASE("the proof wants each cluster to have queries of a head of keys", "[plan][attention]") {
    attention_case c({.tokens = 3, .heads = 16});  // 24 queries, by two clusters of 12
    attending_plan p(c);
    launch_config& config = plan_faults{p.made}.at(p.step).config;
    const std::uint32_t of_one = 2 * config.cluster;
    REQUIRE(config.blocks == 2 * of_one);
    const auto said_with = [&](std::uint32_t blocks) -> std::string {
        config.blocks = blocks;
        return verify(c.g.view(), p.made).state.message;
    };
    CHECK(said_with(of_one) != "");  // without the room for so many
    CHECK(said_with(2 * of_one) == "");
    CHECK(said_with(3 * of_one) == "");
    CHECK(said_with(6 * of_one) == "");
    CHECK_THAT(said_with(4 * of_one),
               Catch::Contains("queries of a head of keys, of all clusters leave one without"));
    CHECK_THAT(said_with(7 * of_one),
               Catch::Contains("queries of a head of keys, of all clusters leave one without"));
    CHECK_THAT(said_with(2 * of_one + config.cluster),
               Catch::Contains("its blocks do not have all heads"));
    CHECK_THAT(said_with(config.cluster), Catch::Contains("its blocks do not have all heads"));
}

TEST_CASE("the proof wants weights of norms in front of attention that nobody writes",
          "[plan][attention]") {
    CHECK_THAT(said(attention_case{},
                    [](attention_case& c, heads_args&) { c.g[c.query_weight].weight = false; }),
               Catch::Contains("the weight of heads is read early, and is no constant"));
}
