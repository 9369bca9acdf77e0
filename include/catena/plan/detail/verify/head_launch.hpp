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
    struct rows_of {
        std::int64_t k, n1, n2, n3;
        std::int64_t all() const { return n1 * n2 * n3; }
    };

    region lies(const rows_of& n, const float* p, const row_strides& at, bool vector,
                const char* name) {
        return aligned_rows(p, vector ? 16 : 4, name, n.k, n.n1, at.nb1, n.n2, at.nb2, n.n3,
                            at.nb3);
    }

    /// The heads of a value, before they are written.
    value made_heads(const row& r, const heads_args& a, const head_member& m) {
        const bool vector = r.policy.row().vector;
        const rows_of n{m.k, m.heads, a.tokens, 1};
        const std::int64_t values = n.k * n.all();
        value v =
            read_at(lies(n, m.x, {m.x_nb1, m.x_nb2, 0}, vector, "heads"), "heads", !m.token_norm);
        const std::int64_t row = m.token_norm ? n.k * n.n1 : n.k;
        if (m.normed) v = normed(term::rms_norm, v, m.eps, row);
        if (m.normed && m.weight != nullptr) {
            early.push_back({rows_at(m.weight, row, 1, 0), "the weight of heads", false});
            v = times(v, of_rows(this->vector(m.weight, row, vector ? 16 : 4, early.back().name),
                                 row, quotient(values, row)));
        }
        if (values == 0) fail("has no elements", 0, "heads");
        return turned_heads(a, m, v);
    }

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

    /// Rows of so many elements in the value's cache.
    static region rows_of_cache(const head_member& m, std::int64_t row, std::int64_t first,
                                std::int64_t rows) {
        const format_info& f = info(m.cache_type);
        region out(address_of(m.cache) + static_cast<std::uint64_t>(first * m.cache_nb),
                   f.block_bytes);
        out.add(quotient(row, f.block_elements), f.block_bytes);
        out.add(rows, m.cache_nb);
        return out;
    }

    /// Stores heads in the value's cache, a row of so many elements for each token; `unit` as
    /// above. Returns what is then in the cache.
    value store_heads(const head_group& a, const head_member& m, std::int64_t row, const value& v,
                      std::uint64_t unit) {
        aligned_cache(m, unit);
        region ids(address_of(m.cache_ids), m.ids_of_64_bits ? 8 : 4);
        ids.add(a.tokens, m.ids_of_64_bits ? 8 : 4);
        const region cache = rows_of_cache(m, row, 0, m.cache_rows);
        aligned(address_of(m.cache_ids), m.ids_of_64_bits ? 8 : 4, "numbers of rows");
        const value numbers = read_at(ids, "numbers of rows");
        const value all = stored(read(cache), v, m.cache_type, numbers.hash, m.ids_of_64_bits);
        write(cache, all, "the cache", reads.size());
        return all;
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
