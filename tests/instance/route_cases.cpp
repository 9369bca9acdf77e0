// The cases of rows of routing: the routers that models have, every function and number of them,
// numbers of experts that fill no quad and no warp, logits that are equal, and such that are none.
#include "route_case.hpp"
#include "sweep.hpp"

namespace catena_test {

using namespace catena;

namespace {

constexpr float least_sum = 6.103515625e-5f;  // as graphs of llama.cpp have it

routing_numbers qwen(int chosen) {
    routing_numbers n;
    n.score = scoring::soft_max, n.normalized = true, n.least = least_sum, n.chosen = chosen;
    return n;
}
routing_numbers gpt_oss(int chosen) {
    routing_numbers n;
    n.soft_max_chosen = true, n.chosen = chosen;
    return n;
}
routing_numbers deepseek(int chosen, int groups, int groups_chosen) {
    routing_numbers n = qwen(chosen);
    n.score = scoring::sigmoid, n.scale = 2.5f;
    n.groups = groups, n.groups_chosen = groups_chosen;
    return n;
}
routing_numbers deepseek_4(int chosen) {
    routing_numbers n = qwen(chosen);
    n.score = scoring::sqrt_softplus, n.scale = 1.5f;
    return n;
}
routing_numbers sorted_by(choosing choice, routing_numbers n) {
    n.choice = choice;
    return n;
}
/// The chosen scores as they are.
routing_numbers plain(scoring score, int chosen) {
    routing_numbers n;
    n.score = score, n.chosen = chosen;
    return n;
}

}  // namespace

std::vector<route_case> route_cases(int most_experts) {
    using place = route_case::place;
    std::vector<route_case> all;
    const auto add = [&](const route_case& c) {
        if (c.experts <= most_experts) all.push_back(c);
    };
    add({.what = "Qwen3", .numbers = qwen(8), .experts = 128});
    add({.what = "Qwen3, four tokens", .numbers = qwen(8), .experts = 128, .tokens = 4});
    add({.what = "Qwen3.6", .numbers = qwen(8), .experts = 256, .tokens = 2});
    add({.what = "Qwen3-Next", .numbers = qwen(10), .experts = 512});
    add({.what = "Mixtral", .numbers = qwen(2), .experts = 8, .tokens = 3});
    add({.what = "Qwen1.5", .numbers = plain(scoring::soft_max, 4), .experts = 60});
    add({.what = "gpt-oss", .numbers = gpt_oss(4), .experts = 32});
    add({.what = "gpt-oss, eight tokens", .numbers = gpt_oss(4), .experts = 32, .tokens = 8});
    for (const int tokens : {1, 3}) {
        add({.what = "DeepSeek-V3",
             .numbers = deepseek(8, 8, 4),
             .experts = 256,
             .tokens = tokens,
             .biased = true});
        add({.what = "Kimi",
             .numbers = deepseek(8, 1, 1),
             .experts = 384,
             .tokens = tokens,
             .biased = true});
        add({.what = "groups of five",
             .numbers = deepseek(3, 6, 2),
             .experts = 30,
             .tokens = tokens,
             .biased = true});
    }
    for (const int tokens : {1, 4, 8}) {
        add({.what = "DeepSeek-V4",
             .numbers = deepseek_4(6),
             .experts = 256,
             .tokens = tokens,
             .biased = true});
        add({.what = "Llama 4",
             .numbers = sorted_by(choosing::by_logit, plain(scoring::sigmoid, 1)),
             .experts = 128,
             .tokens = tokens});
        add({.what = "GroveMoE",
             .numbers = sorted_by(choosing::by_sigmoid, qwen(8)),
             .experts = 128,
             .tokens = tokens});
    }
    add({.what = "groups of the logits", .numbers = deepseek(6, 32, 1), .experts = 96});
    for (const int experts : {2, 5, 33, 127, 500, 1024})
        for (const bool biased : {false, true})
            add({.what = std::to_string(experts) + " experts, with gaps",
                 .numbers =
                     plain(biased ? scoring::sigmoid : scoring::none, experts < 32 ? experts : 32),
                 .experts = experts,
                 .tokens = 2,
                 .biased = biased,
                 .gap = 3});
    routing_numbers bounded = qwen(4);
    bounded.least = 0.9f;
    add({.what = "a sum below the least", .numbers = bounded, .experts = 96, .tokens = 2});
    add({.what = "weights over the logits",
         .numbers = qwen(8),
         .experts = 128,
         .lies = place::weights_over_logits});
    add({.what = "experts over the logits",
         .numbers = gpt_oss(4),
         .experts = 96,
         .lies = place::ids_over_logits});
    for (const logits values : {logits::alike, logits::in_pairs, logits::with_nan,
                                logits::with_infinities, logits::with_zeros})
        for (const routing_numbers& n :
             {qwen(8), gpt_oss(8), deepseek(8, 1, 1), deepseek(4, 4, 2), plain(scoring::none, 9),
              deepseek_4(8), sorted_by(choosing::by_logit, plain(scoring::sigmoid, 8)),
              sorted_by(choosing::by_sigmoid, qwen(8))})
            add({.what = "special logits " + std::to_string(static_cast<int>(values)),
                 .numbers = n,
                 .experts = 64,
                 .tokens = 2,
                 .biased = n.groups > 1 && values == logits::in_pairs,
                 .values = values});
    return all;
}

}  // namespace catena_test
