// What steps of heads and matvecs that turn heads are given and judged by alike.
#pragma once

#include "check.hpp"
#include "data.hpp"

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
inline void seed_cache_rows(machine& on, const head_group& a, const head_member& m) {
    if (m.cache == nullptr) return;
    if (m.ids_of_64_bits)
        write_numbers<std::int64_t>(on, m.cache_ids, cache_rows_for(a, m));
    else
        write_numbers<std::int32_t>(on, m.cache_ids, cache_rows_for(a, m));
}

}  // namespace catena::tool
