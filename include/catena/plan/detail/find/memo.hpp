// Layers repeat: a plan asks the same few questions again and again.
#pragma once

#include "catena/config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace CATENA_NAMESPACE {

/// Words mixed into a hash, one after the other.
class hasher {
  public:
    template <class Integer>
    hasher& operator<<(Integer word) {
        h_ = (h_ ^ static_cast<std::uint64_t>(word)) * odd;
        return *this;
    }
    /// Every bit of a word moves the lowest ones.
    std::uint64_t value() const {
        const std::uint64_t folded = (h_ ^ h_ >> 32) * odd;
        return folded ^ folded >> 32;
    }

  private:
    static constexpr std::uint64_t odd = 0x9fb21c651e98df25u;
    std::uint64_t h_ = 0xcbf29ce484222325u;
};

/// Answers by key. A key compares, and has a `hash(key)`.
template <class Key, class Answer>
class memo {
  public:
    memo() : buckets_(bucket_count, -1) {
        links_.reserve(bucket_count / 4);
        known_.reserve(bucket_count / 4);
    }

    /// The answer to `key`, which `make()` gives the first time. It stays until the next call.
    template <class Make>
    const Answer& of(const Key& key, Make&& make) {
        const std::uint64_t h = hash(key);
        std::int32_t& first = buckets_[h % bucket_count];
        for (std::int32_t e = first; e >= 0; e = links_[static_cast<std::size_t>(e)].next)
            if (links_[static_cast<std::size_t>(e)].hash == h)
                if (const entry& k = known_[static_cast<std::size_t>(e)]; k.key == key)
                    return k.answer;
        known_.push_back({key, make()});
        links_.push_back({h, first});
        first = static_cast<std::int32_t>(known_.size()) - 1;
        return known_.back().answer;
    }

  private:
    static constexpr std::size_t bucket_count = 256;
    struct link {
        std::uint64_t hash;
        std::int32_t next;  // of the same bucket
    };
    struct entry {
        Key key;
        Answer answer;
    };
    std::vector<std::int32_t> buckets_;
    std::vector<link> links_;  // apart from what they lead to, which is large
    std::vector<entry> known_;
};

}  // namespace CATENA_NAMESPACE
