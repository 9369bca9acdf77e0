// Layers repeat: a plan asks the table for the same few problems again and again.
#pragma once

#include "catena/pick/pick.hpp"

#include <cstdint>
#include <vector>

namespace catena {

class pick_cache {
  public:
    pick_cache(const table& rows, const preference& want) : table_(rows), want_(want) {}

    /// What catena::pick says, until the next call.
    const picked& pick(const problem& p) {
        const std::uint64_t h = hash(p);
        for (const entry& e : known_)
            if (e.hash == h && e.asked == p) return e.answer;
        known_.push_back({h, p, catena::pick(p, table_, want_)});
        return known_.back().answer;
    }

  private:
    struct entry {
        std::uint64_t hash;
        problem asked;
        picked answer;
    };
    const table& table_;
    preference want_;
    std::vector<entry> known_;

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
        return h;
    }
};

}  // namespace catena
