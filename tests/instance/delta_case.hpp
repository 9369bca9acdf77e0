// A case that a row which recalls heads has to stand: its heads, its tokens and its states.
#pragma once

#include "machine.hpp"

#include <string>

namespace catena_test {

/// What lets a state decay: a number of each head, a softplus of one times a factor, or a number of
/// each value of a key.
enum class decays : unsigned char { by_head, by_softplus, by_value };

struct delta_case {
    std::string what;
    int k = 0, heads = 2, key_heads = 1, tokens = 1;
    decays decay = decays::by_softplus;
    int states = 3;
    int id = 1;        ///< number of the state that is read; -2: there is no number, and one state
    int replaced = 1;  ///< the state that is replaced; -1: none is
    int gap = 0;       ///< numbers behind each head of queries and behind each token of them, twice
                       ///< as many of keys, three times of values, four times of results
    int offset = 0;    ///< bytes by which operands are misaligned
    bool nan = false;  ///< the last value of the first token's last head is one
};

struct delta_output {
    bytes values, states;
    bool operator==(const delta_output&) const = default;
};

delta_output run(const instance& on, const delta_case& c);
void check(const instance& on, const delta_case& c, const delta_output& outputs);

}  // namespace catena_test
