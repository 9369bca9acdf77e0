// The cases of rows that recall heads: every decay, one token and several, states that are replaced
// where they lie and elsewhere, and heads that fill no warp.
#include "delta_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

std::vector<delta_case> delta_cases(const row_policy& how) {
    const int most = head_values(how);
    std::vector<delta_case> all;
    const auto add = [&](delta_case c) {
        if (c.k == 0) c.k = most;
        all.push_back(std::move(c));
    };
    for (const decays d : {decays::by_head, decays::by_softplus, decays::by_value}) {
        add({.what = "one token, whose heads share keys", .heads = 4, .key_heads = 2, .decay = d});
        add({.what = "several tokens", .heads = 3, .key_heads = 3, .tokens = 3, .decay = d});
    }
    add({.what = "the most tokens", .k = most / 2, .tokens = 8});
    add({.what = "heads that fill no warp", .k = 24, .heads = 5, .tokens = 2});
    add({.what = "the shortest heads", .k = values_of_warp, .heads = 3, .key_heads = 3});
    add({.what = "another state than that which is read", .k = most / 2, .id = 2, .replaced = 0});
    add({.what = "a state without a number", .k = most / 2, .id = -2, .replaced = 0});
    add({.what = "a state that stays", .k = most / 2, .tokens = 2, .replaced = -1});
    add({.what = "a number below all states", .k = most / 2, .id = -1});
    add({.what = "a number behind all states", .k = most / 2, .id = 3});
    add({.what = "heads apart", .k = most / 2, .key_heads = 2, .tokens = 2, .gap = 8});
    add({.what = "a NaN stays in its value", .k = most / 2, .tokens = 2, .nan = true});
    if (how.vector) return all;
    add({.what = "at any address", .k = 40, .key_heads = 2, .tokens = 2, .gap = 1, .offset = 4});
    return all;
}

}  // namespace catena_test
