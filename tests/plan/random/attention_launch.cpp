#include "attention_launch.hpp"

#include "arithmetic.hpp"

#include "catena/format/half.hpp"
#include "catena/kernel/attention_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace catena_test {
namespace {

using catena::head_member;
using catena::heads_args;

/// The heads of a position in a cache.
const std::uint16_t* position(const heads_args& a, const head_member& m, int at) {
    return offset(static_cast<const std::uint16_t*>(m.cache),
                  (a.attended.first_row + at) * m.cache_nb);
}

/// Adds one head of all positions of a cache.
void read_cache(const heads_args& a, const head_member& m, int head, std::vector<float>& to) {
    to.clear();
    for (int i = 0; i < a.attended.positions; ++i) {
        const std::uint16_t* const row = position(a, m, i) + head * m.k;
        for (int e = 0; e < m.k; ++e) to.push_back(catena::f32_from_f16(row[e]));
    }
}

}  // namespace

void judge_attention(const catena::row& r, const heads_args& a, machine& m, operands& ops) {
    const auto demand = [&m](bool fine, const char* what) {
        if (!fine) m.blame(what);
    };
    const catena::attention_args& by = a.attended;
    demand(attends(r.computes.row().stages), "attention that the row lacks");
    demand(a.members == 3, "attention without queries, keys and values");
    if (!m.fault.empty()) return;
    const head_member &queries = a.member[0], &keys = a.member[1], &values = a.member[2];
    demand((queries.f32 != nullptr || by.q8_1 != nullptr) && queries.cache == nullptr,
           "queries whose attention is not written");
    demand(keys.heads > 0 && queries.heads % keys.heads == 0, "queries without a head of keys");
    if (!m.fault.empty()) return;
    demand(queries.k % catena::attended_by_lane == 0, "a head that no lanes share");
    for (const head_member* const cached : {&keys, &values}) {
        const std::int64_t row = std::int64_t{2} * keys.k * keys.heads;
        demand(cached->k == queries.k && cached->heads == keys.heads,
               "keys and values that differ");
        demand(cached->cache != nullptr && cached->cache_type == catena::format::f16 &&
                   cached->f32 == nullptr,
               "keys or values that are not in a cache alone");
        demand((reinterpret_cast<std::intptr_t>(cached->cache) | cached->cache_nb) % 16 == 0,
               "keys or values that are not aligned");
        demand(cached->cache_nb >= row, "rows of a cache that lie over each other");
        demand(by.first_row >= 0 && by.first_row + by.positions <= cached->cache_rows,
               "positions that the cache lacks");
    }
    const std::int64_t all_heads = std::int64_t{queries.k} * queries.heads;
    if (by.q8_1 != nullptr) {
        demand(r.computes.row().emits.has(catena::format::q8_1) && queries.k % 32 == 0,
               "heads that the row does not quantize");
        ops.write({"q8_1",
                   static_cast<const std::byte*>(by.q8_1),
                   catena::q8_1_row_bytes(all_heads) * a.tokens,
                   {1, 1, 1},
                   {0, 0, 0}});
    }
    if (by.mask != nullptr)
        ops.read({"mask",
                  reinterpret_cast<const std::byte*>(by.mask),
                  std::int64_t{2} * by.positions,
                  {a.tokens, 1, 1},
                  {by.mask_nb, 0, 0}});
    if (by.sinks != nullptr)
        ops.read({"sinks",
                  reinterpret_cast<const std::byte*>(by.sinks),
                  std::int64_t{4} * queries.heads,
                  {1, 1, 1},
                  {0, 0, 0}});
}

void attend(const heads_args& a, const std::vector<float>& queries) {
    const catena::attention_args& by = a.attended;
    const head_member &m = a.member[0], &keys = a.member[1];
    scalar::attending_query q;
    q.k = m.k, q.scale = by.scale;
    const std::int64_t all_heads = std::int64_t{m.k} * m.heads;
    std::vector<float> attended(static_cast<std::size_t>(all_heads * a.tokens));
    for (int head = 0; head < m.heads; ++head) {
        const int of_key = head / (m.heads / keys.heads);
        read_cache(a, keys, of_key, q.keys);
        read_cache(a, a.member[2], of_key, q.values);
        if (by.sinks != nullptr) q.sink = {by.sinks[head]};
        for (int t = 0; t < a.tokens; ++t) {
            q.mask.assign(static_cast<std::size_t>(by.positions), 0.0f);
            for (std::size_t i = 0; by.mask != nullptr && i < q.mask.size(); ++i)
                q.mask[i] = catena::f32_from_f16(offset(by.mask, t * by.mask_nb)[i]);
            q.query = queries.data() + (t * m.heads + head) * m.k;
            float* const to = attended.data() + t * all_heads + head * m.k;
            scalar::attend(q, to);
            if (m.f32 != nullptr)
                std::copy_n(to, m.k, offset(m.f32, head * m.f32_nb1 + t * m.f32_nb2));
        }
    }
    for (int t = 0; t < a.tokens && by.q8_1 != nullptr; ++t) {
        const std::int64_t bytes = catena::q8_1_row_bytes(all_heads);
        std::byte* const to = static_cast<std::byte*>(by.q8_1) + t * bytes;
        std::fill_n(to, bytes, std::byte{0});
        scalar::quantize(catena::format::q8_1, attended.data() + t * all_heads,
                         static_cast<int>(all_heads), to);
    }
}

}  // namespace catena_test
