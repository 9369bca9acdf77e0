// The values of a step of heads: their heads and caches in memory, and what they should become.
#pragma once

#include "heads.hpp"

#include "catena/format/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace catena::tool {

/// The heads of a value in memory, token after token.
class member_data {
  public:
    member_data(machine& on, const heads_args& a, const head_member& m) : on_(on), a_(a), m_(m) {}

    std::int64_t rows() const { return std::int64_t{m_.heads} * a_.tokens; }

    template <class F>
    void each_head(const float* base, std::int64_t nb1, std::int64_t nb2, F f) const {
        for (std::int64_t t = 0; t < a_.tokens; ++t)
            for (std::int64_t h = 0; h < m_.heads; ++h)
                f(reinterpret_cast<const std::byte*>(base) + h * nb1 + t * nb2);
    }

    void seed(std::uint64_t key) const {
        std::uint64_t head = 0;
        each_head(m_.x, m_.x_nb1, m_.x_nb2, [&](const std::byte* at) {
            write_values(on_, const_cast<std::byte*>(at),
                         seeded(random_bits(key, head++), m_.k, 0, 1));
        });
    }

    std::vector<double> values(const float* base, std::int64_t nb1, std::int64_t nb2) const {
        std::vector<double> out;
        each_head(base, nb1, nb2, [&](const std::byte* at) {
            const auto head = read_values(on_, at, m_.k);
            out.insert(out.end(), head.begin(), head.end());
        });
        return out;
    }

    void compare(const std::string& of, const chain::outputs& wanted, step_result& to) const {
        if (m_.f32 != nullptr) {
            const auto found = values(m_.f32, m_.f32_nb1, m_.f32_nb2);
            to.comparisons.push_back(compared(of + " f32", found, wanted.value));
        }
        if (m_.cache == nullptr) return;
        nmse_sum sum;
        for (const auto& [row, expected] : wanted.stored) {
            const auto found = cache_row(row);
            for (std::size_t i = 0; i < found.size(); ++i) sum.add(found[i], expected[i]);
        }
        to.comparisons.push_back(
            {of + " " + catena::name(m_.cache_type), sum.value(), limit_of_cache(m_.cache_type)});
    }
    /// The heads that a row of the cache holds.
    std::vector<double> cache_row(std::int64_t row) const {
        const std::int64_t length = std::int64_t{m_.k} * m_.heads;
        const auto bytes = read_bytes(on_, cache_at(row), row_bytes(m_.cache_type, length));
        return decode_row<double>(m_.cache_type, bytes, length);
    }
    void seed_cache_row(std::int64_t row, std::uint64_t key) const {
        const std::int64_t length = std::int64_t{m_.k} * m_.heads;
        on_.write(cache_at(row), encode_row(m_.cache_type, seeded(key, length, 0, 1)));
    }

  private:
    machine& on_;
    const heads_args& a_;
    const head_member& m_;

    std::byte* cache_at(std::int64_t row) const {
        return static_cast<std::byte*>(m_.cache) + row * m_.cache_nb;
    }
};

/// The elements of a row that is normed: a head, or all heads of a token.
inline std::int64_t normed_row(const head_member& m) {
    return m.token_norm ? std::int64_t{m.k} * m.heads : m.k;
}

/// What one value of a step should become. Others may have operands that it has not.
inline chain::outputs reference_of(const head_member& m, chain::inputs in) {
    lowered_chain chain;
    const auto add = [&chain](stage s) { chain.stages[chain.count++] = s; };
    if (m.normed) add({.kind = stage_kind::rms_norm});
    if (m.weight != nullptr) add({.kind = stage_kind::mul_weight, .reads = operand::weight});
    if (m.token_norm) {  // of rows that become heads only behind it
        chain::inputs tokens = in;
        tokens.k = normed_row(m), tokens.rows = in.rows / m.heads, tokens.heads = 1;
        add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
        in.x = chain::reference(chain, tokens).value;
        chain = lowered_chain();
    }
    add({.kind = stage_kind::rope});
    add({.kind = stage_kind::store, .formats = cache_formats});
    add({.kind = stage_kind::emit, .formats = format_set::of(format::f32)});
    return chain::reference(chain, in);
}

}  // namespace catena::tool
