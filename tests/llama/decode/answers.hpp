// What a model answers in a conversation, and how far that is from the right answer.
#pragma once

#include "conversation.hpp"

#include "catena_test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace catena_test {

inline std::string path(const std::string& file) { return CATENA_TEST_MODELS "/" + file; }

/// A prompt of 20 tokens, 6 single tokens, 2 batches of 4 sequences.
inline void talk(conversation& c) {
    c.go_on(20);
    for (int i = 0; i < 6; ++i) c.go_on(1);
    for (int i = 0; i < 2; ++i) c.go_on_in_four();
}

/// What is done to a conversation before it begins.
using change = void (*)(conversation&);
inline void nothing(conversation&) {}

inline std::vector<answer> answers(const std::string& file, const devices& on, const situation& s,
                                   change prepare = nothing) {
    conversation c(path(file), on, s);
    prepare(c);
    talk(c);
    return c.answers();
}

/// The largest error of a row: its squares relative to those of the row.
inline double worst_error(const std::vector<answer>& rows, const std::vector<answer>& exact) {
    REQUIRE(rows.size() == exact.size());
    double worst = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        double error = 0, square = 0;
        for (std::size_t i = 0; i < rows[r].size(); ++i) {
            const double want = exact[r][i], off = rows[r][i] - want;
            error += off * off;
            square += want * want;
        }
        REQUIRE(std::isfinite(error));
        worst = std::max(worst, error / square);
    }
    return worst;
}

}  // namespace catena_test
