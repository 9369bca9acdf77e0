// What a launch does with heads that it has made, read off its arguments, as kernel/heads.hpp and
// kernel/turned_result.hpp say what they do with them.
#pragma once

#include "catena/plan/detail/verify/routing_launch.hpp"

#include <cstdint>

namespace CATENA_NAMESPACE::proof {

class head_launch : public routing_launch {
  public:
    using routing_launch::routing_launch;

  protected:
    /// A value's heads, turned and scaled.
    value turned_heads(const head_group& a, const head_member& m, value v) {
        if (m.turned) v = turned(v, a.turn, m.k, m.heads, positions(a), factors(a));
        return times(v, m.scale);
    }

    /// Does a second value lie behind the heads of a first one in each row that they write? Rows
    /// have room for both: values that only lie beside each other have rows of their own.
    static bool end_to_end(const head_member& m, const head_member& behind) {
        const std::int64_t k = std::int64_t{m.k} + behind.k;
        const bool written = m.f32 != nullptr, cached = m.cache != nullptr;
        if (m.heads != behind.heads || written != (behind.f32 != nullptr) ||
            cached != (behind.cache != nullptr) || (!written && !cached))
            return false;
        if (written && (behind.f32 != m.f32 + m.k || behind.f32_nb1 != m.f32_nb1 ||
                        behind.f32_nb2 != m.f32_nb2 || m.f32_nb1 < 4 * k))
            return false;
        if (!cached) return true;
        const auto at = address_of(m.cache) + std::uint64_t(row_bytes(m.cache_type, m.k));
        return m.heads == 1 && address_of(behind.cache) == at && behind.cache_ids == m.cache_ids &&
               behind.ids_of_64_bits == m.ids_of_64_bits && behind.cache_nb == m.cache_nb &&
               behind.cache_rows == m.cache_rows && behind.cache_type == m.cache_type &&
               m.cache_nb >= row_bytes(m.cache_type, k);
    }

    /// `unit`: the alignment of an element that is not of a block, in the elements that are stored
    /// together.
    void aligned_cache(const head_member& m, std::uint64_t unit) {
        const format_info& f = info(m.cache_type);
        unit = f.block_elements > 1 ? 2 : unit * std::uint64_t(f.block_bytes);
        aligned(address_of(m.cache), unit, "the cache");
        aligned(static_cast<std::uint64_t>(m.cache_nb), unit, "rows of the cache");
    }

    /// Stores heads in the value's cache, a row of so many elements for each token; `unit` as
    /// above.
    void store_heads(const head_group& a, const head_member& m, std::int64_t row, const value& v,
                     std::uint64_t unit) {
        const format_info& f = info(m.cache_type);
        aligned_cache(m, unit);
        region ids(address_of(m.cache_ids), m.ids_of_64_bits ? 8 : 4);
        ids.add(a.tokens, m.ids_of_64_bits ? 8 : 4);
        region cache(address_of(m.cache), f.block_bytes);
        cache.add(quotient(row, f.block_elements), f.block_bytes);
        cache.add(m.cache_rows, m.cache_nb);
        aligned(address_of(m.cache_ids), m.ids_of_64_bits ? 8 : 4, "numbers of rows");
        const value numbers = read_at(ids, "numbers of rows");
        write(cache, stored(read(cache), v, m.cache_type, numbers.hash, m.ids_of_64_bits),
              "the cache", reads.size());
    }

  private:
    std::uint64_t positions(const head_group& a) {
        aligned(address_of(a.positions), 4, "positions");
        const bool four = a.turn.pairs == pairing::sections || a.turn.pairs == pairing::interleaved;
        return read_at(rows_at(a.positions, a.tokens * std::int64_t{four ? 4 : 1}, 1, 0),
                       "positions")
            .hash;
    }
    std::uint64_t factors(const head_group& a) {
        if (a.factors == nullptr) return 0;
        return vector(a.factors, a.turn.dims / 2, 4, "divisors of angles").hash;
    }
};

}  // namespace CATENA_NAMESPACE::proof
