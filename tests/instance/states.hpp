// What cases of launches that make values of the states of sequences ask of numbers in memory.
#pragma once

#include "machine.hpp"
#include "values.hpp"

#include "catena/kernel/layout.hpp"

#include "catena_test/catch.hpp"

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

/// A launch of a row whose blocks have heads of so many sequences.
inline catena::launch_config config_of_sequences(const instance& on, const catena::heads_args& a,
                                                 int sequences) {
    const int rows = catena::rows_of_block(on.policy.row(), sequences);
    return {.blocks = static_cast<std::uint32_t>((a.rows + rows - 1) / rows),
            .threads = static_cast<std::uint32_t>(on.policy.threads()),
            .shared_bytes =
                static_cast<std::uint32_t>(catena::shared_bytes(on.computes, on.policy, 0, 1)),
            .dependent = on.dependent};
}

/// States that no sequence of a case has replaced, of `count` numbers each, are as they were.
template <class Case>
void check_states_left(const Case& c, std::int64_t count, const std::vector<float>& before,
                       const std::vector<float>& after) {
    for (int s = 0; s < c.states; ++s) {
        INFO("state " << s);
        const bool replaced = c.replaced >= 0 && s >= c.replaced && s < c.replaced + c.sequences;
        const bool left = state_of(after, s, count) == state_of(before, s, count);
        CHECK((replaced || left));
    }
}

}  // namespace catena_test
