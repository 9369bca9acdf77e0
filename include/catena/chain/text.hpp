// Strings at compile time: enough to spell a chain.
#pragma once

#include "catena/config.hpp"

#include <cstddef>
#include <string_view>

namespace CATENA_NAMESPACE::chain {

/// A short string built piece by piece in a constant expression. Longer than the capacity does not
/// compile.
struct text {
    static constexpr std::size_t capacity = 1024;
    char data[capacity] = {};
    std::size_t size = 0;

    constexpr text& operator<<(std::string_view piece) {
        for (const char c : piece) data[size++] = c;
        data[size] = '\0';
        return *this;
    }
    constexpr std::string_view view() const { return {data, size}; }
};

/// A string literal as a template argument.
template <std::size_t N>
struct literal {
    char data[N] = {};
    constexpr literal(const char (&from)[N]) {
        for (std::size_t i = 0; i < N; ++i) data[i] = from[i];
    }
    constexpr std::string_view view() const { return {data, N - 1}; }
};

}  // namespace CATENA_NAMESPACE::chain
