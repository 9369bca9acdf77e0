#include "route_launch.hpp"

#include "arithmetic.hpp"

#include "catena/kernel/layout.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace catena_test {
namespace {

using catena::choosing;
using catena::route_args;
using catena::scoring;
using catena::stage_kind;

/// What a launch computes of a token.
class token_route {
  public:
    explicit token_route(const route_args& a) : a_(a) {}

    void keep_best_groups(std::vector<float>& choice) const {
        const int size = a_.experts / a_.numbers.groups;
        std::vector<float> best;
        for (int g = 0; g < a_.numbers.groups; ++g) {
            const float* group = choice.data() + g * size;
            const auto order = scalar::sorted(group, size);
            best.push_back(group[order[0]] + group[order[1]]);
        }
        const auto groups = scalar::sorted(best.data(), a_.numbers.groups);
        for (int g = a_.numbers.groups_chosen; g < a_.numbers.groups; ++g)
            std::fill_n(choice.begin() + groups[static_cast<std::size_t>(g)] * size, size,
                        -std::numeric_limits<float>::infinity());
    }

    void compute(std::int64_t token) const {
        const catena::routing_numbers& n = a_.numbers;
        const auto count = static_cast<std::size_t>(a_.experts);
        const float* x = offset(a_.x, token * a_.x_nb);
        std::vector<float> score(x, x + count);
        if (n.score == scoring::soft_max) scalar::soft_max(score.data(), a_.experts);
        if (n.score == scoring::sigmoid)
            for (float& s : score) s = scalar::gate(catena::gate_function::sigmoid, s);
        if (n.score == scoring::sqrt_softplus)
            for (float& s : score) s = scalar::sqrt_softplus(s);
        std::vector<float> choice =
            n.choice == choosing::by_score ? score : std::vector<float>(x, x + count);
        if (n.choice == choosing::by_sigmoid)
            for (float& c : choice) c = scalar::gate(catena::gate_function::sigmoid, c);
        for (std::size_t i = 0; i < count && a_.bias != nullptr; ++i) choice[i] += a_.bias[i];
        if (n.groups > 1) keep_best_groups(choice);
        const auto order = scalar::sorted(choice.data(), a_.experts);
        std::vector<float> w;
        for (int i = 0; i < n.chosen; ++i)
            w.push_back(score[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
        if (n.soft_max_chosen) scalar::soft_max(w.data(), n.chosen);
        if (n.normalized) {
            const float sum = std::max(scalar::sum(w.data(), n.chosen), n.least);
            for (float& one : w) one /= sum;
        }
        for (float& one : w) one *= n.scale;
        std::copy(order.begin(), order.end(), offset(a_.ids, token * a_.ids_nb));
        std::copy(w.begin(), w.end(), offset(a_.weights, token * a_.weights_nb));
    }

  private:
    const route_args& a_;
};

}  // namespace

void judge_routes(const route_args& a, int most_experts, catena::stage_set stages, machine& m,
                  operands& ops) {
    const catena::routing_numbers& n = a.numbers;
    const auto demand = [&m](bool fine, const char* what) {
        if (!fine) m.blame(what);
    };
    const auto tokens = [&a](const char* name, const void* at, std::int64_t count,
                             std::int64_t nb) -> operand_range {
        return {name, static_cast<const std::byte*>(at), 4 * count, {a.tokens, 1, 1}, {nb, 0, 0}};
    };
    demand(a.experts <= most_experts, "experts without a thread");
    demand(n.chosen >= 1 && n.chosen <= a.experts && n.chosen <= catena::max_chosen,
           "chosen experts that are none");
    demand(n.groups <= catena::max_groups && a.experts % n.groups == 0, "groups that are none");
    demand(n.score == scoring::none || stages.has(stage_kind::score), "scores that are none");
    ops.read(tokens("logits", a.x, a.experts, a.x_nb));
    if (a.bias != nullptr)
        ops.read({"bias of experts",
                  reinterpret_cast<const std::byte*>(a.bias),
                  4 * a.experts,
                  {1, 1, 1},
                  {0, 0, 0}});
    ops.write(tokens("experts", a.ids, a.experts, a.ids_nb));
    ops.write(tokens("weights of experts", a.weights, n.chosen, a.weights_nb));
}

void judge_routed(const catena::row& r, const catena::matvec_args& a, machine& m, operands& ops) {
    const bool routed = a.routing.tokens > 0;
    if (routed != r.policy.matvec().routes) m.blame("experts that its row does not find");
    if (!routed || !m.fault.empty()) return;
    if (a.ids != a.routing.ids || a.columns != a.slots * a.routing.tokens ||
        a.slots != a.routing.numbers.chosen || !has_experts(a))
        m.blame("experts that are not those of a token");
    judge_routes(a.routing, catena::routed_experts(r.policy.matvec()), r.computes.product().stages,
                 m, ops);
}

void compute_routes(const route_args& a) {
    for (std::int64_t t = 0; t < a.tokens; ++t) token_route(a).compute(t);
}

void launch_routes(const catena::row& r, const route_args& a, machine& m) {
    operands ops(m);
    judge_routes(a, catena::routed_experts(r.policy.row()), r.computes.row().stages, m, ops);
    const char* const element_wise[] = {nullptr};
    ops.check(element_wise, a.tokens == 1);
    if (m.fault.empty()) compute_routes(a);
}

}  // namespace catena_test
