// From logits to experts and weights: when that is one launch, when it is not, and why.
#include "faults.hpp"
#include "router.hpp"

#include "random/tables.hpp"

#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <string>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace catena_test {

plan router_case::planned(const options& asked, const engine_model* engine) {
    graph_view view = g.view();
    view.engine = engine;
    plan p = planner(shipped_table(), asked).plan(view);
    CHECK(p.state().message == std::string());
    CHECK(inconsistency(view, p) == "");
    CHECK(difference(view, p) == "");
    const verification found = verify(view, p);
    CHECK(found.state.message == std::string());
    CHECK(found.proved);
    return p;
}

}  // namespace catena_test

namespace {

route_args args_of(const plan& p) {
    REQUIRE(p.steps().size() == 1);
    return p.args(0, nullptr).route;
}
int nodes_of(const plan& p) { return p.steps().size() == 1 ? p.steps()[0].node_count : 0; }

reason why(router_case& c, const engine_model* engine = &node_by_node) {
    const plan p = c.planned({}, engine);
    CHECK(p.steps().size() == 0);
    return left_why(p, c.g.position(c.sort));
}

}  // namespace

TEST_CASE("soft max, sort, and weights that are normalized are one launch", "[plan][routing]") {
    for (const std::int64_t tokens : {1, 4, 512}) {
        router_shape s = of_qwen3;
        s.tokens = tokens;
        router_case c(s);
        const plan p = c.planned();
        const route_args a = args_of(p);
        CHECK(nodes_of(p) == 6);
        CHECK(a.x == c.g[c.logits].data);
        CHECK(a.ids == c.g[c.sort].data);
        CHECK(a.weights == c.g[c.weights].data);
        CHECK(a.experts == 128);
        CHECK(a.tokens == tokens);
        CHECK(a.numbers.score == scoring::soft_max);
        CHECK(a.numbers.normalized);
        CHECK(a.numbers.least == 6.103515625e-5f);
        CHECK(a.numbers.chosen == 8);
        const row_problem& what = p.steps()[0].what.row();
        CHECK(what.k == 128);
        CHECK(what.rows == tokens);
        CHECK(what.slots == 8);
        CHECK(p.left().size() == 0);
    }
}

TEST_CASE("a soft max of the chosen is done with their choice", "[plan][routing]") {
    router_case c(of_gpt_oss);
    const plan p = c.planned();
    CHECK(nodes_of(p) == 3);
    CHECK(args_of(p).numbers.soft_max_chosen);
    CHECK(args_of(p).numbers.score == scoring::none);
}

TEST_CASE("biased choices within the best groups are one launch", "[plan][routing]") {
    for (const std::int64_t tokens : {1, 3}) {
        router_shape s = of_deepseek;
        s.tokens = tokens;
        router_case c(s);
        const plan p = c.planned();
        const route_args a = args_of(p);
        CHECK(nodes_of(p) == 15);
        CHECK(a.bias == c.g[c.bias].data);
        CHECK(a.numbers.score == scoring::sigmoid);
        CHECK(a.numbers.groups == 8);
        CHECK(a.numbers.groups_chosen == 4);
        CHECK(a.numbers.scale == 2.5f);
    }
}

TEST_CASE("groups may have two experts each", "[plan][routing]") {
    router_shape s = of_deepseek;
    s.experts = 32, s.groups = 16;
    router_case c(s);
    CHECK(args_of(c.planned()).numbers.groups == 16);
}

TEST_CASE("each part of a routing may be missing", "[plan][routing]") {
    for (const scoring score :
         {scoring::none, scoring::soft_max, scoring::sigmoid, scoring::sqrt_softplus})
        for (const bool bias : {false, true})
            for (const bool normalized : {false, true})
                for (const float scale : {1.0f, 2.0f}) {
                    router_case c({.tokens = 2,
                                   .score = score,
                                   .bias = bias,
                                   .normalized = normalized,
                                   .clamped = scale == 1,
                                   .scale = scale});
                    const int nodes = 2 + (score != scoring::none) +
                                      (score == scoring::sqrt_softplus) + bias + 2 * normalized +
                                      (normalized && scale == 1) + (scale != 1);
                    CHECK(nodes_of(c.planned()) == nodes);
                }
}

TEST_CASE("a square root of a softplus scores experts", "[plan][routing]") {
    for (const std::int64_t tokens : {1, 4, 8}) {
        router_shape s = of_deepseek_4;
        s.tokens = tokens;
        router_case c(s);
        const plan p = c.planned();
        CHECK(nodes_of(p) == 9);
        CHECK(args_of(p).x == c.g[c.logits].data);
        CHECK(args_of(p).numbers.score == scoring::sqrt_softplus);
        CHECK(p.left().size() == 0);
    }
    router_case other(of_deepseek_4);  // the root of something else is what the launch begins with
    other.g[other.g[other.scores].src[0]].sub = sub_op::tanh;
    const plan p = other.planned();
    CHECK(args_of(p).x == other.g[other.scores].data);
    CHECK(args_of(p).numbers.score == scoring::none);
    router_case shown(of_deepseek_4);  // somebody else reads the softplus
    shown.g.other({shown.g[shown.scores].src[0]});
    CHECK(args_of(shown.planned()).x == shown.g[shown.scores].data);
}

TEST_CASE("experts are sorted by logits or their sigmoids, and weighed by scores",
          "[plan][routing]") {
    for (const router_shape& of : {of_llama_4, of_grove})
        for (const std::int64_t tokens : {1, 4, 8}) {
            router_shape s = of;
            s.tokens = tokens;
            router_case c(s);
            const plan p = c.planned({}, tokens == 4 ? &ggml_cuda : &node_by_node);
            CHECK(nodes_of(p) == (of.choice == choosing::by_logit ? 3 : 7));
            CHECK(args_of(p).x == c.g[c.logits].data);
            CHECK(args_of(p).numbers.score == of.score);
            CHECK(args_of(p).numbers.choice == of.choice);
        }
    router_case other(of_grove);  // choice and scores are of different logits
    other.g[other.choice].src[0] = other.g.input(format::f32, {128, 1});
    CHECK(why(other) == reason::routing_choice);
    router_case bias(of_llama_4);  // no function makes the scores
    bias.g[bias.scores].kind = op::add;
    CHECK(why(bias) == reason::routing_choice);
    router_case shown(of_llama_4);  // no launch would write the scores
    shown.g.other({shown.scores});
    CHECK(why(shown) == reason::routing_read);
    router_case tangent(of_grove);
    tangent.g[tangent.choice].sub = sub_op::tanh;
    CHECK(why(tangent) == reason::routing_choice);
}

TEST_CASE("scores that others read are what the launch begins with", "[plan][routing]") {
    router_case c;
    c.g.other({c.scores});
    const plan p = c.planned();
    CHECK(args_of(p).x == c.g[c.scores].data);
    CHECK(args_of(p).numbers.score == scoring::none);
    CHECK(p.at(c.g.position(c.scores)).role == role::engine);
}

TEST_CASE("weights that others read too are written where their readers begin", "[plan][routing]") {
    router_case c;
    c.g.other({c.rows});  // what was gathered, before it is normalized
    const plan p = c.planned();
    CHECK(args_of(p).weights == c.g[c.rows].data);
    CHECK_FALSE(args_of(p).numbers.normalized);

    router_case outside;
    outside.g.read_outside(outside.rows);
    CHECK(args_of(outside.planned()).weights == outside.g[outside.rows].data);
}

TEST_CASE("what is no normalization of weights, or no soft max, is left to the engine",
          "[plan][routing]") {
    router_case bounded;
    for (const id n : bounded.g.nodes)
        if (bounded.g[n].kind == op::clamp) bounded.g[n].params[1] = 0x3f800000;
    CHECK_FALSE(args_of(bounded.planned()).numbers.normalized);
    router_case scaled;
    scaled.g[scaled.scores].params[0] = 0x3f000000;
    CHECK(args_of(scaled.planned()).x == scaled.g[scaled.scores].data);
}

TEST_CASE("the engine keeps what no row routes, and says why", "[plan][routing]") {
    router_case up;
    up.g[up.sort].params[0] = 0;
    CHECK(why(up) == reason::routing_order);
    router_case whole;
    whole.g[whole.rows].src[1] = whole.g.input(format::i32, {8, 1});
    CHECK(why(whole) == reason::routing_unweighed);
    router_case second;  // the best expert is not chosen
    second.g[second.ids].params[0] = 4;
    second.g.share(second.ids, second.sort, 4);
    CHECK(why(second) == reason::routing_unweighed);
    router_case many({.chosen = 33});
    CHECK(why(many) == reason::too_large);
    router_case more({.experts = 2048});
    CHECK(why(more) == reason::no_row);
    router_case shown({.bias = true});
    shown.g.other({shown.choice});
    CHECK(why(shown) == reason::routing_read);
    router_case other({.bias = true});
    other.g[other.choice].kind = op::mul;
    CHECK(why(other) == reason::routing_choice);
    router_case output({.bias = true});
    output.g[output.choice].flags |= flag_output;
    CHECK(why(output) == reason::routing_read);
}

TEST_CASE("groups whose masked choice somebody outside may read are the engine's",
          "[plan][routing]") {
    for (const op kind : {op::fill, op::set_rows}) {
        router_case c(of_deepseek);
        for (const id n : c.g.nodes)
            if (c.g[n].kind == kind) c.g.read_outside(n);
        CHECK(left_why(c.planned(), c.g.position(c.sort)) == reason::routing_read);
    }
}

TEST_CASE("groups that are limited in another way are the engine's", "[plan][routing]") {
    router_case c(of_deepseek);
    for (const id n : c.g.nodes)
        if (c.g[n].kind == op::fill) c.g[n].params[0] = 0;
    const plan p = c.planned();
    CHECK(left_why(p, c.g.position(c.sort)) == reason::routing_groups);
    router_shape three = of_deepseek;
    three.best = 3;
    router_case best(three);
    CHECK(left_why(best.planned(), best.g.position(best.sort)) == reason::routing_groups);
}

TEST_CASE("ggml-cuda keeps the routing that it fuses", "[plan][routing]") {
    router_case qwen;
    CHECK(why(qwen, &ggml_cuda) == reason::one_launch);
    router_case oss(of_gpt_oss);
    CHECK(why(oss, &ggml_cuda) == reason::one_launch);
    router_case sigmoid({.experts = 288, .score = scoring::sigmoid, .bias = true, .scale = 2});
    CHECK(why(sigmoid, &ggml_cuda) == reason::one_launch);
    router_case softplus(of_deepseek_4);
    CHECK(why(softplus, &ggml_cuda) == reason::one_launch);
}

TEST_CASE("ggml-cuda gives away the routing that it does not fuse", "[plan][routing]") {
    const auto taken = [](router_case& c) {
        return c.planned({}, &ggml_cuda).at(c.g.position(c.sort)).step == 0;
    };
    router_case odd({.experts = 60, .chosen = 4});
    CHECK(taken(odd));
    router_case grouped(of_deepseek);
    CHECK(taken(grouped));
    router_case unclamped({.clamped = false});
    CHECK(taken(unclamped));
    router_case apart;  // another node stands between
    const id node = apart.g.other({apart.logits});
    std::rotate(apart.g.nodes.begin() + apart.g.position(apart.sort), apart.g.nodes.end() - 1,
                apart.g.nodes.end());
    CHECK(apart.g.position(node) < apart.g.position(apart.sort));
    CHECK(taken(apart));
    router_case over(of_gpt_oss);  // the weights lie over the logits, under another name
    over.g.share(over.weights, over.logits);
    over.g.share(over.g[over.weights].src[0], over.logits);
    CHECK(taken(over));
}

TEST_CASE("one token may be routed where its logits lie, several may not", "[plan][routing]") {
    for (const std::int64_t tokens : {1, 4}) {
        router_shape s = of_qwen3;
        s.tokens = tokens;
        router_case c(s);
        const id quotient = c.g[c.weights].src[0];
        c.g.share(quotient, c.logits);
        c.g.share(c.weights, c.logits);
        const plan p = c.planned();
        CHECK(p.steps().size() == (tokens == 1 ? 1 : 0));
    }
}

TEST_CASE("the proof lets one token alone be routed where its logits lie", "[plan][routing]") {
    for (const std::int64_t tokens : {1, 4}) {
        router_shape s = of_qwen3;
        s.tokens = tokens;
        router_case c(s);
        plan p = c.planned();  // before the weights lie there
        c.g.share(c.g[c.weights].src[0], c.logits);
        c.g.share(c.weights, c.logits);
        plan_faults{p}.route(0).weights = static_cast<float*>(c.g[c.weights].data);
        graph_view view = c.g.view();
        view.engine = &node_by_node;
        const std::string found = verify(view, p).state.message;
        CHECK((found.find("is written over by the same launch") != found.npos) == (tokens > 1));
        CHECK(found.empty() == (tokens == 1));
    }
}

TEST_CASE("optimize keeps logits until their tokens are routed", "[plan][routing]") {
    router_case c(of_deepseek);
    const ordering order = optimize(c.g.view());
    REQUIRE(order.state.ok());
    const auto kept = [&](id t) {
        std::int32_t until = -1;
        for (const keep_alive& k : order.keep)
            if (k.tensor == t) until = std::max(until, k.until);
        return until;
    };
    CHECK(kept(c.logits) == c.g.position(c.weights));
    CHECK(kept(c.scores) == c.g.position(c.weights));
}

TEST_CASE("a chain that is switched off leaves routing to the engine", "[plan][routing]") {
    router_case c;
    options asked;
    asked.chains_off = "routing";
    CHECK(c.planned(asked).steps().size() == 0);
}

TEST_CASE("the proof finds every wrong routing", "[plan][routing]") {
    const std::pair<const char*, void (*)(route_args&)> faults[] = {
        {"other logits", [](route_args& a) { a.x += 4; }},
        {"another bias", [](route_args& a) { a.bias += 4; }},
        {"no bias", [](route_args& a) { a.bias = nullptr; }},
        {"logits at other distances", [](route_args& a) { a.x_nb += 16; }},
        {"experts elsewhere", [](route_args& a) { a.ids += 4; }},
        {"experts at other distances", [](route_args& a) { a.ids_nb += 16; }},
        {"weights elsewhere", [](route_args& a) { a.weights += 4; }},
        {"weights at other distances", [](route_args& a) { a.weights_nb += 16; }},
        {"an expert less", [](route_args& a) { --a.experts; }},
        {"fewer experts", [](route_args& a) { a.experts /= 2; }},
        {"a token less", [](route_args& a) { --a.tokens; }},
        {"an expert more for each token", [](route_args& a) { ++a.numbers.chosen; }},
        {"more experts than lanes", [](route_args& a) { a.numbers.chosen = 40; }},
        {"another score", [](route_args& a) { a.numbers.score = scoring::soft_max; }},
        {"no score", [](route_args& a) { a.numbers.score = scoring::none; }},
        {"a root", [](route_args& a) { a.numbers.score = scoring::sqrt_softplus; }},
        {"a choice by logits", [](route_args& a) { a.numbers.choice = choosing::by_logit; }},
        {"a soft max of the chosen", [](route_args& a) { a.numbers.soft_max_chosen = true; }},
        {"weights that are not normalized", [](route_args& a) { a.numbers.normalized = false; }},
        {"another least sum", [](route_args& a) { a.numbers.least *= 2; }},
        {"another scale", [](route_args& a) { a.numbers.scale *= 2; }},
        {"other groups", [](route_args& a) { a.numbers.groups = 4; }},
        {"groups that do not divide the experts", [](route_args& a) { a.numbers.groups = 7; }},
        {"more groups than lanes", [](route_args& a) { a.numbers.groups = 64; }},
        {"more of the groups", [](route_args& a) { ++a.numbers.groups_chosen; }},
        {"no groups", [](route_args& a) { a.numbers.groups = a.numbers.groups_chosen = 1; }},
    };
    router_shape s = of_deepseek;
    s.tokens = 2;
    router_case c(s);
    for (const auto& [what, put] : faults) {
        INFO(what);
        plan p = c.planned();
        put(plan_faults{p}.route(0));
        graph_view view = c.g.view();
        view.engine = &node_by_node;
        CHECK(verify(view, p).state.code == status_code::wrong_plan);
    }
}

TEST_CASE("the proof knows what experts are sorted by, and what scores them", "[plan][routing]") {
    const auto proved = [](router_case& c, void (*put)(routing_numbers&)) {
        plan p = c.planned();
        put(plan_faults{p}.route(0).numbers);
        graph_view view = c.g.view();
        view.engine = &node_by_node;
        return verify(view, p).state.code != status_code::wrong_plan;
    };
    const auto by_score = [](routing_numbers& n) { n.choice = choosing::by_score; };
    const auto by_logit = [](routing_numbers& n) { n.choice = choosing::by_logit; };
    const auto by_sigmoid = [](routing_numbers& n) { n.choice = choosing::by_sigmoid; };
    router_case grove(of_grove), llama(of_llama_4), deepseek(of_deepseek_4);
    CHECK(proved(grove, by_sigmoid));
    CHECK_FALSE(proved(grove, by_score));
    CHECK_FALSE(proved(grove, by_logit));
    CHECK(proved(llama, by_logit));
    CHECK_FALSE(proved(llama, by_score));
    CHECK_FALSE(proved(llama, by_sigmoid));
    CHECK_FALSE(proved(deepseek, [](routing_numbers& n) { n.score = scoring::sigmoid; }));
    CHECK_FALSE(proved(deepseek, [](routing_numbers& n) { n.score = scoring::none; }));
}
