// A case that a row which scans has to stand: its heads, its sequences and their states.
#pragma once

#include "machine.hpp"

#include <string>
#include <vector>

namespace catena_test {

struct scan_case {
    std::string what;
    int size = 0;  ///< numbers of the state for a value
    int k = 16, heads = 2, groups = 1;
    int tokens = 1;  ///< tokens of each sequence
    int sequences = 1, states = 3;
    std::vector<int> ids = {1};  ///< the numbers of the states that are read
    int replaced = 1;            ///< the first of the states that are replaced; -1: none is
    bool biased = true, skipped = true, gated = true;  ///< there are dt_bias, d and z
    int gap = 0;  ///< numbers behind each token of dt, twice as many of b, three times of c, four
                  ///< times of x, five times of z; six times behind each head of results
    int offset = 0;            ///< bytes by which operands are misaligned
    bool small_steps = false;  ///< of tokens that find states of zeros
    bool nan = false;          ///< the last value of the first token's last head is one
};

struct scan_output {
    bytes values, states;
    bool operator==(const scan_output&) const = default;
};

scan_output run(const instance& on, const scan_case& c);
void check(const instance& on, const scan_case& c, const scan_output& outputs);

}  // namespace catena_test
