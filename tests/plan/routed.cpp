// Experts whose launch sends its tokens to them: when that is one launch, when it is not, and why.
#include "faults.hpp"
#include "router.hpp"

#include "random/tables.hpp"

#include "catena/pick/measured.hpp"
#include "catena/plan/explain_text.hpp"
#include "catena/plan/optimize.hpp"
#include "catena/plan/verify.hpp"

#include <algorithm>
#include <string>
#include <utility>

using namespace catena;
using namespace catena_test;

namespace {

/// A router, the gated experts that it picks, and who reads these and their weights.
struct routed_layer : router_case {
    format type;
    id x, gate, up, glu, down;

    explicit routed_layer(const router_shape& s = {}, format f = format::q4_K, bool merged = false)
        : router_case(s), type(f) {
        g.nodes.pop_back();  // who reads experts and weights before matrices do
        const auto of_router = static_cast<std::ptrdiff_t>(g.nodes.size());
        x = g.reshape(g.scaled_norm(g.other({g.input(format::f32, {1024, is.tokens})})),
                      {1024, 1, is.tokens});
        std::rotate(g.nodes.begin(), g.nodes.begin() + of_router, g.nodes.end());
        gate = of_experts(merged ? 512 : 256, x), up = merged ? gate : of_experts(256, x);
        glu = merged ? g.glu_of_views(gate) : g.glu(gate, up);
        down = of_experts(512, glu);
        g.other({down, weights});
    }
    id of_experts(std::int64_t rows, id of) {
        return g.mul_mat_id(g.weight(type, {g[of].ne[0], rows, is.experts}), of, ids);
    }

    plan by_engine(const engine_model* engine = &ggml_cuda, const options& asked = {}) {
        return planned(asked, engine);
    }
    std::int32_t launch(const plan& p) { return p.at(g.position(gate)).step; }
    bool routed(const plan& p) {
        const std::int32_t s = launch(p);
        return s >= 0 && p.at(g.position(sort)).step == s;
    }
    route_args args(const plan& p) { return p.args(launch(p), nullptr).matvec.routing; }
};

bool routing_proved(routed_layer& c, const plan& p) {
    graph_view view = c.g.view();
    view.engine = &ggml_cuda;
    return verify(view, p).state.ok();
}

reason why_routing_apart(routed_layer& c, const options& asked = {}) {
    const plan p = c.by_engine(&ggml_cuda, asked);
    CHECK_FALSE(c.routed(p));
    return left_why(p, c.g.position(c.sort));
}

}  // namespace

TEST_CASE("experts find themselves in the launch that multiplies with them", "[plan][routing]") {
    router_shape oss = of_gpt_oss, two_tokens = of_gpt_oss, four_tokens = of_qwen3,
                 eight_tokens = of_deepseek;
    two_tokens.tokens = 2, four_tokens.tokens = 4, eight_tokens.tokens = 8;
    for (const router_shape& s :
         {of_qwen3, oss, of_deepseek, two_tokens, four_tokens, eight_tokens}) {
        INFO(s.tokens << " tokens, " << s.experts << " experts");
        routed_layer c(s, s.experts == 32 ? format::mxfp4 : format::q4_K);
        const plan p = c.by_engine();
        REQUIRE(c.routed(p));
        const step& one = p.steps()[static_cast<std::size_t>(c.launch(p))];
        CHECK(routes(one.what.product()));
        const matvec_args a = p.args(c.launch(p), nullptr).matvec;
        CHECK(a.routing.x == c.g[c.logits].data);
        CHECK(a.routing.ids == c.g[c.sort].data);
        CHECK(a.ids == a.routing.ids);
        CHECK(a.routing.weights == c.g[c.weights].data);
        CHECK(a.routing.experts == s.experts);
        CHECK(a.routing.tokens == s.tokens);
        CHECK(a.columns == s.tokens * s.chosen);
        CHECK(a.routing.numbers.chosen == s.chosen);
        CHECK(a.routing.numbers.groups == s.groups);
        CHECK((a.routing.bias != nullptr) == s.bias);
        CHECK_FALSE(p.at(c.g.position(c.sort)).elided);
        const explanation e = p.explain();
        const auto routing = std::find_if(e.chains.begin(), e.chains.end(), [](const auto& chain) {
            return chain.name == "routed_experts";
        });
        REQUIRE(routing != e.chains.end());
        CHECK(routing->made_by == c.launch(p));
        CHECK_FALSE(routing->from_epilogue);
        CHECK(steps_text(e).find("chosen inside") != std::string::npos);
    }
}

TEST_CASE("a launch without routing has no token of it", "[plan][routing]") {
    routed_layer c({}, format::q6_K);
    const plan p = c.by_engine();
    REQUIRE(c.launch(p) >= 0);
    CHECK_FALSE(c.routed(p));
    CHECK(c.args(p).tokens == 0);
}

TEST_CASE("logits under what the launch of experts writes keep routing apart", "[plan][routing]") {
    routed_layer over_ids, over_weights(of_gpt_oss, format::mxfp4), over_result;
    over_ids.g.share(over_ids.sort, over_ids.logits);
    over_ids.g.share(over_ids.ids, over_ids.logits);
    CHECK(why_routing_apart(over_ids) == reason::routing_split);
    for (const id t : {over_weights.weights, over_weights.g[over_weights.weights].src[0]})
        over_weights.g.share(t, over_weights.logits);
    CHECK(why_routing_apart(over_weights) == reason::routing_split);
    over_result.g.share(over_result.logits, over_result.glu);
    CHECK(over_result.routed(over_result.by_engine()));  // it is quantized alone
    over_result.g.other({over_result.glu});
    CHECK(why_routing_apart(over_result) == reason::routing_split);
}

TEST_CASE("why experts do not find themselves is said", "[plan][routing]") {
    routed_layer format_without({}, format::q6_K);
    CHECK(why_routing_apart(format_without) == reason::no_routing_inside);
    routed_layer same;
    options asked;
    asked.pick.same_bits = true;
    CHECK(why_routing_apart(same, asked) == reason::same_bits);
    routed_layer many({.experts = 1024, .clamped = false});
    CHECK_FALSE(many.routed(many.by_engine()));
    routed_layer off;
    options without;
    without.chains_off = "routed_experts";
    CHECK(why_routing_apart(off, without) == reason::one_launch);
}

TEST_CASE("a launch finds experts among as many as it has matrices", "[plan][routing]") {
    routed_layer more;  // than the router knows
    for (const id t : {more.gate, more.up}) more.g[more.g[t].src[0]].ne[2] += 1;
    CHECK_FALSE(more.routed(more.by_engine()));
}

TEST_CASE("a launch finds as many experts as are weighed", "[plan][routing]") {
    routed_layer fewer;
    for (const id t : {fewer.gate, fewer.up, fewer.glu, fewer.down}) fewer.g[t].ne[1] = 4;
    const id four = fewer.first(fewer.sort, 4);
    auto& nodes = fewer.g.nodes;
    nodes.pop_back();
    nodes.insert(nodes.begin() + fewer.g.position(fewer.gate), four);
    for (const id t : {fewer.gate, fewer.up, fewer.down}) fewer.g[t].src[2] = four;
    CHECK_FALSE(fewer.routed(fewer.by_engine()));
}

TEST_CASE("a launch that finds its expert does not read the weight that it writes",
          "[plan][routing]") {
    router_case c(of_llama_4);
    graph_builder& g = c.g;
    g.nodes.pop_back();
    const auto of_router = static_cast<std::ptrdiff_t>(g.nodes.size());
    const id x = g.reshape(g.scaled_norm(g.other({g.input(format::f32, {512, 1})})), {512, 1, 1});
    std::rotate(g.nodes.begin(), g.nodes.begin() + of_router, g.nodes.end());
    const id up = g.mul_mat_id(g.weight(format::q4_K, {512, 256, 16}), x, c.ids);
    const id weighed = g.mul(up, c.weights);
    g.other({weighed, c.weights});
    const plan p = c.planned({}, &ggml_cuda);
    REQUIRE(p.at(g.position(weighed)).step >= 0);
    CHECK(p.at(g.position(weighed)).step != p.at(g.position(c.sort)).step);
}

TEST_CASE("medians may say that a token is routed faster apart", "[plan][routing]") {
    routed_layer c;
    std::vector<measurement> medians;
    const auto measured = [&](const options& asked, float us) {
        const plan made = c.by_engine(&node_by_node, asked);
        for (const step& s : made.steps()) medians.push_back({problem_key(s.what), s.row, us, 0});
    };
    options apart;
    apart.chains_off = "routed_experts";
    REQUIRE(c.routed(c.by_engine(&node_by_node)));
    measured({}, 1000);
    measured(apart, 1);
    std::stable_sort(
        medians.begin(), medians.end(),
        [](const measurement& a, const measurement& b) { return a.problem < b.problem; });
    table rows = shipped_table();
    rows.measured = medians.data();
    rows.measured_count = static_cast<int>(medians.size());
    graph_view view = c.g.view();
    view.engine = &node_by_node;
    const plan p = planner(rows).plan(view);
    CHECK_FALSE(c.routed(p));
    CHECK(left_why(p, c.g.position(c.sort)) == reason::routing_slower);
}

TEST_CASE("others that read experts before their launch keep routing apart", "[plan][routing]") {
    routed_layer c;
    const id early = c.g.other({c.ids});
    auto& nodes = c.g.nodes;
    nodes.pop_back();
    nodes.insert(nodes.begin() + c.g.position(c.gate), early);
    const plan p = c.by_engine();
    CHECK_FALSE(c.routed(p));
}

TEST_CASE("optimize keeps logits until the gates of the experts are multiplied",
          "[plan][routing]") {
    routed_layer c({}, format::q4_K, GENERATE(false, true));
    const ordering order = optimize(c.g.view());
    REQUIRE(order.state.ok());
    std::int32_t until = -1;
    for (const keep_alive& k : order.keep)
        if (k.tensor == c.logits) until = std::max(until, k.until);
    CHECK(until >= c.g.position(c.glu));
    CHECK(until < c.g.position(c.down));
}

TEST_CASE("the proof finds every wrong routing of a launch of experts", "[plan][routing]") {
    const std::pair<const char*, void (*)(route_args&)> faults[] = {
        {"other logits", [](route_args& a) { a.x += 4; }},
        {"another bias", [](route_args& a) { a.bias += 4; }},
        {"no bias", [](route_args& a) { a.bias = nullptr; }},
        {"experts elsewhere", [](route_args& a) { a.ids += 4; }},
        {"weights elsewhere", [](route_args& a) { a.weights += 4; }},
        {"fewer experts", [](route_args& a) { a.experts /= 2; }},
        {"no token", [](route_args& a) { a.tokens = 0; }},
        {"a token more", [](route_args& a) { ++a.tokens; }},
        {"an expert more for each token", [](route_args& a) { ++a.numbers.chosen; }},
        {"another score", [](route_args& a) { a.numbers.score = scoring::soft_max; }},
        {"weights that are not normalized", [](route_args& a) { a.numbers.normalized = false; }},
        {"another scale", [](route_args& a) { a.numbers.scale *= 2; }},
        {"other groups", [](route_args& a) { a.numbers.groups = 4; }},
        {"weights over the logits", [](route_args& a) { a.weights = const_cast<float*>(a.x); }},
    };
    for (const auto& [name, put] : faults) {
        INFO(name);
        routed_layer c(of_deepseek);
        plan p = c.by_engine();
        REQUIRE(c.routed(p));
        put(plan_faults{p}.route(static_cast<std::size_t>(c.launch(p))));
        CHECK_FALSE(routing_proved(c, p));
    }
    for (void (*const put)(route_args&) :
         {+[](route_args& a) { --a.tokens; }, +[](route_args& a) { --a.numbers.chosen; }}) {
        routed_layer c({.tokens = 4});
        plan p = c.by_engine();
        REQUIRE(c.routed(p));
        put(plan_faults{p}.route(static_cast<std::size_t>(c.launch(p))));
        CHECK_THAT(verify(c.g.view(), p).state.message,
                   Catch::Contains("its columns are not those of the tokens that are routed"));
    }
    routed_layer c;  // the experts that it finds, and those that it multiplies with
    for (const bool both : {false, true}) {
        plan p = c.by_engine();
        auto& head = plan_faults{p}.head(static_cast<std::size_t>(c.launch(p)));
        head.ids += 4;
        if (both) head.routing.ids += 4;
        CHECK_FALSE(routing_proved(c, p));
    }
}

TEST_CASE("the proof finds logits that another block of the launch writes over",
          "[plan][routing]") {
    routed_layer c;
    plan p = c.by_engine();  // before the weights lie there
    REQUIRE(c.routed(p));
    for (const id t : {c.g[c.weights].src[0], c.weights}) c.g.share(t, c.logits);
    plan_faults{p}.head(static_cast<std::size_t>(c.launch(p))).routing.weights =
        static_cast<float*>(c.g[c.weights].data);
    graph_view view = c.g.view();
    view.engine = &ggml_cuda;
    CHECK(std::string(verify(view, p).state.message).find("written over by the same launch") !=
          std::string::npos);
}
