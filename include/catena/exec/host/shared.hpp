// Shared memory of the running block: a bump allocator whose arrays stand apart, so that running
// over the end of one is seen even when another follows, and their shadow.
#pragma once

#include "catena/exec/host/shadow.hpp"
#include "catena/exec/operand.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CATENA_NAMESPACE::exec {

class shared_memory {
  public:
    static constexpr std::size_t gap = 64;      ///< bytes between and after arrays, of no array
    static constexpr std::size_t first = 1024;  ///< bytes before arrays, which a GPU's driver takes
    static constexpr std::size_t max_arrays = 64;

    /// Prepares for a launch that gives each block `bytes`.
    void reset(std::size_t bytes) {
        limit_ = bytes;
        size_ = first + (rounded(bytes) + (max_arrays + 1) * gap) / 64 * 64;
        arrays_.clear();
        splits_.clear();
        if (buffer_.size() * sizeof(line) < size_) buffer_.resize(size_ / sizeof(line) + 1);
        cells_.assign(size_ / 4, {stamps::no_array, stamps::never});
    }

    /// The array of a thread's call number `call`. The first thread to get there makes it.
    /// Null: `problem` says why.
    std::byte* array_of(std::size_t call, std::size_t bytes, std::string& problem) {
        if (call == arrays_.size() && !make(bytes, problem)) return nullptr;
        if (arrays_[call].bytes != bytes) {
            problem = "asks for a shared array of " + std::to_string(bytes) +
                      " bytes where another thread or block got " +
                      std::to_string(arrays_[call].bytes) +
                      ": every thread must ask for the same arrays in the same sequence";
            return nullptr;
        }
        return base() + arrays_[call].begin;
    }

    bool holds(std::uintptr_t address) const {
        return address - reinterpret_cast<std::uintptr_t>(base()) < size_;
    }

    /// The byte that an operand calls 0.
    const std::byte* start() const { return base(); }

    shadow_view shadow() {
        return {cells_.data(), reinterpret_cast<std::uintptr_t>(base()), &splits_};
    }

    /// The array at or before `address`, which this holds, by name; `offset`: bytes from its start.
    std::string spell(std::uintptr_t address, std::int64_t& offset) const {
        const std::size_t at = address - reinterpret_cast<std::uintptr_t>(base());
        if (arrays_.empty()) return "shared memory";
        std::size_t i = 0;
        while (i + 1 < arrays_.size() && arrays_[i + 1].begin <= at) ++i;
        offset = static_cast<std::int64_t>(at) - static_cast<std::int64_t>(arrays_[i].begin);
        return "shared array " + std::to_string(i) + " (" + std::to_string(arrays_[i].bytes) +
               " bytes)";
    }

  private:
    struct array {
        std::size_t begin, bytes;
        std::size_t used;  ///< shared memory of the launch up to the array's end, without gaps
    };
    struct alignas(swizzle_bytes) line {
        std::byte bytes[swizzle_bytes];
    };

    static std::size_t rounded(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
    std::byte* base() { return buffer_.empty() ? nullptr : buffer_.front().bytes; }
    const std::byte* base() const { return buffer_.empty() ? nullptr : buffer_.front().bytes; }

    bool make(std::size_t bytes, std::string& problem) {
        const bool none = arrays_.empty();
        const std::size_t used = (none ? 0 : rounded(arrays_.back().used)) + bytes;
        if (used > limit_) {
            problem = "needs " + std::to_string(used) +
                      " bytes of shared memory, the launch gave " + std::to_string(limit_) +
                      ": raise launch_config::shared_bytes";
            return false;
        }
        if (arrays_.size() == max_arrays) {
            problem =
                "asks for more than " + std::to_string(max_arrays) + " shared arrays: join some";
            return false;
        }
        const std::size_t begin =
            none ? first : arrays_.back().begin + rounded(arrays_.back().bytes) + gap;
        arrays_.push_back({begin, bytes, used});
        mark_shadow(shadow(), reinterpret_cast<std::uintptr_t>(base()) + begin, bytes,
                    stamps::never);
        return true;
    }

    std::size_t limit_ = 0, size_ = 0;
    std::vector<array> arrays_;
    std::vector<line> buffer_;
    std::vector<cell> cells_;
    std::vector<split_word> splits_;
};

}  // namespace CATENA_NAMESPACE::exec
