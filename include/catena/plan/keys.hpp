// What a plan asks again and again, layer after layer, as keys of its memos.
#pragma once

#include "catena/pick/problem.hpp"
#include "catena/plan/memo.hpp"

#include <cstdint>

namespace catena {

inline std::uint64_t hash(const problem& p) {
    const auto pair = [](std::int64_t high, std::int64_t low) {
        return static_cast<std::uint64_t>(high) << 32 ^ static_cast<std::uint64_t>(low);
    };
    hasher h;
    h << (p.needs.emits.bits ^ p.needs.weights.bits);
    h << pair(p.k, p.quant_k) << pair(p.columns, p.rows);
    h << pair((p.needs.residual ? 1 : 0) | (p.needs.scale ? 2 : 0) | (p.sum ? 4 : 0),
              p.alignment << 8 | static_cast<int>(p.needs.activation));
    for (int i = 0; i < p.member_count; ++i)
        h << pair(p.member[i].rows,
                  p.member[i].epilogue.bits << 8 | static_cast<int>(p.member[i].type));
    return h.value();
}

/// A matmul alone, and the layouts in which it may read its activation.
struct lone_matmul {
    problem what;
    format_set layouts;
    bool operator==(const lone_matmul& o) const { return layouts == o.layouts && what == o.what; }
};
inline std::uint64_t hash(const lone_matmul& m) { return hash(m.what) ^ m.layouts.bits; }

/// The matrices that read a place which was found for a family.
struct read_set {
    std::int32_t family;
    format_set dense, expert;
    bool operator==(const read_set& o) const {
        return family == o.family && dense == o.dense && expert == o.expert;
    }
};
inline std::uint64_t hash(const read_set& r) {
    return (hasher() << static_cast<std::uint64_t>(r.family) << r.dense.bits << r.expert.bits)
        .value();
}

}  // namespace catena
