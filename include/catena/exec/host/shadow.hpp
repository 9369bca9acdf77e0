// What is known about every byte of tracked memory: the last write, and the reads since. Kept per
// aligned word of 4 bytes; a word of which only a part was touched is split into its bytes.
#pragma once

#include "catena/exec/host/stamp.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE::exec {

/// The stamps of a word or, once it is split, of a byte. In a split word `read` is an index.
struct cell {
    stamp write = stamps::never;
    stamp read = stamps::never;
};

using split_word = std::array<cell, 4>;

enum class verdict : std::uint8_t {
    fine,
    uninitialized,
    races_with_write,
    races_with_read,
    in_flight,
    no_array
};

struct trouble {
    verdict what = verdict::fine;
    stamp other = 0;             ///< the access raced with
    std::uintptr_t address = 0;  ///< the first byte at fault
};

/// The cells of a piece of memory that starts at `base`, a multiple of 4.
struct shadow_view {
    cell* cells = nullptr;
    std::uintptr_t base = 0;
    std::vector<split_word>* splits = nullptr;
};

namespace detail {

inline verdict read_cell(cell& c, stamp me, const present& now) {
    if (c.write >= stamps::in_flight)
        return c.write == stamps::in_flight ? verdict::in_flight : verdict::no_array;
    if (c.write < now.oldest) return verdict::uninitialized;
    if (unordered_write(c.write, me, now)) return verdict::races_with_write;
    c.read = with_read(c.read, me, now);
    return verdict::fine;
}

inline verdict write_cell(cell& c, stamp me, stamp mark, const present& now) {
    if (c.write >= stamps::in_flight)
        return c.write == stamps::in_flight ? verdict::in_flight : verdict::no_array;
    if (c.write >= now.oldest && unordered_write(c.write, me, now))
        return verdict::races_with_write;
    if (unordered_read(c.read, me, now)) return verdict::races_with_read;
    c.write = mark;
    return verdict::fine;
}

inline stamp blamed(const cell& c, verdict v) {
    return v == verdict::races_with_read ? c.read : c.write;
}

/// Applies `f` to the cells of the bytes [address, address + bytes) until it finds fault.
template <class F>
trouble for_cells(const shadow_view& view, std::uintptr_t address, std::size_t bytes, F&& f) {
    const std::uintptr_t end = address + bytes;
    while (address < end) {
        if (address % 4 == 0 && end - address >= 4) {
            cell* word = view.cells + (address - view.base) / 4;
            for (; end - address >= 4 && word->write != stamps::split; ++word, address += 4)
                if (const verdict v = f(*word); v != verdict::fine)
                    return {v, blamed(*word, v), address};
            if (address == end) break;
        }
        cell& word = view.cells[(address - view.base) / 4];
        const unsigned first = address % 4;
        const unsigned last =
            end - address + first < 4 ? static_cast<unsigned>(end - address) + first : 4;
        if (word.write != stamps::split) {
            view.splits->push_back({word, word, word, word});
            word = {stamps::split, view.splits->size() - 1};
        }
        for (unsigned i = first; i < last; ++i) {
            cell& byte = (*view.splits)[word.read][i];
            if (const verdict v = f(byte); v != verdict::fine)
                return {v, blamed(byte, v), address - first + i};
        }
        address += last - first;
    }
    return {};
}

}  // namespace detail

inline trouble read_shadow(const shadow_view& view, std::uintptr_t address, std::size_t bytes,
                           stamp me, const present& now) {
    return detail::for_cells(view, address, bytes,
                             [&](cell& c) { return detail::read_cell(c, me, now); });
}

/// A write at `me` that leaves `mark`: `me` itself, or stamps::in_flight.
inline trouble write_shadow(const shadow_view& view, std::uintptr_t address, std::size_t bytes,
                            stamp me, stamp mark, const present& now) {
    return detail::for_cells(view, address, bytes,
                             [&](cell& c) { return detail::write_cell(c, me, mark, now); });
}

/// The first byte whose last write is at fault, as `wrong(stamp of the write)` says.
template <class Wrong>
trouble judge_writes(const shadow_view& view, std::uintptr_t address, std::size_t bytes,
                     const Wrong& wrong) {
    return detail::for_cells(view, address, bytes, [&](cell& c) {
        return wrong(c.write) ? verdict::races_with_write : verdict::fine;
    });
}

/// Sets the stamps without asking.
inline void mark_shadow(const shadow_view& view, std::uintptr_t address, std::size_t bytes,
                        stamp write) {
    detail::for_cells(view, address, bytes, [&](cell& c) {
        c = {write, stamps::never};
        return verdict::fine;
    });
}

// The common cases, inline: true when the access is fine and recorded; false: ask the functions
// above.

inline bool quick_read(cell& c, stamp me, const present& now) {
    if (c.write < now.oldest || !plainly_before(c.write, me, now)) return false;
    if (plainly_read(c.read, me, now)) return true;
    if (!plainly_before(c.read, me, now)) return false;
    c.read = me;
    return true;
}

inline bool quick_write(cell& c, stamp me, const present& now) {
    if (!plainly_before(c.write, me, now) || !plainly_before(c.read, me, now)) return false;
    c.write = me;
    return true;
}

/// `quick(cell)` of all cells of an aligned access; false where a word would have to be split.
template <std::size_t Bytes, class Quick>
bool quick_access(const shadow_view& view, std::uintptr_t address, const Quick& quick) {
    cell* first = view.cells + (address - view.base) / 4;
    if constexpr (Bytes < 4) {
        if (first->write != stamps::split) return false;
        first = (*view.splits)[first->read].data() + address % 4;
    }
    for (std::size_t i = 0; i < (Bytes < 4 ? Bytes : Bytes / 4); ++i)
        if (!quick(first[i])) return false;
    return true;
}

}  // namespace CATENA_NAMESPACE::exec
