// What cases of launches that make values of the states of sequences ask of numbers in memory.
#pragma once

#include "values.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace catena_test {

/// What of a tensor of all tokens is a sequence's, one of so many.
template <class T = float>
std::vector<T> of_sequence(const std::vector<float>& all, int sequence, int sequences) {
    const auto own = static_cast<std::ptrdiff_t>(all.size() / size(sequences));
    const auto first = all.begin() + sequence * own;
    return {first, first + own};
}

/// The numbers of one of the states, which have `count` each.
template <class T = float>
std::vector<T> state_of(const std::vector<float>& all, int which, std::int64_t count) {
    const auto first = all.begin() + which * count;
    return {first, first + count};
}

inline bool all_nan(const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

/// Are the NaNs of a state, or of a sequence's values, those of one value alone, which has the last
/// `width` numbers of each `period`?
inline bool nan_in_last(const std::vector<float>& all, std::int64_t period, int width) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (std::isnan(all[i]) != (i % size(period) >= size(period - width))) return false;
    return true;
}

}  // namespace catena_test
