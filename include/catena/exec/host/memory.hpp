// Global memory of the host executor: named ranges, what may be done with them, and their shadow,
// which is made page by page as kernels touch it (a range may be a sparse mapping far beyond
// physical memory).
#pragma once

#include "catena/exec/host/shadow.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace CATENA_NAMESPACE::exec {

enum class memory : std::uint8_t {
    constant,      ///< holds data, no kernel writes it: weights. Costs no shadow
    initialized,   ///< holds data
    uninitialized  ///< holds nothing until a kernel writes it, byte by byte
};

class global_memory {
  public:
    static constexpr std::uintptr_t page_bytes = 4096;

    struct declared_range {
        std::uintptr_t begin, end;
        std::string name;
        memory kind;
        std::unordered_map<std::uintptr_t, std::unique_ptr<cell[]>> pages;
        std::vector<split_word> splits;
    };

    /// A piece of one page of one range; no cells: constant.
    struct window {
        std::uintptr_t begin = 0, end = 0;
        shadow_view shadow;
    };

    /// Declares [base, base + bytes). Throws std::invalid_argument if it is empty or meets another.
    void add(std::string name, const void* base, std::size_t bytes, memory kind) {
        const auto begin = reinterpret_cast<std::uintptr_t>(base);
        if (base == nullptr || bytes == 0)
            throw std::invalid_argument("memory range " + name +
                                        " is empty: give it an address and a size");
        const auto next = after(begin);
        const declared_range* clash =
            next != ranges_.end() && (*next)->begin < begin + bytes      ? next->get()
            : next != ranges_.begin() && (*std::prev(next))->end > begin ? std::prev(next)->get()
                                                                         : nullptr;
        if (clash != nullptr)
            throw std::invalid_argument("memory range " + name + " overlaps " + clash->name +
                                        ": declare every allocation once");
        ranges_.insert(next, std::make_unique<declared_range>(declared_range{
                                 begin, begin + bytes, std::move(name), kind, {}, {}}));
    }

    /// Allocates `bytes` between two undeclared margins and declares them; freed with this object.
    void* allocate(std::string name, std::size_t bytes, memory kind, std::size_t alignment = 256) {
        const std::size_t margin = std::max<std::size_t>(alignment, 64);
        auto& block = owned_.emplace_back(bytes + 3 * margin);
        const auto start = reinterpret_cast<std::uintptr_t>(block.data()) + margin;
        auto* base = reinterpret_cast<void*>((start + alignment - 1) / alignment * alignment);
        add(std::move(name), base, bytes, kind);
        return base;
    }

    /// Forgets the range that starts at `base`. False: there is none.
    bool remove(const void* base) {
        const auto begin = reinterpret_cast<std::uintptr_t>(base);
        const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                        [&](const auto& r) { return r->begin == begin; });
        if (found == ranges_.end()) return false;
        ranges_.erase(found);
        windows_ = {};
        return true;
    }

    /// Says anew whether [base, base + bytes), all in one range that is not constant, holds data.
    void mark(const void* base, std::size_t bytes, bool initialized) {
        auto address = reinterpret_cast<std::uintptr_t>(base);
        const auto end = address + bytes;
        declared_range* r = find(address);
        if (r == nullptr || end > r->end || r->kind == memory::constant)
            throw std::invalid_argument(
                "mark: the bytes must lie in one declared range that is not constant");
        while (address < end) {
            const auto stop = std::min(end, address / page_bytes * page_bytes + page_bytes);
            mark_shadow(shadow_of(*r, address), address, stop - address,
                        initialized ? stamps::before_all_launches : stamps::never);
            address = stop;
        }
    }

    /// The range that holds `address`, or null.
    declared_range* find(std::uintptr_t address) {
        const auto next = after(address);
        if (next == ranges_.begin()) return nullptr;
        declared_range* r = std::prev(next)->get();
        return address < r->end ? r : nullptr;
    }

    /// The range nearest to `address`, which lies in none; null if there are none at all.
    const declared_range* nearest(std::uintptr_t address) {
        const auto next = after(address);
        if (next == ranges_.begin()) return next == ranges_.end() ? nullptr : next->get();
        const declared_range* before = std::prev(next)->get();
        if (next == ranges_.end()) return before;
        return address - before->end < (*next)->begin - address ? before : next->get();
    }

    /// The window around `address` in a cache of recent ones. It may be stale: compare its bounds.
    window& recent(std::uintptr_t address) {
        return windows_[address / page_bytes % windows_.size()];
    }

    /// Makes `recent(address)` the right window. Null: no range holds the address.
    window* open(std::uintptr_t address) {
        declared_range* r = find(address);
        if (r == nullptr) return nullptr;
        window& w = recent(address);
        if (r->kind == memory::constant) {
            w = {r->begin, r->end, {}};
        } else {
            const std::uintptr_t page = address / page_bytes * page_bytes;
            w = {std::max(r->begin, page), std::min(r->end, page + page_bytes),
                 shadow_of(*r, address)};
        }
        return &w;
    }

    /// Forgets every stamp; keeps which bytes are initialized.
    void renumber() {
        for (const auto& r : ranges_) {
            for (auto& [page, cells] : r->pages)
                for (std::size_t i = 0; i < page_bytes / 4; ++i) forget(cells[i]);
            for (auto& word : r->splits)
                for (cell& byte : word) forget(byte);
        }
    }

  private:
    using ranges = std::vector<std::unique_ptr<declared_range>>;

    static void forget(cell& c) {
        if (c.write == stamps::split) return;
        if (c.write != stamps::never) c.write = stamps::before_all_launches;
        c.read = stamps::never;
    }

    /// The first range that starts past `address`.
    ranges::iterator after(std::uintptr_t address) {
        return std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](std::uintptr_t a, const auto& r) { return a < r->begin; });
    }

    static shadow_view shadow_of(declared_range& r, std::uintptr_t address) {
        const std::uintptr_t page = address / page_bytes * page_bytes;
        auto& cells = r.pages[page];
        if (cells == nullptr) {
            cells = std::make_unique<cell[]>(page_bytes / 4);
            if (r.kind == memory::initialized)
                std::fill_n(cells.get(), page_bytes / 4,
                            cell{stamps::before_all_launches, stamps::never});
        }
        return {cells.get(), page, &r.splits};
    }

    ranges ranges_;  // by address
    std::deque<std::vector<std::byte>> owned_;
    std::array<window, 256> windows_{};
};

}  // namespace CATENA_NAMESPACE::exec
