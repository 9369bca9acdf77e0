// Layers repeat: a plan asks the table for the same few problems again and again.
#pragma once

#include "catena/pick/pick.hpp"

#include <cstdint>
#include <vector>

namespace catena {

class pick_cache {
  public:
    pick_cache(const table& rows, const preference& want)
        : table_(rows), want_(want), buckets_(bucket_count, -1) {
        known_.reserve(bucket_count);
    }

    /// What catena::pick says, until the next call.
    const picked& pick(const problem& p) {
        const std::uint64_t h = hash(p);
        std::int32_t& first = buckets_[h % bucket_count];
        for (std::int32_t e = first; e >= 0; e = known_[static_cast<std::size_t>(e)].next)
            if (const entry& k = known_[static_cast<std::size_t>(e)]; k.hash == h && k.asked == p)
                return k.answer;
        known_.push_back({h, first, p, catena::pick(p, table_, want_)});
        first = static_cast<std::int32_t>(known_.size()) - 1;
        return known_.back().answer;
    }

  private:
    static constexpr std::size_t bucket_count = 256;
    struct entry {
        std::uint64_t hash;
        std::int32_t next;  // of the same bucket
        problem asked;
        picked answer;
    };
    const table& table_;
    preference want_;
    std::vector<entry> known_;
    std::vector<std::int32_t> buckets_;

    static std::uint64_t hash(const problem& p) {
        std::uint64_t h = 0xcbf29ce484222325u;
        const auto mix = [&h](std::uint64_t v) { h = (h ^ v) * 0x100000001b3u; };
        mix(p.needs.emits.bits);
        mix(p.needs.weights.bits);
        mix((p.needs.residual ? 1u : 0u) | (p.needs.scale ? 2u : 0u) | (p.sum ? 4u : 0u) |
            static_cast<unsigned>(p.alignment) << 3);
        mix(static_cast<std::uint64_t>(p.k));
        mix(static_cast<std::uint64_t>(p.rows));
        mix(static_cast<std::uint64_t>(p.quant_k));
        mix(static_cast<std::uint64_t>(p.columns));
        for (int i = 0; i < p.member_count; ++i)
            mix(static_cast<std::uint64_t>(p.member[i].rows) << 16 |
                static_cast<std::uint64_t>(p.member[i].epilogue.bits) << 8 |
                static_cast<unsigned>(p.member[i].type));
        return h ^ h >> 32;
    }
};

}  // namespace catena
