// Medians that were measured for rows on problems. Where a table brings some for a problem, they
// decide, and not the cost model. `catena tune` makes them; they come compiled into a table, or
// from a file of one's own (pick/measured_file.hpp).
#pragma once

#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace catena {

/// The columns, of experts the tokens, at which a problem is measured: its own; but a prompt may
/// have any number, so of a matmul the power of two that they come to, and 512 for all that are
/// more.
constexpr std::int64_t measured_columns(const problem& p) {
    const std::int64_t columns = p.expert ? p.tokens : p.columns;
    if (p.needs.kind != skeleton::matmul) return columns;
    std::int64_t power = 16;
    while (power < columns && power < 512) power *= 2;
    return power;
}

/// 64 bits that stand for a problem, and for every field of it; of a matmul, for its class of
/// columns. Structs are taken apart whole, so that a new field does not compile until it was
/// thought of here.
constexpr std::uint64_t problem_key(const problem& p) {
    std::uint64_t h = 0;
    const auto mix = [&h](auto field) {
        h = (h ^ static_cast<std::uint64_t>(field)) + 0x9e3779b97f4a7c15u;
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
        h ^= h >> 31;
    };
    const auto& [needs, sum, expert, k, rows, quant_k, slots, columns, tokens, alignment, count,
                 member] = p;
    const auto& [kind, stages, emits, activation, weights, epilogue] = needs;
    mix(kind), mix(stages.bits), mix(emits.bits), mix(activation), mix(weights.bits);
    mix(epilogue.bits);
    mix(sum), mix(expert), mix(k), mix(rows), mix(quant_k), mix(slots);
    const std::int64_t at = measured_columns(p);  // of a matmul in place of its own
    mix(at * slots_of(p)), mix(expert ? at : tokens), mix(alignment), mix(count);
    for (int i = 0; i < count; ++i) {
        const auto& [type, its_rows, matrices, parts, written] = member[i];
        mix(type), mix(its_rows), mix(matrices), mix(parts.bits), mix(written);
    }
    return h;
}

/// The measurements of one problem.
class measured_rows {
  public:
    constexpr measured_rows(const table& t, const problem& p) {
        if (t.measured_count == 0) return;
        const std::uint64_t key = problem_key(p);
        const measurement* const end = t.measured + t.measured_count;
        first_ = t.measured;
        for (int left = t.measured_count; left > 0;) {  // the first whose key is not smaller
            const int half = left / 2;
            const bool below = first_[half].problem < key;
            if (below) first_ += half + 1;
            left = below ? left - half - 1 : half;
        }
        for (last_ = first_; last_ < end && last_->problem == key;) ++last_;
    }

    /// Microseconds of a launch of the row; negative: it was not measured.
    constexpr double median_us(int row) const {
        for (const measurement* m = first_; m != last_; ++m)
            if (m->row == row) return m->median_us;
        return -1;
    }

  private:
    const measurement* first_ = nullptr;
    const measurement* last_ = nullptr;
};

}  // namespace catena
