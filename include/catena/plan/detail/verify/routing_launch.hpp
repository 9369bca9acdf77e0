// What a launch does that sends tokens to their experts, read off its arguments, as
// kernel/route.hpp says what it does with them.
#pragma once

#include "catena/plan/detail/verify/launch_record.hpp"
#include "catena/plan/detail/verify/routing_values.hpp"

#include <cstdint>
#include <limits>

namespace CATENA_NAMESPACE::proof {

class routing_launch : public launch_record {
  public:
    using launch_record::launch_record;

  protected:
    /// Returns the chosen experts.
    value route(const route_args& a) {
        const routing_numbers& n = a.numbers;
        const std::int64_t experts = a.experts, tokens = a.tokens;
        const auto rows = [&](const void* p, std::int64_t k, std::int64_t nb, const char* name) {
            return aligned_rows(p, 4, name, k, tokens, nb);
        };
        const value x = read_at(rows(a.x, experts, a.x_nb, "logits"), "logits");
        value v = x;
        if (n.score == scoring::soft_max) v = soft_maxed(v, experts);
        if (n.score == scoring::sigmoid) v = function_of(gate_function::sigmoid, v);
        if (n.score == scoring::sqrt_softplus) v = root(softplus(v));
        value choice = n.choice == choosing::by_score ? v : x;
        if (n.choice == choosing::by_sigmoid) choice = function_of(gate_function::sigmoid, choice);
        if (a.bias != nullptr)
            choice = plus(choice, of_rows(vector(a.bias, experts, 4, "the bias of experts"),
                                          experts, tokens));
        if (n.groups > 1) choice = of_best_groups(choice, n, experts, tokens);
        const value all = sorted(choice, experts);
        const value chosen = first_of(all, experts, n.chosen, tokens);
        value w = picked_rows(v, chosen, 1);
        if (n.soft_max_chosen) w = soft_maxed(w, n.chosen);
        if (n.normalized) {
            const value sum = summed(w, n.chosen);
            const float most = std::numeric_limits<float>::infinity();
            const value by = n.least == -most ? sum : bounded(sum, n.least, most);
            w = divided(w, of_runs(by, n.chosen, tokens));
        }
        write(rows(a.ids, experts, a.ids_nb, "experts"), all, "the sorted experts", reads.size());
        write(rows(a.weights, n.chosen, a.weights_nb, "weights"), times(w, n.scale),
              "the weights of experts", reads.size());
        return chosen;
    }

  private:
    static value of_best_groups(const value& choice, const routing_numbers& n, std::int64_t experts,
                                std::int64_t tokens) {
        constexpr auto minus_infinity = static_cast<std::int32_t>(0xff800000u);
        const std::int64_t size = quotient(experts, std::int64_t{n.groups});
        const value two =
            picked_rows(choice, first_of(sorted(choice, size), size, 2, n.groups * tokens), 1);
        const value best =
            first_of(sorted(summed(two, 2), n.groups), n.groups, n.groups_chosen, tokens);
        return masked(minus_infinity, picked_rows(choice, best, size), best, size, n.groups);
    }
};

}  // namespace CATENA_NAMESPACE::proof
