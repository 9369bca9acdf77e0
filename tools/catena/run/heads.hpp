// What steps of heads and matvecs that turn heads are given and judged by alike.
#pragma once

#include "check.hpp"
#include "data.hpp"

#include "catena/chain/lower.hpp"
#include "catena/chain/reference.hpp"
#include "catena/kernel/args.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace catena::tool {

/// The largest error of heads in a cache: the rounding of its format alone, or little more.
inline double limit_of_cache(format cache) {
    switch (cache) {
        case format::f16:
            return 1e-6;
        case format::bf16:
            return 2e-5;
        case format::q8_0:
            return 1e-4;
        case format::q4_0:
            return 2e-2;
        default:
            return 1e-7;
    }
}

/// All of what a launch wrote against what it should be, if that is computed without quantizing.
inline comparison compared(std::string of, const std::vector<double>& found,
                           const std::vector<double>& wanted) {
    nmse_sum sum;
    for (std::size_t i = 0; i < found.size(); ++i) sum.add(found[i], wanted[i]);
    return {std::move(of), sum.value(), 1e-7};
}

/// Heads of tokens in memory, token after token.
struct heads_in_memory {
    const float* first;
    std::int64_t k, heads, tokens;
    std::int64_t nb1, nb2;  ///< bytes: head to head, token to token

    std::int64_t values() const { return k * heads * tokens; }
    float* at(std::int64_t head, std::int64_t token) const {
        return const_cast<float*>(first) + (head * nb1 + token * nb2) / 4;
    }
    void write(machine& on, const std::vector<float>& values) const {
        auto next = values.begin();
        for (std::int64_t t = 0; t < tokens; ++t)
            for (std::int64_t h = 0; h < heads; ++h, next += k)
                write_values(on, at(h, t), std::vector<float>(next, next + k));
    }
    std::vector<double> read(machine& on) const {
        std::vector<double> out;
        for (std::int64_t t = 0; t < tokens; ++t)
            for (std::int64_t h = 0; h < heads; ++h) {
                const auto head = read_values(on, at(h, t), k);
                out.insert(out.end(), head.begin(), head.end());
            }
        return out;
    }
};

inline std::vector<double> read_numbers(machine& on, const float* from, std::int64_t count) {
    const auto all = read_values(on, from, count);
    return {all.begin(), all.end()};
}

/// The number of the state that a sequence reads. The last states come first: others than those
/// that are replaced, if there are enough. Without ids a sequence reads the state of its own
/// number.
template <class Args>
std::int32_t state_of(const Args& a, std::int32_t sequence) {
    return a.state_ids == nullptr ? sequence : a.states - 1 - sequence % a.states;
}

/// Writes the numbers of the states that sequences read, and returns them.
template <class Args>
std::vector<std::int32_t> seed_state_ids(machine& on, const Args& a) {
    std::vector<std::int32_t> ids;
    for (std::int32_t i = 0; i < a.sequences; ++i) ids.push_back(state_of(a, i));
    if (a.state_ids != nullptr)
        on.write(const_cast<std::int32_t*>(a.state_ids), std::as_bytes(std::span(ids)));
    return ids;
}

/// What a chain makes of each sequence, one behind the other. read(i): what it reads of sequence i.
template <class Read>
chain::outputs outputs_of_sequences(const lowered_chain& chain, std::int32_t sequences,
                                    const Read& read) {
    chain::outputs all;
    const auto append = [](std::vector<double>& to, const std::vector<double>& one) {
        to.insert(to.end(), one.begin(), one.end());
    };
    for (std::int32_t i = 0; i < sequences; ++i) {
        const chain::outputs one = chain::reference(chain, read(i));
        append(all.sum, one.sum), append(all.value, one.value), append(all.state, one.state);
    }
    return all;
}

/// Compares the values of a launch with states, and the next states: `size` numbers of a sequence.
template <class Args>
void compare_sequences(machine& on, const heads_args& a, const Args& with_states, std::int64_t size,
                       const chain::outputs& wanted, step_result& to) {
    const head_member& m = a.member[0];
    const heads_in_memory made{m.f32, m.k, m.heads, a.tokens, m.f32_nb1, m.f32_nb2};
    to.comparisons.push_back(compared("f32", made.read(on), wanted.value));
    if (with_states.next_state == nullptr) return;
    const auto next = read_numbers(on, with_states.next_state, size * with_states.sequences);
    to.comparisons.push_back(compared("states", next, wanted.state));
}

/// Launches a step. If the launch ends, compare(result) looks at what it wrote.
template <class Compare>
step_result checker::launch_and_compare(int step, const heads_args& a, const Compare& compare) {
    step_result result;
    result.fault = launch(step, {});
    if (!result.fault.empty()) return result;
    result.computed = a.rows;
    compare(result);
    return result;
}

/// A row for each token, and another one for each if there are enough.
inline std::vector<std::int64_t> cache_rows_for(const head_group& a, const head_member& m) {
    std::vector<std::int64_t> rows;
    for (std::int64_t t = 0; t < a.tokens; ++t) rows.push_back(m.cache_rows - 1 - t % m.cache_rows);
    return rows;
}

template <class T>
void write_numbers(machine& on, const void* to, const std::vector<std::int64_t>& values) {
    const std::vector<T> own(values.begin(), values.end());
    on.write(const_cast<void*>(to), std::as_bytes(std::span(own)));
}

/// Writes the rows of a value's cache in which its tokens are stored.
inline void write_cache_rows(machine& on, const head_member& m,
                             const std::vector<std::int64_t>& rows) {
    if (m.ids_of_64_bits)
        write_numbers<std::int64_t>(on, m.cache_ids, rows);
    else
        write_numbers<std::int32_t>(on, m.cache_ids, rows);
}

}  // namespace catena::tool
