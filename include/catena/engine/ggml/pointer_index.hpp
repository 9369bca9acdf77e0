// Numbers for pointers, given out in the order of arrival. Emptied in constant time, its room kept.
#pragma once

#include "catena/config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE::ggml {

class pointer_index {
  public:
    void clear() {
        count_ = 0;
        if (++generation_ != 0) return;
        slots_.assign(slots_.size(),
                      {});  // the generations start again: none may be left from before
        generation_ = 1;
    }

    /// The number of `key`; `next` is what it gets when it is new.
    std::int32_t find_or_add(const void* key, std::int32_t next) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        slot& s = slot_of(key);
        if (s.generation != generation_) {
            s = {key, generation_, next};
            ++count_;
        }
        return s.number;
    }

  private:
    struct slot {
        const void* key = nullptr;
        std::uint32_t generation = 0;  // of another generation: empty
        std::int32_t number = 0;
    };

    std::vector<slot> slots_;  // a power of two, at most half full
    std::size_t count_ = 0;
    std::uint32_t generation_ = 1;

    /// Where `key` is, or the empty slot where it belongs.
    slot& slot_of(const void* key) {
        const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(key) * 0x9e3779b97f4a7c15u;
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = static_cast<std::size_t>(mixed >> 32) & mask;
        while (slots_[i].generation == generation_ && slots_[i].key != key) i = (i + 1) & mask;
        return slots_[i];
    }

    void grow() {
        std::vector<slot> old(slots_.empty() ? 1024 : 2 * slots_.size());
        old.swap(slots_);
        for (const slot& s : old)
            if (s.generation == generation_) slot_of(s.key) = s;
    }
};

}  // namespace CATENA_NAMESPACE::ggml
