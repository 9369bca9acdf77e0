// The cases of rows that recall heads: every decay, one to eight tokens and sequences, states that
// are replaced where they lie and elsewhere, and heads that fill no warp.
#include "delta_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

/// Several sequences: each reads a state that another one replaces, or two read one.
std::vector<delta_case> of_sequences(const row_policy& how) {
    const int half = head_values(how) / 2;
    std::vector<delta_case> all;
    const auto add = [&](delta_case c) {
        c.k = c.k == 0 ? half : c.k;
        if (c.sequences <= rows_of_block(how)) all.push_back(std::move(c));
    };
    for (const int sequences : {2, 3, 4, 5, 8}) {
        delta_case c{.what = std::to_string(sequences) + " sequences",
                     .k = 24,
                     .tokens = sequences == 3 ? 3 : 1,
                     .sequences = sequences,
                     .states = sequences + 2};
        c.ids.clear();
        for (int s = 0; s < sequences; ++s) c.ids.push_back((s + 2) % (sequences + 1));
        add(c);
    }
    add({.what = "two that read each other's states",
         .tokens = 2,
         .decay = decays::by_value,
         .sequences = 2,
         .ids = {2, 1}});
    add({.what = "two that read one state, of which one replaces it",
         .sequences = 2,
         .ids = {2, 2}});
    add({.what = "two without numbers of their states",
         .sequences = 2,
         .states = 2,
         .ids = {},
         .replaced = 0});
    add({.what = "two of which one has a number of no state", .sequences = 2, .ids = {-1, 1}});
    add({.what = "two of which one has a NaN", .sequences = 2, .ids = {2, 1}, .nan = true});
    add({.what = "two apart",
         .k = 64,
         .heads = 4,
         .key_heads = 2,
         .tokens = 2,
         .sequences = 2,
         .ids = {2, 0},
         .gap = 8});
    return all;
}

}  // namespace

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
    add({.what = "neighbors that share keys",
         .k = 24,
         .heads = 6,
         .key_heads = 2,
         .tokens = 2,
         .neighbors = true});
    add({.what = "a bias and logits of two heads abreast",
         .k = 24,
         .heads = 4,
         .key_heads = 2,
         .tokens = 3,
         .biased = true,
         .logit = true,
         .abreast = 2});
    add({.what = "logits of one head abreast, decays by value",
         .k = 16,
         .heads = 3,
         .key_heads = 1,
         .tokens = 2,
         .decay = decays::by_value,
         .logit = true,
         .abreast = 1});
    add({.what = "heads that fill no warp", .k = 24, .heads = 5, .tokens = 2});
    add({.what = "the shortest heads", .k = values_of_warp, .heads = 3, .key_heads = 3});
    add({.what = "another state than that which is read",
         .k = most / 2,
         .ids = {2},
         .replaced = 0});
    add({.what = "a state without a number", .k = most / 2, .states = 1, .ids = {}, .replaced = 0});
    add({.what = "a state that stays", .k = most / 2, .tokens = 2, .replaced = -1});
    add({.what = "a number below all states", .k = most / 2, .ids = {-1}});
    add({.what = "a number behind all states", .k = most / 2, .ids = {3}});
    add({.what = "heads apart", .k = most / 2, .key_heads = 2, .tokens = 2, .gap = 8});
    add({.what = "a NaN stays in its value", .k = most / 2, .tokens = 2, .nan = true});
    for (delta_case& c : of_sequences(how)) add(std::move(c));
    if (how.vector) return all;
    add({.what = "at any address", .k = 40, .key_heads = 2, .tokens = 2, .gap = 1, .offset = 4});
    return all;
}

}  // namespace catena_test
