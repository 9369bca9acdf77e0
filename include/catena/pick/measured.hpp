// Medians that were measured for rows on problems. If a table has some for a problem, they decide
// instead of the cost model. `catena tune` makes them. They are compiled into a table, or come from
// a file of the user's own (pick/measured_file.hpp).
#pragma once

#include "catena/pick/problem.hpp"
#include "catena/pick/row.hpp"

#include <cstdint>

namespace catena {

/// The columns (for experts: tokens) at which a problem is measured. A matvec is measured at its
/// own number. A prompt may have any number, so a matmul is measured at the next power of two from
/// 16 to 512, or at 512 if it has more.
constexpr std::int64_t measured_columns(const problem& p) {
    const std::int64_t columns = p.expert ? p.tokens : p.columns;
    if (p.needs.kind != skeleton::matmul) return columns;
    std::int64_t power = 16;
    while (power < columns && power < 512) power *= 2;
    return power;
}

/// A key of 64 bits that depends on every field of a problem; for a matmul, on its class of columns
/// instead of their number. Structs are taken apart whole, so a new field does not compile until it
/// is added here.
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
    const auto& [kind, stages, emits, activation, weights, epilogue, own] = needs;
    mix(kind), mix(stages.bits), mix(emits.bits), mix(activation), mix(weights.bits);
    mix(epilogue.bits);
    if (own) mix(own);
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
