// Everything that llama.cpp's build_moe_ffn puts between the logits of experts and their weights:
// one step, with the experts and the weights of ggml.
#include "engine.hpp"
#include "families.hpp"

#include "catena/match/ggml_cuda.hpp"

#include "catena_test/catch.hpp"

#include <limits>
#include <string>
#include <vector>

namespace {

using namespace catena_test;

const routing* current = nullptr;  // what `draw` draws, a plain function
std::vector<float> given;          // logits, or none: random ones

void draw(network& n) {
    ggml_tensor* logits = given.empty()
                              ? n.values("logits", current->experts, n.tokens())
                              : n.numbers("logits", GGML_TYPE_F32, given, current->experts);
    const auto [ids, weights] = routed(n, "", logits, *current);
    for (ggml_tensor* kept : {logits, ids->view_src, weights}) ggml_set_output(kept);
}

void check_one_step(const routing& how, int tokens) {
    CAPTURE(how.experts, how.used, how.groups, static_cast<int>(how.by), tokens);
    CAPTURE(static_cast<int>(how.order), how.bias, how.normalized, how.scale);
    current = &how;
    weight_store w(static_cast<unsigned>(how.experts + tokens));
    network graph(w, draw, tokens), reference(w, draw, tokens);
    mode by;
    by.engine = &catena::node_by_node;
    by.options.verify = true;
    const outcome seen = run(graph, by);
    CHECK(seen.failure == "");
    const verdict v = judge(reference, seen);
    CHECK(v.wrong == "");
    CHECK(seen.steps == 1);
    CHECK(v.engine_nodes == 0);
}

struct size {
    int experts, used;
};
constexpr size sizes[] = {{8, 2},   {16, 1},  {32, 4},  {60, 4},   {64, 6},
                          {128, 8}, {256, 6}, {384, 8}, {512, 10}, {288, 8}};

constexpr scores all_scores[] = {scores::soft_max, scores::sigmoid, scores::sqrt_softplus};
constexpr sorted all_orders[] = {sorted::by_score, sorted::by_logit, sorted::by_sigmoid};

}  // namespace

TEST_CASE("Every routing of llama.cpp is one step with ggml's experts and weights",
          "[ggml][routes]") {
    given.clear();
    std::size_t next = 0;
    for (const scores by : all_scores)
        for (const sorted order : all_orders)
            for (const int groups : {1, 4})
                for (const bool normalized : {false, true})
                    for (const int tokens : {1, 4, 8, 64}) {
                        const auto [experts, used] = sizes[next++ % std::size(sizes)];
                        routing how{.experts = experts, .used = used, .by = by, .order = order};
                        how.groups = groups, how.groups_used = groups / 2 + 1;
                        how.bias = order == sorted::by_score && next % 3 != 0;
                        how.normalized = normalized;
                        how.scale = next % 4 < 2 ? 1 : 2.5f;
                        if (groups == 1) how.groups_used = 1;
                        check_one_step(how, tokens);
                    }
}

TEST_CASE("A soft max of the chosen is one step with ggml's weights", "[ggml][routes]") {
    given.clear();
    for (const auto& [experts, used] : sizes)
        for (const int tokens : {1, 4})
            check_one_step({.experts = experts,
                            .used = used,
                            .soft_max_last = true,
                            .normalized = experts == 64,
                            .scale = experts == 128 ? 2.0f : 1.0f},
                           tokens);
}

TEST_CASE("Scores that ggml rounds to the same number keep the order of their experts",
          "[ggml][routes]") {
    given.clear();
    for (int i = 0; i < 16; ++i) {  // log(1 + e^x) is 0 below -17, and a sigmoid is 1 above 17
        const auto apart = static_cast<float>(i * 5 % 16);
        given.push_back(i % 2 == 0 ? -18 - apart : 18 + apart);
    }
    check_one_step({.experts = 16, .used = 12, .by = scores::sqrt_softplus}, 1);
    check_one_step({.experts = 16, .used = 8, .by = scores::sigmoid}, 1);
    for (float& logit : given) logit = 0.5f;
    for (const scores by : all_scores)
        for (const sorted order : all_orders)
            check_one_step({.experts = 16, .used = 4, .by = by, .order = order}, 1);
}

TEST_CASE("An expert whose logit is NaN is behind all others, as in ggml", "[ggml][routes]") {
    given.clear();
    for (int i = 0; i < 16; ++i) given.push_back(static_cast<float>(i * 5 % 16) - 8);
    given.back() = std::numeric_limits<float>::quiet_NaN();
    for (const scores by : {scores::sigmoid, scores::sqrt_softplus})
        for (const sorted order : all_orders)
            check_one_step({.experts = 16, .used = 4, .by = by, .order = order}, 1);
}
