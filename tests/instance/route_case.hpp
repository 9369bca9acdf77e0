// A case that a row of routing has to stand: the logits of some tokens, and how these are sent to
// experts.
#pragma once

#include "machine.hpp"

#include "catena/chain/routing.hpp"
#include "catena/kernel/args.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// What lies among logits that are all different.
enum class logits { different, alike, in_pairs, with_nan, with_infinities, with_zeros };

struct route_case {
    std::string what;
    catena::routing_numbers numbers = {};
    int experts = 0, tokens = 1;
    bool biased = false;
    logits values = logits::different;
    std::vector<float> x = {};  ///< [experts, tokens], in place of these
    int gap = 0;                ///< elements between the tokens of each operand
    enum class place { apart, weights_over_logits, ids_over_logits };
    place lies = place::apart;
};

struct route_outputs {
    bytes ids, weights;
    bool operator==(const route_outputs&) const = default;
};

/// The experts that each token is sent to.
std::vector<std::int32_t> chosen_of(const route_case& c);

/// What is added to the scores before experts are chosen; empty without a bias.
std::vector<float> bias_of(const route_case& c);

/// The weights that the chosen experts should get, in double.
std::vector<double> weights_of(const route_case& c);

/// The arguments of a launch of the case, and what it has written.
catena::route_args put_routing(machine& on, const route_case& c);
route_outputs read_routing(machine& on, const catena::route_args& a);

route_outputs run(const instance& on, const route_case& c);
void check(const route_case& c, const route_outputs& outputs);
void check(const instance& on, const route_case& c, const route_outputs& outputs);

}  // namespace catena_test
