// What a plan asks again and again, layer after layer, as keys of its memos.
#pragma once

#include "catena/pick/problem.hpp"
#include "catena/plan/detail/find/memo.hpp"
#include "catena/plan/detail/order/memory.hpp"

#include <cstdint>
#include <tuple>

namespace CATENA_NAMESPACE {

namespace detail {

/// Two numbers as a word of a hash.
inline std::uint64_t as_word(std::int64_t high, std::int64_t low) {
    return static_cast<std::uint64_t>(high) << 32 ^ static_cast<std::uint64_t>(low);
}

}  // namespace detail

inline std::uint64_t hash(const row_problem& p) {
    hasher h;
    h << p.needs.emits.bits << p.needs.stages.bits
      << detail::as_word(p.k, p.quant_k + p.stored + p.values + p.sequences);
    h << detail::as_word(p.rows, p.slots << 8 | p.alignment << 1 | (p.sum ? 1 : 0));
    return h.value();
}
inline std::uint64_t hash(const product_problem& p) {
    hasher h;
    h << (p.needs.emits.bits ^ p.needs.weights.bits);
    h << detail::as_word(p.k, p.columns + p.gate_k)
      << detail::as_word(p.needs.stages.bits, (p.ends_norm ? 1 << 16 : 0) |
                                                  (p.begins_norm ? 1 << 17 : 0) | p.alignment << 8 |
                                                  static_cast<int>(p.needs.activation));
    for (int i = 0; i < p.member_count; ++i)
        h << detail::as_word(p.member[i].rows,
                             p.member[i].epilogue.bits << 8 | static_cast<int>(p.member[i].type));
    return h.value();
}
/// A key that has a group first, and then what else an answer depends on, has the group's hash.
template <class... Others>
std::uint64_t hash(const std::tuple<product_problem, Others...>& k) {
    return hash(std::get<0>(k));
}

inline std::uint64_t hash(const problem& p) {
    return p.visit([](const auto& own) { return hash(own); });
}

/// All that the choice of a row for a matmul on its own depends on.
struct lone_matmul {
    op kind = op::none;
    format type = format::unknown;
    int alignment = 0;                          ///< alignment of the weight
    format_set layouts;                         ///< layouts in which it may read its activation
    std::int64_t k = 0, rows = 0, experts = 0;  ///< the weight's shape
    std::int64_t values = 0;                    ///< elements of the activation
    std::int64_t slots = 0, tokens = 0;         ///< the shape of the ids; tokens of each matrix

    lone_matmul(const graph_view& view, const tensor& t, format_set allowed) {
        const tensor& w = view.at(t.src[0]);
        kind = t.kind;
        type = w.type;
        alignment = base_alignment(w);
        layouts = allowed;
        k = w.ne[0], rows = w.ne[1], experts = w.ne[2];
        values = elements(view.at(t.src[1]));
        if (kind != op::mul_mat_id) {
            if (experts > 1) tokens = view.at(t.src[1]).ne[1];
            return;
        }
        slots = view.at(t.src[2]).ne[0], tokens = view.at(t.src[2]).ne[1];
    }
    bool operator==(const lone_matmul& o) const {
        return kind == o.kind && type == o.type && alignment == o.alignment &&
               layouts == o.layouts && k == o.k && rows == o.rows && experts == o.experts &&
               values == o.values && slots == o.slots && tokens == o.tokens;
    }
};
inline std::uint64_t hash(const lone_matmul& m) {
    hasher h;
    h << m.layouts.bits << detail::as_word(m.k, m.rows);
    h << detail::as_word(m.values, static_cast<int>(m.type));
    return h.value();
}

/// The matrices that read a value which was found for a family.
struct read_set {
    std::int32_t family;
    format_set dense, expert;
    bool operator==(const read_set& o) const {
        return family == o.family && dense == o.dense && expert == o.expert;
    }
};
inline std::uint64_t hash(const read_set& r) {
    return (hasher() << r.family << r.dense.bits << r.expert.bits).value();
}

}  // namespace CATENA_NAMESPACE
