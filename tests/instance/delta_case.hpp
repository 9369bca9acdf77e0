// A case that a row which recalls heads has to stand: its heads, its tokens and its states.
#pragma once

#include "machine.hpp"

#include <string>
#include <vector>

namespace catena_test {

/// What lets a state decay: a number of each head, a softplus of one times a factor, or a number of
/// each value of a key.
enum class decays : unsigned char { by_head, by_softplus, by_value };

struct delta_case {
    std::string what;
    int k = 0, heads = 2, key_heads = 1;
    int tokens = 1;  ///< tokens of each sequence
    decays decay = decays::by_softplus;
    bool neighbors = false;  ///< neighboring heads share a key
    bool biased = false;     ///< what a softplus is of has a bias
    bool logit = false;      ///< shares of errors are sigmoids
    int abreast = 0;  ///< heads whose decays, and shares, lie next to each other, and behind them
                      ///< as many other numbers; 0: all heads, without others
    int sequences = 1, states = 3;
    std::vector<int> ids = {1};  ///< the numbers of the states that are read; none: those of the
                                 ///< sequences are
    int replaced = 1;            ///< the first of the states that are replaced; -1: none is
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
