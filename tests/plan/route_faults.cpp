// Faults of launches of routing that a plan of a given graph can have; routing.cpp has those that
// need a router with a bias and groups.
#include "fault_places.hpp"

namespace catena_test {

namespace {

put_fault in_routing(bool (*put)(route_args&)) {
    return [put](plan_faults& p, std::size_t s) { return p.is_routing(s) && put(p.route(s)); };
}

}  // namespace

std::vector<fault> faults_of_routing() {
    using args = route_args;
    return {
        {"other logits", in_routing([](args& a) { return shift(a.x, 4); })},
        {"sorted experts elsewhere", in_routing([](args& a) { return shift(a.ids, 4); })},
        {"weights of experts elsewhere", in_routing([](args& a) { return shift(a.weights, 4); })},
        {"an expert less", in_routing([](args& a) { return --a.experts > 0; })},
        {"a chosen expert less", in_routing([](args& a) { return --a.numbers.chosen > 0; })},
        {"scores that are a soft max", in_routing([](args& a) {
             return std::exchange(a.numbers.score, scoring::soft_max) == scoring::none;
         })},
        {"weights that are no soft max",
         in_routing([](args& a) { return std::exchange(a.numbers.soft_max_chosen, false); })},
        {"weights that are normalized again",
         in_routing([](args& a) { return !std::exchange(a.numbers.normalized, true); })},
        {"weights times a number", in_routing([](args& a) { return (a.numbers.scale *= 2) > 0; })},
        {"a token more", in_routing([](args& a) { return ++a.tokens > 0; })},
    };
}

}  // namespace catena_test
