// The cases of rows that scan: one to eight tokens, one to eight sequences, groups, states that are
// replaced where they lie and elsewhere, and states that fill no warp.
#include "scan_case.hpp"
#include "sweep.hpp"

#include "catena/kernel/layout.hpp"

namespace catena_test {

using namespace catena;

namespace {

/// Several sequences: each reads a state that another one replaces, or two read one.
std::vector<scan_case> of_sequences(const row_policy& how) {
    const int half = head_values(how) / 2;
    std::vector<scan_case> all;
    const auto add = [&](scan_case c) {
        c.states = c.sequences + 2;
        if (c.sequences <= rows_of_block(how)) all.push_back(std::move(c));
    };
    for (const int sequences : {2, 3, 4, 5, 6, 7, 8}) {
        scan_case c{.what = std::to_string(sequences) + " sequences",
                    .size = half,
                    .heads = 3,
                    .groups = 3,
                    .tokens = sequences == 3 ? 3 : 1,
                    .sequences = sequences};
        c.ids.clear();
        for (int s = 0; s < sequences; ++s) c.ids.push_back((s + 2) % (sequences + 1));
        add(c);
    }
    add({.what = "two that read each other's states",
         .size = half,
         .k = 8,
         .heads = 5,
         .tokens = 2,
         .sequences = 2,
         .ids = {2, 1}});
    add({.what = "two that read one state, of which one replaces it",
         .size = half,
         .sequences = 2,
         .ids = {2, 2}});
    add({.what = "two that read one state, which stays",
         .size = half,
         .sequences = 2,
         .ids = {0, 0},
         .replaced = 2});
    add({.what = "two of which one has a number of no state",
         .size = half,
         .sequences = 2,
         .ids = {-1, 1}});
    add({.what = "two of which one has a NaN",
         .size = half,
         .tokens = 2,
         .sequences = 2,
         .ids = {2, 1},
         .nan = true});
    add({.what = "two apart",
         .size = half,
         .heads = 4,
         .groups = 2,
         .tokens = 2,
         .sequences = 2,
         .ids = {2, 0},
         .gap = 4});
    return all;
}

}  // namespace

std::vector<scan_case> scan_cases(const row_policy& how) {
    const int most = head_values(how);
    std::vector<scan_case> all;
    const auto add = [&](scan_case c) {
        if (c.size == 0) c.size = most;
        all.push_back(std::move(c));
    };
    add({.what = "one token", .k = 64, .heads = 3});
    add({.what = "one token of groups", .heads = 6, .groups = 3});
    add({.what = "several tokens", .k = 32, .heads = 4, .groups = 2, .tokens = 3});
    add({.what = "the most tokens", .size = most / 2, .k = 8, .heads = 5, .tokens = 8});
    add({.what = "long heads", .size = 16, .k = 128, .heads = 2, .groups = 2, .tokens = 2});
    add({.what = "states of four numbers", .size = 4, .k = 24, .heads = 3, .tokens = 2});
    add({.what = "states that fill no warp", .size = most - 28, .heads = 3, .tokens = 2});
    for (const int part : {0, 1, 2}) {
        scan_case c{.what = "", .size = most / 2, .heads = 3, .tokens = 2};
        c.biased = part == 0, c.skipped = part == 1, c.gated = part == 2;
        c.what = part == 0 ? "dt_bias alone" : part == 1 ? "d alone" : "z alone";
        add(c);
    }
    add({.what = "another state is replaced", .size = most / 2, .ids = {2}, .replaced = 0});
    add({.what = "a state that stays", .size = most / 2, .tokens = 2, .replaced = -1});
    add({.what = "a number below all states", .size = most / 2, .ids = {-1}});
    add({.what = "a number behind all states", .size = most / 2, .ids = {3}});
    add({.what = "tokens apart", .size = 8, .heads = 4, .groups = 2, .tokens = 3, .gap = 8});
    add({.what = "small steps of a sequence that begins",
         .size = most / 2,
         .heads = 3,
         .tokens = 3,
         .biased = false,
         .skipped = false,
         .small_steps = true});
    add({.what = "a NaN stays in its value", .size = most / 2, .tokens = 2, .nan = true});
    for (scan_case& c : of_sequences(how)) add(std::move(c));
    if (how.vector) return all;
    add({.what = "at any address", .size = 37, .k = 24, .tokens = 2, .gap = 1, .offset = 4});
    add({.what = "a number for a value", .size = 1, .k = 8, .heads = 3, .groups = 3});
    return all;
}

}  // namespace catena_test
