// Matmuls of experts with which whole models were measured to be slower than with the engine's own.
#include "cases.hpp"

#include "catena/engine/json.hpp"
#include "catena/instances/sm_90.hpp"
#include "catena/plan/counters.hpp"
#include "catena/plan/explain.hpp"
#include "catena/plan/sentences.hpp"
#include "catena/plan/verify.hpp"

#include <string>
#include <vector>

using namespace catena;
using namespace catena_test;

namespace {

/// A value that 16 experts read, two for each token, and a dense matrix of the same shape.
struct experts_case {
    explicit experts_case(std::int64_t tokens, format weights = format::q4_K)
        : x(g.other({g.input(format::f32, {512, 1, tokens})})),
          ids(g.input(format::i32, {2, tokens})),
          picked(g.mul_mat_id(g.weight(weights, {512, 256, 16}), x, ids)),
          dense(g.mul_mat(g.weight(weights, {512, 256}), x)) {}

    graph_builder g;
    id x, ids, picked, dense;

    reason why(const table& t, const options& asked = {}) {
        const plan p = checked_plan(g, t, asked);
        CHECK(p.at(g.position(dense)).step >= 0);
        return left_why(p, g.position(picked));
    }
};

/// The matmuls of a plan that a verdict leaves to the engine.
std::int32_t told(const plan& p) {
    return p.counters().left[static_cast<int>(reason::engine_faster_in_models)];
}

std::string instances_of(const plan& p) {
    std::string out;
    for (const step& s : p.steps())
        out += std::to_string(s.launch_at) + " " + row_name(p.rows(), s.row) + "\n";
    return out;
}

table without_verdicts() {
    table t = instances::sm_90();
    t.verdict_count = 0;
    return t;
}

}  // namespace

TEST_CASE("a verdict holds for experts of its formats with so many columns, and nothing else",
          "[verdict]") {
    const engine_verdict told{format_set::of(format::q4_K) | format::q6_K, 17, 32, 0.9f, "there"};
    table t = without_verdicts();
    t.verdicts = &told;
    t.verdict_count = 1;
    const auto of = [&](std::int64_t tokens, format weights) {
        return experts_case(tokens, weights).why(t);
    };
    for (const std::int64_t tokens : {129, 136, 256})  // 16.1 to 32 columns an expert
        for (const format weights : {format::q4_K, format::q6_K})
            CHECK(of(tokens, weights) == reason::engine_faster_in_models);
    for (const std::int64_t tokens : {1, 8, 16, 128, 257})
        CHECK(of(tokens, format::q4_K) == reason::none);
    CHECK(of(256, format::q8_0) == reason::none);
}

TEST_CASE("with same_bits no verdict leaves anything to the engine", "[verdict]") {
    experts_case c(256);
    options asked;
    asked.pick.same_bits = true;
    CHECK(c.why(instances::sm_90(), asked) == reason::none);
    CHECK(c.why(instances::sm_90()) == reason::engine_faster_in_models);
}

TEST_CASE("what a verdict leaves to the engine is no fallback, and the report names the records",
          "[verdict]") {
    experts_case c(256);
    options strict;
    strict.error_on_fallback = true;
    const plan p = planner(instances::sm_90(), strict).plan(c.g.view());
    CHECK(p.state().ok());
    CHECK(p.counters().fallbacks() == 0);
    bool said = false;
    for (const left_node& l : p.explain().not_fused)
        said = said || l.sentence ==
                           "with such matmuls in steps models reached 93 % of the tokens a second "
                           "that they reach without: 0.93x in "
                           "bench/results/llama.h100.2026-11-26.json, 0.92x in "
                           "bench/results/llama.h200.2026-11-26.json";
    CHECK(said);
}

TEST_CASE("of the models that were measured, prompts of one alone leave their experts",
          "[verdict][graphs]") {
    const auto planned = [](const json::graph& g, const table& t) {
        const plan p = planner(t).plan(g.view());
        REQUIRE(p.state().ok());
        CHECK(verify(g.view(), p).state.ok());
        return p;
    };
    for (const std::string model : {"qwen3-8b-q4km", "llama-3.1-8b-q8_0", "qwen3-30b-a3b-q4km",
                                    "gpt-oss-20b-mxfp4", "qwen3.6-35b-a3b-q4km"})
        for (const std::string load : {"tg1", "b4", "pp512"}) {
            CAPTURE(model, load);
            const json::graph g =
                json::read(CATENA_TEST_DATA "/graphs/" + model + "." + load + ".json.gz");
            const plan p = planned(g, instances::sm_90()), all = planned(g, without_verdicts());
            const bool slower = model == "qwen3-30b-a3b-q4km" && load == "pp512";
            // Three matrices of 47 layers: of the last one a column is left. Norms, routers and
            // what is dense stay as they were, and so do the sums of the experts' results.
            CHECK(told(p) == (slower ? 3 * 47 : 0));
            if (!slower) CHECK(instances_of(p) == instances_of(all));
            CHECK(p.steps().size() == all.steps().size() - (slower ? 2 * 47 : 0));
            CHECK(p.counters().fallbacks() == all.counters().fallbacks());
        }
}
