// The place of a bit in a word, which compilers spell differently, and sets of enumerators as bits
// of a word. C++17, so that an engine can read it.
#pragma once

#include "catena/config.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE {

/// The number of the lowest bit of `bits` that is set; there must be one.
constexpr int lowest_bit(std::uint64_t bits) {
#if defined(__GNUC__)
    return __builtin_ctzll(bits);
#else
    int at = 0;
    for (; (bits & 1) == 0; bits >>= 1) ++at;
    return at;
#endif
}
static_assert(lowest_bit(1) == 0 && lowest_bit(std::uint64_t{5} << 40) == 40, "");

/// A set of enumerators, each of which is a bit of the word. Since enumerators have one order, a
/// set is also a sequence.
template <class Enum, class Word>
struct enum_set {
    Word bits = 0;

    CATENA_FN static constexpr enum_set of(Enum e) {
        return {static_cast<Word>(Word{1} << static_cast<unsigned>(e))};
    }
    /// All enumerators that come before `e`.
    CATENA_FN static constexpr enum_set before(Enum e) {
        return {static_cast<Word>(of(e).bits - 1)};
    }

    CATENA_FN constexpr bool empty() const { return bits == 0; }
    CATENA_FN constexpr bool has(Enum e) const { return any(of(e)); }
    CATENA_FN constexpr bool any(enum_set other) const { return (bits & other.bits) != 0; }
    CATENA_FN constexpr bool contains(enum_set other) const { return (other.bits & ~bits) == 0; }
    CATENA_FN constexpr enum_set both(enum_set other) const {
        return {static_cast<Word>(bits & other.bits)};
    }
    CATENA_FN constexpr enum_set without(enum_set other) const {
        return {static_cast<Word>(bits & ~other.bits)};
    }
    CATENA_FN constexpr enum_set without(Enum e) const { return without(of(e)); }

    /// For loops over the enumerators of the set, in their order.
    struct iterator {
        Word rest;
        constexpr Enum operator*() const { return static_cast<Enum>(lowest_bit(rest)); }
        constexpr iterator& operator++() {
            rest = static_cast<Word>(rest & (rest - 1));
            return *this;
        }
        constexpr bool operator!=(iterator o) const { return rest != o.rest; }
    };
    constexpr iterator begin() const { return {bits}; }
    constexpr iterator end() const { return {0}; }
    constexpr int size() const {
        int n = 0;
        for (iterator i = begin(); i != end(); ++i) ++n;
        return n;
    }

    CATENA_FN friend constexpr enum_set operator|(enum_set a, enum_set b) {
        return {static_cast<Word>(a.bits | b.bits)};
    }
    CATENA_FN friend constexpr enum_set operator|(enum_set a, Enum b) { return a | of(b); }
    CATENA_FN friend constexpr bool operator==(enum_set a, enum_set b) { return a.bits == b.bits; }
    CATENA_FN friend constexpr bool operator!=(enum_set a, enum_set b) { return a.bits != b.bits; }
};

}  // namespace CATENA_NAMESPACE
