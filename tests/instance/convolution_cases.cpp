// The cases of rows that convolve: Q, K and V of linear attention, few and many tokens, one to
// eight sequences, states that are replaced where they lie and elsewhere, and channels that fill no
// quad and no warp.
#include "convolution_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

/// Several sequences: each reads a state that another one replaces, or all read one.
std::vector<convolution_case> of_sequences(const row_policy& how,
                                           const std::vector<convolved_value>& values) {
    std::vector<convolution_case> all;
    const auto add = [&](convolution_case c) {
        c.states = c.sequences + 2;
        if (c.sequences <= rows_of_block(how)) all.push_back(std::move(c));
    };
    for (const int sequences : {2, 3, 4, 5, 8}) {
        convolution_case c{.what = std::to_string(sequences) + " sequences",
                           .values = values,
                           .tokens = sequences == 3 ? 2 : 1,
                           .sequences = sequences};
        c.ids.clear();
        for (int s = 0; s < sequences; ++s) c.ids.push_back((s + 2) % (sequences + 1));
        add(c);
    }
    add({.what = "two that read one state, of which one replaces it",
         .values = values,
         .sequences = 2,
         .ids = {2, 2}});
    add({.what = "two with gaps between states",
         .values = values,
         .length = 3,
         .tokens = 3,
         .sequences = 2,
         .ids = {2, 1},
         .state_gap = 8});
    add({.what = "two without numbers, over the tokens",
         .values = values,
         .sequences = 2,
         .ids = {},
         .replaced = 0,
         .in_place = true});
    add({.what = "two of which one has a number of no state",
         .values = values,
         .sequences = 2,
         .ids = {-1, 1}});
    return all;
}

}  // namespace

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
    add({.what = "another state is replaced", .values = layer, .ids = {2}, .replaced = 0});
    add({.what = "no state is replaced", .values = layer, .tokens = 2, .replaced = -1});
    add({.what = "one state, without a number", .values = layer, .ids = {}, .replaced = 0});
    add({.what = "a number of no state", .values = layer, .ids = {3}, .replaced = 0});
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
    for (convolution_case& c : of_sequences(how, layer)) add(std::move(c));
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
