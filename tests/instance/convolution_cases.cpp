// The cases of rows that convolve: Q, K and V of linear attention, few and many tokens, states that
// are replaced where they lie and elsewhere, and channels that fill no quad and no warp.
#include "convolution_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

std::vector<convolution_case> convolution_cases(const row_policy& how) {
    const int most = head_values(how), k = most / 2;
    const std::vector<convolved_value> plain = {{.k = most, .heads = 3}};
    const std::vector<convolved_value> layer = {
        {.k = k, .heads = 5, .normed = true, .scale = 0.125f, .written = true},
        {.k = k, .heads = 2, .normed = true, .written = true},
        {.k = most, .heads = 3}};
    std::vector<convolution_case> all;
    const auto add = [&](convolution_case c) { all.push_back(std::move(c)); };
    for (const int length : {3, 4})
        for (const int tokens : {1, 2, 4, 7})
            add({.what = std::to_string(tokens) + " tokens, taps: " + std::to_string(length),
                 .values = layer,
                 .length = length,
                 .tokens = tokens});
    add({.what = "another state is replaced", .values = layer, .id = 2, .replaced = 0});
    add({.what = "no state is replaced", .values = layer, .tokens = 2, .replaced = -1});
    add({.what = "one state, without a number", .values = layer, .id = -1, .replaced = 0});
    add({.what = "a number of no state", .values = layer, .id = 3, .replaced = 0});
    add({.what = "over the tokens", .values = layer, .tokens = 3, .in_place = true});
    add({.what = "nothing but norms is written", .values = layer, .shown = false});
    add({.what = "gaps between tokens", .values = plain, .tokens = 3, .gap = 8});
    add({.what = "a bias", .values = plain, .tokens = 2, .biased = true});
    add({.what = "a bias and no function",
         .values = plain,
         .biased = true,
         .function = gate_function::none});
    add({.what = "heads that are written without a norm",
         .values = {{.k = k, .heads = 2, .scale = 2, .written = true}},
         .shown = false});
    add({.what = "a NaN", .values = layer, .nan = true});
    if (!how.vector) {
        add({.what = "misaligned", .values = layer, .tokens = 2, .offset = 4});
        add({.what = "lengths that fill nothing",
             .values = {{.k = 37, .heads = 3, .normed = true, .written = true},
                        {.k = 1, .heads = 6},
                        {.k = most - 1, .heads = 1, .normed = true, .written = true}},
             .tokens = 2});
    }
    return all;
}

}  // namespace catena_test
