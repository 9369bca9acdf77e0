// A case that a row which convolves has to stand: its channels, their heads, and its states.
#pragma once

#include "machine.hpp"

#include "catena/chain/lowered.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace catena_test {

/// Neighboring channels.
struct convolved_value {
    int k = 0, heads = 1;
    bool normed = false;
    float scale = 1;
    bool written = false;
};

struct convolution_case {
    std::string what;
    std::vector<convolved_value> values;
    int length = 4, tokens = 1;  ///< tokens of each sequence
    int sequences = 1, states = 3;
    std::vector<int> ids = {1};  ///< of the states that are read; empty: there are no numbers, and
                                 ///< a state for each sequence
    int replaced = 1;            ///< the first of the states that are replaced; -1: none is
    int state_gap = 0;           ///< numbers between two states
    bool biased = false, shown = true;
    catena::gate_function function = catena::gate_function::silu;
    int gap = 0;            ///< numbers between two tokens
    bool in_place = false;  ///< the values before norms lie over x
    int offset = 0;         ///< bytes by which operands are misaligned
    bool nan = false;
};

struct convolution_output {
    bytes f32, states;
    std::vector<bytes> heads;
    bool operator==(const convolution_output&) const = default;
};

convolution_output run(const instance& on, const convolution_case& c);
void check(const instance& on, const convolution_case& c, const convolution_output& outputs);

}  // namespace catena_test
